"""When each message was first called stable: what has to be known of all processes before one can be judged.

It is made once, of all calls, before any log is read. Whoever reads some of the logs then sees by itself
which deliveries came too late, and hands over those and no others.
"""

from typing import NamedTuple

import numpy as np

from aforesaid.check.blocks import Room
from aforesaid.trace.model import Bools, Int32s, Int64s, Stabilities

NEVER_CALLED = int(np.iinfo(np.int64).max)


class Called(NamedTuple):
    """The calls of a run, by message; nothing of messages that nobody sent."""

    first_ns: Int64s
    """The time of the first call by anyone, or NEVER_CALLED."""
    by_origin: Bools

    @staticmethod
    def nothing(message_count: int, room: Room) -> "Called":
        called = Called(room(message_count, np.int64), room(message_count, np.bool_))
        called.first_ns.fill(NEVER_CALLED)
        called.by_origin.fill(False)
        return called

    def note(self, process: int, calls: Stabilities, origin: Int32s, sent: Bools) -> None:
        """Take in the calls of a process."""
        inside = (calls.message >= 0) & (calls.message < len(origin))
        message, time_ns = calls.message[inside].astype(np.int64), calls.time_ns[inside]
        was_sent = sent[message]
        message, time_ns = message[was_sent], time_ns[was_sent]
        np.minimum.at(self.first_ns, message, time_ns)
        self.by_origin[message[origin[message] == process]] = True
