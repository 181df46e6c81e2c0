"""Happens-before as a graph of messages: an edge from each message to those that came right after it.

Happens-before is the smallest transitive relation in which an origin's earlier message comes before its later
ones, and a message that a process delivered comes before whatever that process sends afterwards. An `Order`
holds edges that generate it; it need not be minimal. Edges are kept sorted by the later message (`child`), so
that the predecessors of a message are one slice.

Nearly every trace lists messages in an order of sending, and then every edge goes from a lower index to a
higher one: `forward`. No loop here depends on it but for speed. Loops over the whole graph are plain Python
on purpose: causal chains are long and thin, and an array operation per level would be slower.

`Exemption` is what the order says about joiners: everything at or before its base is not owed to a joiner.
"""

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aforesaid.check.blocks import Indices, Keys, Room, blocks, grouped, in_memory, starts_of
from aforesaid.check.history import History
from aforesaid.trace.model import Bools


class Edges(NamedTuple):
    """A few edges: small enough to travel."""

    parent: Indices
    child: Indices

    def by_child(self) -> "Edges":
        order = np.argsort(self.child, kind="stable")
        return Edges(self.parent[order], self.child[order])


class Order:
    """Edges that generate happens-before."""

    def __init__(
        self,
        message_count: int,
        parent: Indices,
        child: Indices,
        starts: Indices | None = None,
        room: Room = in_memory,
    ) -> None:
        """Edges by child; `starts`, if it is known, is where those of each child start."""
        self.message_count = message_count
        self.parent, self.child = parent, child
        if starts is None:
            starts = starts_of((child[block] for block in blocks(len(child))), message_count, room)
        self.starts = starts
        self.forward = all(bool((parent[block] < child[block]).all()) for block in blocks(len(parent)))
        self._room = room

    @staticmethod
    def recorded(history: History, room: Room = in_memory) -> "Order":
        """The edges that the tracer recorded, but for those of messages that nobody sent."""
        after = history.messages.after
        count = len(after.values)
        parent, child = room(count, np.int64), room(count, np.int64)
        kept = 0
        for block in blocks(history.message_count):
            offsets = after.offsets[block.start : block.stop + 1]
            of_edges = np.repeat(np.arange(block.start, block.stop), np.diff(offsets))
            earlier = after.values[offsets[0] : offsets[-1]]
            if not history.all_sent:
                sent = history.sent[of_edges]
                earlier, of_edges = earlier[sent], of_edges[sent]
            rows = slice(kept, kept + len(of_edges))
            parent[rows], child[rows] = earlier, of_edges
            kept = rows.stop
        starts = after.offsets if history.all_sent else None
        return Order(history.message_count, parent[:kept], child[:kept], starts, room)

    def corrected(
        self, false_edges: Sequence[int], missing: Edges | None = None, room: Room = in_memory
    ) -> "Order":
        """The order without some edges, by their places, and with others; the same object if none."""
        if not false_edges and missing is None:
            return self
        false = np.sort(np.array(false_edges, np.int64))
        nothing = np.empty(0, np.int64)
        more = (missing or Edges(nothing, nothing)).by_child()
        count = len(self.parent) - len(false) + len(more.parent)
        parent, child = room(count, np.int64), room(count, np.int64)
        kept = 0
        for block in blocks(self.message_count):
            old = slice(int(self.starts[block.start]), int(self.starts[block.stop]))
            new = slice(*np.searchsorted(more.child, (block.start, block.stop)))
            here = false[slice(*np.searchsorted(false, (old.start, old.stop)))] - old.start
            of_edges = np.concatenate((np.delete(self.child[old], here), more.child[new]))
            earlier = np.concatenate((np.delete(self.parent[old], here), more.parent[new]))
            by_child = np.argsort(of_edges, kind="stable")
            rows = slice(kept, kept + len(by_child))
            parent[rows], child[rows] = earlier[by_child], of_edges[by_child]
            kept = rows.stop
        return Order(self.message_count, parent, child, room=room)

    def before(self, message: int) -> Indices:
        """The predecessors that have an edge to a message."""
        return self.parent[self.starts[message] : self.starts[message + 1]]

    def edges_to(self, messages: Indices) -> tuple[Indices, Indices]:
        """The edges to some messages, one message after the other; how many each has."""
        first = self.starts[messages]
        lengths = self.starts[messages + 1] - first
        return spread(first, lengths), lengths

    @cached_property
    def children(self) -> tuple[Indices, Indices]:
        """The edges' later ends by earlier end: (children, where each message's children start)."""
        return grouped(self._by_parent, self.message_count, self._room)

    def _by_parent(self) -> Iterator[tuple[Keys, Indices]]:
        return ((self.parent[block], self.child[block]) for block in blocks(len(self.parent)))

    @cached_property
    def first_child(self) -> Indices:
        """The first message that names each one as predecessor; none if it is past the end of the table."""
        children, starts = self.children
        first = self._room(self.message_count, np.int64)
        for block in blocks(self.message_count):
            bounds = starts[block.start : block.stop + 1]
            some = bounds[:-1] < bounds[1:]
            first[block] = self.message_count
            first[block][some] = children[bounds[:-1][some]]
        return first

    @cached_property
    def last_before(self) -> Indices:
        """The highest rank of a predecessor of each message; none if it is past the end of the table."""
        last = self._room(self.message_count, np.int64)
        for block in blocks(self.message_count):
            bounds = self.starts[block.start : block.stop + 1]
            some = bounds[:-1] < bounds[1:]
            parent = self.parent[bounds[0] : bounds[-1]]
            last[block] = self.message_count
            if len(parent):
                ranks = parent if self.forward else self.rank[parent]
                last[block][some] = np.maximum.reduceat(ranks, bounds[:-1][some] - bounds[0])
        return last

    @cached_property
    def topological(self) -> Sequence[int]:
        """The messages, each after its predecessors; those on or after a cycle are left out."""
        if self.forward:
            return range(self.message_count)
        children, child_starts = (column.tolist() for column in self.children)
        waiting_for = np.diff(self.starts).tolist()
        ready = [message for message, count in enumerate(waiting_for) if count == 0]
        for message in ready:  # grows as it is read
            for child in children[child_starts[message] : child_starts[message + 1]]:
                waiting_for[child] -= 1
                if waiting_for[child] == 0:
                    ready.append(child)
        return ready

    @cached_property
    def sequence(self) -> Indices:
        """`topological`, as a column."""
        return np.array(self.topological, np.int64)

    @cached_property
    def rank(self) -> Indices:
        """The place of each message in `sequence`. Only where there is no cycle."""
        if self.forward:
            return self.sequence
        rank = np.empty(self.message_count, np.int64)
        rank[self.sequence] = np.arange(self.message_count)
        return rank

    def ranks_after(self, rank: int) -> list[int]:
        """The ranks of the messages that have an edge from that of a rank."""
        children, starts = self.children
        message = self.sequence[rank]
        later: list[int] = self.rank[children[starts[message] : starts[message + 1]]].tolist()
        return later

    @property
    def cyclic(self) -> bool:
        return len(self.topological) < self.message_count

    @cached_property
    def levels(self) -> Indices:
        """The length of the longest chain that ends in each message. Only where there is no cycle."""
        level = array("q", bytes(8 * self.message_count))
        for message, before in self._with_parents(self.topological):
            if before:
                level[message] = 1 + max([level[earlier] for earlier in before])
        return np.frombuffer(level, np.int64)

    def pasts(self, tops: Sequence[Sequence[int]]) -> npt.NDArray[np.uint64]:
        """Up to 64 causal pasts at once: bit i of a message is set if it is at or before one of tops[i]."""
        bits = array("Q", bytes(8 * self.message_count))
        for bit, messages in enumerate(tops):
            for message in messages:
                bits[message] |= 1 << bit
        # One sweep from last to first is enough unless there is a cycle.
        cyclic = self.cyclic
        newest_first = range(self.message_count)[::-1] if cyclic else self.topological[::-1]
        changed = True
        while changed:
            changed = False
            for message, before in self._with_parents(newest_first):
                inherited = bits[message]
                if inherited:
                    for earlier in before:
                        if inherited & ~bits[earlier]:
                            bits[earlier] |= inherited
                            changed = cyclic
        return np.frombuffer(bits, np.uint64)

    def _with_parents(self, messages: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """Messages in an order given, each with its predecessors."""
        for block in blocks(len(messages)):
            some = np.array(messages[block], np.int64)
            edges, lengths = self.edges_to(some)
            parent = self.parent[edges].tolist()
            stop = 0
            for message, length in zip(some.tolist(), lengths.tolist(), strict=True):
                start, stop = stop, stop + length
                yield message, parent[start:stop]


class Exemption:
    """What joiners are not owed: everything at or before their base."""

    BATCH = 64

    def __init__(self, history: History, order: Order) -> None:
        base = history.processes.base
        self._order, self._base = order, base
        joiners = np.flatnonzero(base.lengths).tolist()
        self._place = {process: place for place, process in enumerate(joiners)}
        self._joiners = joiners
        self._batch = -1
        self._pasts = np.empty(0, np.uint64)

    def of(self, process: int) -> Bools | None:
        """Which messages a process is not owed; None if there are none."""
        place = self._place.get(process)
        if place is None:
            return None
        batch, bit = divmod(place, self.BATCH)
        if batch != self._batch:
            joiners = self._joiners[batch * self.BATCH : (batch + 1) * self.BATCH]
            self._pasts = self._order.pasts([self._base[joiner].tolist() for joiner in joiners])
            self._batch = batch
        exempt: Bools = (self._pasts >> np.uint64(bit)) & np.uint64(1) != 0
        return exempt


def spread(starts: Indices, lengths: Indices) -> Indices:
    """The indices of many slices, one after the other; slice i begins at starts[i]."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - ends + lengths, lengths)
