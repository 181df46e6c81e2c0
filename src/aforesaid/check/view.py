"""One process's log as the rules see it: where each message was first delivered, and what was owed.

One scatter turns the log, a list of messages by position, into positions by message; every rule reads that.
The arrays are reused from one process to the next: a view is good until the next one is made.
"""

from functools import cached_property

import numpy as np

from aforesaid.check.blocks import Indices, blocks
from aforesaid.check.history import History
from aforesaid.check.order import Exemption
from aforesaid.trace import Log
from aforesaid.trace.model import Bools, Int32s

NEVER = int(np.iinfo(np.int32).max)
"""The first position of a message that was not delivered: after every other."""


class View:
    """One process's log, and what the process was owed."""

    def __init__(self, history: History, process: int, log: Log, first: Int32s, exempt: Bools | None) -> None:
        self._history = history
        self._exempt = exempt
        self.process = process
        self.log = log
        self.first = first
        """Position of each message's first delivery, or NEVER; one longer than the table of messages."""
        self._place()

    def _place(self) -> None:
        message, first = self.log.message, self.first
        first.fill(NEVER)
        self.all_known = not len(message) or bool(
            message.min() >= 0 and message.max() < self._history.message_count
        )
        if not self.all_known:
            message = message[self.position]
        self.message: Indices = message.astype(np.int64)
        """What was delivered, by place in `position`; without what is not in the table of messages."""
        for block in blocks(len(message)):
            first[self.message[block]] = self.positions(block)
        self.delivered: Bools = first[:-1] != NEVER
        self.distinct = int(np.count_nonzero(self.delivered))
        self.repeats = self.distinct < len(self.message)
        if self.repeats:
            first[self.message[::-1]] = self.position[::-1]

    @cached_property
    def position(self) -> Indices:
        """Where in the log each of `message` is."""
        message = self.log.message
        if self.all_known:
            return np.arange(len(message))
        return np.flatnonzero((message >= 0) & (message < self._history.message_count))

    def positions(self, block: slice) -> Indices:
        """Some of `position`, which nearly always need not be made for it."""
        return np.arange(block.start, block.stop) if self.all_known else self.position[block]

    @cached_property
    def owed(self) -> Bools | None:
        """What the process was owed if it was sent: what is addressed to it and not exempt. None: all."""
        if self._history.all_to_all:
            return None if self._exempt is None else ~self._exempt
        return self.addressed if self._exempt is None else self.addressed & ~self._exempt

    @cached_property
    def addressed(self) -> Bools:
        """Which messages are addressed to the process."""
        return self._history.addressed(self.process)

    def placed(self, message: int) -> tuple[int, int]:
        """A message with the position of its first delivery."""
        return message, int(self.first[message])


class Views:
    """Makes one view after the other."""

    def __init__(self, history: History, exemption: Exemption) -> None:
        self._history, self._exemption = history, exemption
        self._first = np.full(history.message_count + 1, NEVER, np.int32)

    def of(self, process: int, log: Log) -> View:
        return View(self._history, process, log, self._first, self._exemption.of(process))
