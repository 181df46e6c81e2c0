"""One process's log as the rules see it: where each message was first delivered, and what was owed.

One scatter turns the log, a list of messages by position, into positions by message; every rule reads that.
The arrays are reused from one process to the next: a view is good until the next one is made. Where messages
have audiences, a process may have to do with few of them: then only those are looked at (`concerned`), and
only those are wiped for the next view, so that a log costs what is in it and not what is in the run.
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


class Views:
    """Makes one view after the other."""

    def __init__(self, history: History, exemption: Exemption) -> None:
        self.history, self.exemption = history, exemption
        self.first = np.full(history.message_count + 1, NEVER, np.int32)
        self.delivered = np.zeros(history.message_count, np.bool_)
        self.addressed = history.to_all if history.all_to_all else history.to_all.copy()
        self._last: View | None = None

    def of(self, process: int, log: Log) -> "View":
        if self._last is not None:
            self._last.wipe()
        self._last = View(self, process, log)
        return self._last


class View:
    """One process's log, and what the process was owed."""

    def __init__(self, sheet: Views, process: int, log: Log) -> None:
        self._sheet, self._history = sheet, sheet.history
        self._exempt = sheet.exemption.of(process)
        self.process = process
        self.log = log
        self.first: Int32s = sheet.first
        """Position of each message's first delivery, or NEVER; one longer than the table of messages."""
        self.delivered: Bools = sheet.delivered
        self._place()

    def _place(self) -> None:
        message, first = self.log.message, self.first
        self.all_known = not len(message) or bool(
            message.min() >= 0 and message.max() < self._history.message_count
        )
        if not self.all_known:
            message = message[(message >= 0) & (message < self._history.message_count)]
        self.message: Indices = message.astype(np.int64)
        """What was delivered, by place in `position`; without what is not in the table of messages."""
        for block in blocks(len(message)):
            first[self.message[block]] = self.positions(block)
        self.few = self._history.concerns_few(self.process, len(message))
        if self.few:
            self.delivered[self.message] = True
            self.distinct = int(np.count_nonzero(first[self.message] == self.position))
        else:
            np.not_equal(first[:-1], NEVER, out=self.delivered)
            self.distinct = int(np.count_nonzero(self.delivered))
        self.repeats = self.distinct < len(self.message)
        if self.repeats:
            first[self.message[::-1]] = self.position[::-1]

    def wipe(self) -> None:
        """Leave the arrays as they were found."""
        if self.few:
            self.first[self.message] = NEVER
            self.delivered[self.message] = False
        else:
            self.first.fill(NEVER)
            self.delivered.fill(False)
        if "addressed" in self.__dict__ and not self._history.all_to_all:
            mine = self._history.addressed(self.process)
            self.addressed[mine] = self._history.to_all[mine]

    @cached_property
    def position(self) -> Indices:
        """Where in the log each of `message` is."""
        message = self.log.message
        if self.all_known:
            return self.log.positions(np.arange(len(message)))
        return self.log.positions(np.flatnonzero((message >= 0) & (message < self._history.message_count)))

    @cached_property
    def once(self) -> Indices:
        """What was delivered, each message where it was first."""
        if self.repeats:
            first: Bools = self.first[self.message] == self.position
            return self.message[first]
        return self.message

    def positions(self, block: slice) -> Indices:
        """Some of `position`, which nearly always need not be made for it."""
        dense = self.all_known and self.log.position is None
        return np.arange(block.start, block.stop) if dense else self.position[block]

    @cached_property
    def concerned(self) -> Indices | slice:
        """The messages that are for the process or that it delivered, if they are few; else all there are."""
        if not self.few:
            return slice(None)
        history, once = self._history, self.once
        strange = once[~self.addressed[once]]
        return np.sort(np.concatenate((history.broadcasts, history.addressed(self.process), strange)))

    def those(self, flags: Bools) -> Indices:
        """The messages flagged, given a flag for each of those concerned."""
        places = np.flatnonzero(flags)
        return places if isinstance(self.concerned, slice) else self.concerned[places]

    @cached_property
    def owed(self) -> Bools | None:
        """What the process was owed if it was sent: what is addressed to it and not exempt. None: all.

        Where events may be missing, what it is not seen to deliver it may have delivered before all else.
        """
        owed = None if self._history.all_to_all else self.addressed
        if self._exempt is not None:
            owed = ~self._exempt if owed is None else owed & ~self._exempt
        if self._history.sampled:
            owed = self.delivered if owed is None else owed & self.delivered
        return owed

    @cached_property
    def addressed(self) -> Bools:
        """Which messages are addressed to the process."""
        addressed = self._sheet.addressed
        addressed[self._history.addressed(self.process)] = True
        return addressed

    def placed(self, message: int) -> tuple[int, int]:
        """A message with the position of its first delivery."""
        return message, int(self.first[message])
