"""Causal order: a message is delivered only after every message that happened before it.

If p delivers m, then p has delivered before m every m' -> m that p was owed (sent, addressed to p, and not
exempt as part of a joiner's base). By transitivity it is enough to compare m with its immediate predecessors,
the messages with an edge to m in `Order`: if they all came first at every delivery of p, so did all others.

A delivery is one violation if it came before such an immediate predecessor; what follows it is not blamed for
the same fault again. So every violation can be seen in two logs: that of p, and that of m's origin, which had
itself delivered or sent the predecessor when it sent m. Where messages have audiences, a predecessor that is
not for p may hide another that is; `hidden` follows those.

Where logs contradict each other (no_foresight finds a cycle) there is no order, and the verdict is unknown.
"""

from collections.abc import Iterator

import numpy as np

from aforesaid.check.history import Indices
from aforesaid.check.order import spread
from aforesaid.check.rules.base import Case, OrderRule
from aforesaid.check.rules.hidden import Blocks, Overtaking
from aforesaid.check.verdict import Verdict, Violation
from aforesaid.check.view import View

FEW = 4
"""A process that delivered fewer than one in so many messages is judged by their edges only, not by all."""


class Causal(OrderRule):
    name = "causal"

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._cyclic = case.order.cyclic
        if self._cyclic:
            self.doubt = "The logs contradict each other (see no_foresight): there is no order to judge by."
            return
        if not self.history.all_to_all:
            self._blocks = Blocks(self.history, case.order)
            return
        order = case.order
        self._parent, self._child = order.parent, order.child
        self._lengths, self._starts = order.lengths, order.starts
        self._first_of_parent = np.empty(len(self._parent), np.int32)
        self._first_of_child = np.empty(len(self._parent), np.int32)
        self._early = np.empty(len(self._parent), np.bool_)

    def judge(self, view: View) -> None:
        if self._cyclic:
            return
        if not self.history.all_to_all:
            self._blocks.put(view)
            if self._blocks.full:
                self._judge_blocks()
        elif view.distinct * FEW < self.history.message_count:
            delivered = np.flatnonzero(view.delivered)
            self._judge_edges(view, spread(self._starts[delivered], self._lengths[delivered]))
        else:
            self._judge_all_edges(view)

    def verdict(self) -> Verdict:
        if not self._cyclic and not self.history.all_to_all:
            self._judge_blocks()
        return super().verdict()

    def _judge_all_edges(self, view: View) -> None:
        np.take(view.first, self._parent, out=self._first_of_parent, mode="clip")
        np.take(view.first, self._child, out=self._first_of_child, mode="clip")
        np.greater(self._first_of_parent, self._first_of_child, out=self._early)
        if self._early.any():
            self._judge_edges(view, np.flatnonzero(self._early))

    def _judge_edges(self, view: View, edges: Indices) -> None:
        parent, child = self._parent[edges], self._child[edges]
        early = (view.first[parent] > view.first[child]) & self.history.sent[parent]
        if view.owed is not None:
            early &= view.owed[parent]
        if early.any():
            parent, child = parent[early], child[early]
            # Of several overtaken predecessors the latest is named: it is the one nearest to the message.
            nearest_last = np.lexsort((parent, child))
            parent, child = parent[nearest_last], child[nearest_last]
            last = np.append(child[1:] != child[:-1], True)
            parent, child = parent[last], child[last]
            by_position = np.argsort(view.first[child])
            self.found(len(child), self._worded(view, child[by_position], parent[by_position]))

    def _worded(self, view: View, messages: Indices, predecessors: Indices) -> Iterator[Violation]:
        for message, predecessor in zip(messages.tolist(), predecessors.tolist(), strict=True):
            relation = self._relation(message, predecessor)
            yield self.overtaking(view.process, view.placed(message), view.placed(predecessor), relation)

    def _judge_blocks(self) -> None:
        count, overtakings = self._blocks.judge()
        self.found(count, map(self._worded_hidden, overtakings))
        self._blocks.clear()

    def _worded_hidden(self, overtaking: Overtaking) -> Violation:
        chain = self._blocks.chain(overtaking)
        (predecessor, _), (message, _) = chain[0], chain[-1]
        relation, details = self._relation(message, predecessor), {}
        by_way_of = [self.history.message_label(hidden) for hidden, _ in chain[1:-1]]
        if by_way_of:
            relation = f"which comes before it by way of {' and '.join(by_way_of)}"
            details = {"by_way_of": by_way_of}
        return self.overtaking(overtaking.process, chain[-1], chain[0], relation, **details)

    def _relation(self, message: int, predecessor: int) -> str:
        origin = self.history.origin_label(message)
        if self.history.origin[message] == self.history.origin[predecessor]:
            return f"which {origin} had sent before it"
        return f"which {origin} had delivered before sending it"
