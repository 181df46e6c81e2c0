"""Marks that are handed on along the order: what came before what, asked for many messages in one sweep.

A mark is laid on a message, handed on to whatever comes after it, and lifted at a rank of its own. The sweep
goes through the messages in an order that extends happens-before, and holds only the marks that are open: it
costs what is marked, and not pairs of messages, or of a message and a process.

The marks that a message carries are the bits of one integer, so that hundreds are handed on as fast as one.
The bit of a lifted mark is given to another once no message on its way carries it: integers are as long as
there are marks open at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from aforesaid.check.blocks import Indices
from aforesaid.check.order import Edges, Order
from aforesaid.trace.model import Bools


class Marks(ABC):
    """A sweep; what marks mean is left to those who lay them. Only where there is no cycle."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._bearer: list[int] = []
        """The mark that each bit stands for."""
        self._free: list[int] = []
        self._lifted: list[int] = []
        """Bits without a mark that messages on their way may still carry."""
        self._open = 0
        self._ending: dict[int, int] = {}
        """By rank, the marks that are lifted there."""
        self._coming: dict[int, int] = {}
        """By rank, the marks that were handed on to a message."""

    @abstractmethod
    def laid(self, mark: int, bit: int) -> None:
        """A mark is open from now on."""

    @abstractmethod
    def reached(self, message: int, marks: int) -> int:
        """A message carries marks; returns those that it hands on."""

    @abstractmethod
    def lifted(self, mark: int, bit: int, carried: bool) -> None:
        """A mark is over; `carried` if it had come to the last message, and not straight from its own."""

    def carried(self, marks: int) -> Iterator[int]:
        """The marks that an integer stands for."""
        while marks:
            bit = marks.bit_length() - 1
            yield self._bearer[bit]
            marks ^= 1 << bit

    def sweep(self, messages: Indices, last: Indices) -> None:
        """Lay mark i on messages[i], and hand it on up to the message of rank last[i], a later one."""
        first = self._order.rank[messages]
        in_order = np.argsort(first, kind="stable")
        waiting = zip(
            *(column[in_order].tolist() for column in (first, last)), in_order.tolist(), strict=True
        )
        upcoming = next(waiting, None)
        rank = -1
        while upcoming is not None or self._open:
            rank += 1
            if not self._open and upcoming is not None:
                self._coming.clear()
                rank = upcoming[0]
            new = 0
            while upcoming is not None and upcoming[0] == rank:
                new |= self._lay(upcoming[2], upcoming[1])
                upcoming = next(waiting, None)
            marks = self._coming.pop(rank, 0) & self._open
            if marks or new or rank in self._ending:
                self._visit(rank, marks, new)

    def _visit(self, rank: int, marks: int, new: int) -> None:
        ending = self._ending.pop(rank, 0)
        handed_on = new
        if marks:
            handed_on |= self.reached(int(self._order.sequence[rank]), marks)
        self._lift(ending, marks)
        handed_on &= self._open
        if handed_on:
            for later in self._order.ranks_after(rank):
                straight = new & self._ending.get(later, 0)
                self._coming[later] = self._coming.get(later, 0) | handed_on & ~straight

    def _lay(self, mark: int, last: int) -> int:
        if not self._free and 2 * len(self._lifted) > len(self._bearer):
            for rank, marks in self._coming.items():
                self._coming[rank] = marks & self._open
            self._free, self._lifted = self._lifted, []
        if not self._free:
            self._free.append(len(self._bearer))
            self._bearer.append(mark)
        place = self._free.pop()
        self._bearer[place] = mark
        bit = 1 << place
        self._open |= bit
        self._ending[last] = self._ending.get(last, 0) | bit
        self.laid(mark, bit)
        return bit

    def _lift(self, ending: int, carried: int) -> None:
        self._open &= ~ending
        while ending:
            place = ending.bit_length() - 1
            bit = 1 << place
            self.lifted(self._bearer[place], bit, bool(carried & bit))
            self._lifted.append(place)
            ending ^= bit


class _Longer(Marks):
    """For each of some pairs of messages, whether the later one comes after something after the earlier."""

    def __init__(self, order: Order, pairs: int) -> None:
        super().__init__(order)
        self.found = np.zeros(pairs, np.bool_)

    def laid(self, mark: int, bit: int) -> None:
        """Only its end matters."""

    def reached(self, message: int, marks: int) -> int:
        return marks

    def lifted(self, mark: int, bit: int, carried: bool) -> None:
        self.found[mark] = carried


def implied(order: Order, edges: Edges) -> Bools:
    """Which edges follow from others of an order: a longer way leads from the one message to the other."""
    first, last = order.rank[edges.parent], order.rank[edges.child]
    found = first < last
    longer = _Longer(order, int(np.count_nonzero(found)))
    longer.sweep(edges.parent[found], last[found])
    found[found] = longer.found
    return found
