"""Causal order for processes that have to do with few of a run's messages: hidden predecessors by marks.

What is asked is what `hidden` asks, and what is found is the same, but the work is not messages times
processes. Take the messages in one order that extends happens-before, and let p deliver each as soon as it
has been sent and its turn has come in p's log: that is one order of all events that extends all logs. A
message x that p is owed is a *duty* of p while it has been sent and not delivered; a message sent later than
that cannot overtake it. So the duty is laid on x as a mark, handed on by messages that are hidden from p, and
lifted when p delivers x. Where p delivers x as soon as it is sent, which is most often so, there is nothing
to lay.
"""

from collections import deque
from collections.abc import Iterator
from functools import partial

import numpy as np

from aforesaid.check.blocks import Indices, in_memory, starts_of
from aforesaid.check.history import History
from aforesaid.check.marks import Marks
from aforesaid.check.order import Order
from aforesaid.check.rules.hidden import Overtaking
from aforesaid.check.view import NEVER, View
from aforesaid.trace.model import Bools

VISITS_MAX = 1 << 20


class Duties(Marks):
    """Processes whose duties are carried in one sweep."""

    def __init__(self, history: History, order: Order) -> None:
        super().__init__(order)
        self._history = history
        self.clear()

    def clear(self) -> None:
        """Make room for other processes."""
        self._duties: list[Indices] = []
        """Columns message, process, position and last rank of each mark."""
        self._visit_count = 0
        self._visits: list[Indices] = []
        """Columns message, process, position and whether it is owed: all that concerns those with duties."""
        self._open_of: dict[int, int] = {}
        self._early: list[tuple[int, int, int, int]] = []
        """Process, position, message, and the rank of the earliest one overtaken."""

    @property
    def full(self) -> bool:
        return self._visit_count > VISITS_MAX

    def put(self, view: View, owed: Bools) -> None:
        """Add a process, with what of the messages concerned must come before what follows it."""
        seen = owed | view.delivered[view.concerned]
        message, owed = view.those(seen), owed[seen]
        in_log = np.argsort(view.first[message])
        message, owed = message[in_log], owed[in_log]
        rank, position = self._order.rank[message], view.first[message]
        # When it is delivered, if ever; what is sent after the last delivery of the log overtakes nothing.
        turn = np.maximum.accumulate(np.where(position == NEVER, -1, rank))
        duty = owed & (turn > rank)
        if duty.any():
            process = np.full(len(message), view.process)
            self._duties.append(np.stack((message, process, position, turn + 1))[:, duty])
            self._visits.append(np.stack((message, process, position, owed)))
            self._visit_count += len(message)

    def judge(self) -> tuple[int, Iterator[Overtaking]]:
        """How many deliveries came before something they were to come after, and which."""
        if self._duties:
            messages, process, position, last = np.concatenate(self._duties, axis=1)
            self._process, self._position = process.tolist(), position.tolist()
            self._first_rank = self._order.rank[messages]
            visits = np.concatenate(self._visits, axis=1)
            self._seen = visits[:, np.argsort(visits[0], kind="stable")]
            self._starts = starts_of((visits[0],), self._history.message_count, in_memory)
            self.sweep(messages, last)
        return len(self._early), (
            Overtaking(process, position, partial(self._chain, process, position, message, earliest))
            for process, position, message, earliest in sorted(self._early)
        )

    def laid(self, mark: int, bit: int) -> None:
        process = self._process[mark]
        self._open_of[process] = self._open_of.get(process, 0) | bit

    def lifted(self, mark: int, bit: int, carried: bool) -> None:
        self._open_of[self._process[mark]] ^= bit

    def reached(self, message: int, marks: int) -> int:
        seen = self._seen[1:, self._starts[message] : self._starts[message + 1]]
        for process, position, owed in seen.T.tolist():
            duties = marks & self._open_of.get(process, 0)
            if duties:
                late = [duty for duty in self.carried(duties) if self._position[duty] > position]
                if late:
                    earliest = int(self._first_rank[late].min())
                    self._early.append((process, position, message, earliest))
                if owed:
                    marks ^= duties
        return marks

    def _chain(self, process: int, position: int, message: int, earliest: int) -> list[tuple[int, int]]:
        """A shortest chain from an overtaken predecessor over hidden ones to the delivery, with positions."""
        seen = self._seen_by(process)
        next_after = {message: message}
        queue = deque([message])
        while queue:
            later = queue.popleft()
            for earlier in self._order.before(later)[::-1].tolist():
                if earlier in next_after or self._order.rank[earlier] < earliest:
                    continue
                next_after[earlier] = later
                due, owed = seen.get(earlier, (NEVER, False))
                if not owed:
                    queue.append(earlier)
                elif due > position:
                    chain = [earlier]
                    while chain[-1] != message:
                        chain.append(next_after[chain[-1]])
                    return [(link, seen.get(link, (NEVER, False))[0]) for link in chain]
        raise AssertionError(f"message {message} overtook nothing")

    def _seen_by(self, process: int) -> dict[int, tuple[int, int]]:
        """By message, where a process delivered it, and whether it was owed it."""
        message, _, position, owed = self._seen[:, self._seen[1] == process].tolist()
        return dict(zip(message, zip(position, owed, strict=True), strict=True))
