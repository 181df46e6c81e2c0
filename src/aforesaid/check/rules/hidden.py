"""Causal order where messages have audiences: predecessors that hide behind messages for others.

Let x -> h -> m, with x and m for p and h not. The edge from h to m tells p nothing, yet p must deliver x
first. So a message that is *hidden* from p takes over the duties of its predecessors. For each process,

    due(m) = the latest, over the predecessors y of m, of
             the position of y's first delivery, or NEVER    if p is owed y;
             due(y)                                          if not: y is hidden too;

and p's delivery of m is a violation if it came before due(m).

The order is the same for all processes, so many are judged at once: a matrix with a row for each message and
a column for each process, filled level by level of the graph, each level one array operation. The work is
messages times processes, like that of the matrix clocks of point-to-point causal order; the memory is that of
one block of processes, of at most BLOCK_CELLS cells if one column fits.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from aforesaid.check.history import History
from aforesaid.check.order import Order
from aforesaid.check.view import NEVER, View
from aforesaid.trace.model import Bools

BLOCK_CELLS = 1 << 23
NOTHING = -1
"""The position that comes before all others: no duty."""


class Overtaking(NamedTuple):
    """A delivery that came too early."""

    process: int
    position: int
    chain: Callable[[], list[tuple[int, int]]]
    """A shortest chain from an overtaken predecessor over hidden ones to the delivery, with positions."""


class Blocks:
    """Processes put side by side until there are enough to judge."""

    def __init__(self, history: History, order: Order) -> None:
        self._history = history
        count = history.message_count
        columns = max(1, min(history.process_count, BLOCK_CELLS // max(1, count)))
        self._message = np.argsort(order.levels, kind="stable")
        """The message of each row: rows are sorted by level, so that a level is a slice."""
        self._row = np.empty(count, np.int64)
        self._row[self._message] = np.arange(count)
        edges, lengths = order.edges_to(self._message)
        self._parent_row = self._row[order.parent[edges]]
        self._edges = np.concatenate(([0], np.cumsum(lengths)))
        heights = order.levels[self._message]
        self._levels = np.searchsorted(heights, np.arange(heights[-1] + 2 if count else 1)).tolist()
        self._first = np.empty((count, columns), np.int32)
        self._due = np.empty((count, columns), np.int32)
        self._hidden = np.empty((count, columns), np.bool_)
        self._processes: list[int] = []
        self.clear()

    @property
    def full(self) -> bool:
        return len(self._processes) == self._first.shape[1]

    def put(self, view: View, owed: Bools) -> None:
        """Add a process as the next column, with what must come before what follows it."""
        column = len(self._processes)
        self._processes.append(view.process)
        seen, delivered = np.flatnonzero(owed), np.flatnonzero(view.delivered)
        self._first[self._row[delivered], column] = view.first[delivered]
        self._due[self._row[seen], column] = view.first[seen]
        self._hidden[self._row[seen], column] = False

    def clear(self) -> None:
        """Make room for other processes."""
        self._processes.clear()
        self._first.fill(NEVER)
        self._due.fill(NOTHING)
        self._hidden.fill(True)

    def judge(self) -> tuple[int, Iterator[Overtaking]]:
        """Fill in the duties of hidden messages; how many deliveries came before theirs, and which."""
        columns = len(self._processes)
        first, due, hidden = (part[:, :columns] for part in (self._first, self._due, self._hidden))
        rows, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        # The messages of level 0 have no predecessors; all others have one at least, as reduceat needs.
        for start, stop in zip(self._levels[1:-1], self._levels[2:], strict=True):
            edges = self._edges[start : stop + 1]
            of_parents = due[self._parent_row[edges[0] : edges[-1]]]
            latest = np.maximum.reduceat(of_parents, edges[:-1] - edges[0], axis=0)
            early = latest > first[start:stop]
            if early.any():
                row, place = np.nonzero(early)
                rows.append(row + start)
                places.append(place)
            np.copyto(due[start:stop], latest, where=hidden[start:stop])
        row, place = np.concatenate(rows), np.concatenate(places)
        in_order = np.lexsort((first[row, place], place))
        return len(row), map(self._overtaking, row[in_order], place[in_order])

    def _overtaking(self, row: np.int64, column: np.int64) -> Overtaking:
        process, position = self._processes[column], int(self._first[row, column])
        return Overtaking(process, position, partial(self._chain, int(row), int(column)))

    def _chain(self, row: int, column: int) -> list[tuple[int, int]]:
        position = self._first[row, column]
        next_after = {row: row}
        queue = deque([row])
        while queue:
            later = queue.popleft()
            for earlier in self._parent_row[self._edges[later] : self._edges[later + 1]][::-1].tolist():
                if earlier in next_after or self._due[earlier, column] <= position:
                    continue
                next_after[earlier] = later
                if not self._hidden[earlier, column]:
                    return self._told(next_after, earlier, row, column)
                queue.append(earlier)
        raise AssertionError(f"message {self._message[row]} overtook nothing")

    def _told(
        self, next_after: dict[int, int], earliest: int, last: int, column: int
    ) -> list[tuple[int, int]]:
        rows = [earliest]
        while rows[-1] != last:
            rows.append(next_after[rows[-1]])
        return [(int(self._message[row]), int(self._first[row, column])) for row in rows]
