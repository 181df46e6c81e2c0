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

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aforesaid.check.history import History, Indices
from aforesaid.trace.model import Bools


class Order:
    """Edges that generate happens-before."""

    def __init__(self, message_count: int, parent: Indices, child: Indices) -> None:
        self.message_count = message_count
        self.parent, self.child = parent, child
        self.lengths: Indices = np.bincount(child, minlength=message_count)
        self.starts: Indices = np.concatenate(([0], np.cumsum(self.lengths)))
        self.forward = bool((parent < child).all())

    def __reduce__(self) -> tuple[type["Order"], tuple[int, Indices, Indices]]:
        """Its edges are all that has to travel."""
        return Order, (self.message_count, self.parent, self.child)

    @staticmethod
    def recorded(history: History) -> "Order":
        """The edges that the tracer recorded, but for those of messages that nobody sent."""
        after = history.messages.after
        parent = after.values.astype(np.int64)
        child = np.repeat(np.arange(history.message_count), after.lengths)
        if not history.all_sent:
            sent = history.sent[child]
            parent, child = parent[sent], child[sent]
        return Order(history.message_count, parent, child)

    def without(self, edges: Sequence[int]) -> "Order":
        return Order(self.message_count, np.delete(self.parent, edges), np.delete(self.child, edges))

    def with_edges(self, parent: Indices, child: Indices) -> "Order":
        parent, child = np.concatenate((self.parent, parent)), np.concatenate((self.child, child))
        by_child = np.argsort(child, kind="stable")
        return Order(self.message_count, parent[by_child], child[by_child])

    def before(self, message: int) -> Indices:
        """The predecessors that have an edge to a message."""
        return self.parent[self.starts[message] : self.starts[message + 1]]

    @cached_property
    def children(self) -> tuple[Indices, Indices]:
        """The edges' later ends by earlier end: (children, where each message's children start)."""
        by_parent = np.argsort(self.parent, kind="stable")
        counts = np.bincount(self.parent, minlength=self.message_count)
        return self.child[by_parent], np.concatenate(([0], np.cumsum(counts)))

    @cached_property
    def topological(self) -> Sequence[int]:
        """The messages, each after its predecessors; those on or after a cycle are left out."""
        if self.forward:
            return range(self.message_count)
        children, child_starts = (column.tolist() for column in self.children)
        waiting_for = self.lengths.tolist()
        ready = [message for message, count in enumerate(waiting_for) if count == 0]
        for message in ready:  # grows as it is read
            for child in children[child_starts[message] : child_starts[message + 1]]:
                waiting_for[child] -= 1
                if waiting_for[child] == 0:
                    ready.append(child)
        return ready

    @property
    def cyclic(self) -> bool:
        return len(self.topological) < self.message_count

    @cached_property
    def levels(self) -> Indices:
        """The length of the longest chain that ends in each message. Only where there is no cycle."""
        parent, starts = self.parent.tolist(), self.starts.tolist()
        level = [0] * self.message_count
        for message in self.topological:
            before = parent[starts[message] : starts[message + 1]]
            if before:
                level[message] = 1 + max([level[earlier] for earlier in before])
        return np.array(level, np.int64)

    def pasts(self, tops: Sequence[Sequence[int]]) -> npt.NDArray[np.uint64]:
        """Up to 64 causal pasts at once: bit i of a message is set if it is at or before one of tops[i]."""
        bits = [0] * self.message_count
        for bit, messages in enumerate(tops):
            for message in messages:
                bits[message] |= 1 << bit
        parent, starts = self.parent.tolist(), self.starts.tolist()
        # One sweep from last to first is enough unless there is a cycle.
        cyclic = self.cyclic
        newest_first = range(self.message_count)[::-1] if cyclic else self.topological[::-1]
        changed = True
        while changed:
            changed = False
            for message in newest_first:
                inherited = bits[message]
                if inherited:
                    for earlier in parent[starts[message] : starts[message + 1]]:
                        if inherited & ~bits[earlier]:
                            bits[earlier] |= inherited
                            changed = cyclic
        return np.array(bits, np.uint64)


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
