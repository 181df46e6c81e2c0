"""Causal order: a message is delivered only after every message that happened before it.

If p delivers m, then p has delivered before m every m' -> m that p was owed (sent, addressed to p, and not
exempt as part of a joiner's base). By transitivity it is enough to compare m with its immediate predecessors,
the messages with an edge to m in `Order`: if they all came first at every delivery of p, so did all others.

A delivery is one violation if it came before such an immediate predecessor; what follows it is not blamed for
the same fault again. So every violation can be seen in two logs: that of p, and that of m's origin, which had
itself delivered or sent the predecessor when it sent m. Where messages have audiences, a predecessor that is
not for p may hide another that is; `hidden` follows those.

Where logs contradict each other (no_foresight finds a cycle) there is no order, and the verdict is unknown.

Where causality is declared, the edges are what messages say they follow, and nothing else comes before them.

`CausalUnlessLost` is what an algorithm can promise whose messages die with their sender: a predecessor that p
never delivers counts as not for p if its origin crashed or was evicted. It hides what came before it, like
any other that is not for p. One that p does deliver must come first, whatever became of its origin.
"""

from collections.abc import Iterator
from functools import cached_property
from heapq import merge
from operator import itemgetter

import numpy as np

from aforesaid.check.blocks import Indices, blocks
from aforesaid.check.rules.base import Case, Findings, OrderRule
from aforesaid.check.rules.duties import Duties
from aforesaid.check.rules.hidden import NOTHING, Blocks, Overtaking
from aforesaid.check.verdict import Violation
from aforesaid.check.view import View
from aforesaid.trace.model import Bools, Int32s

FEW = 4
"""If fewer than one in so many deliveries are suspect, they are judged by their edges only, not by all."""


class Causal(OrderRule):
    name = "causal"

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._cyclic = case.order.cyclic
        if self._cyclic:
            self.doubt = "The logs contradict each other (see no_foresight): there is no order to judge by."
            return
        self._hides = self.history.sampled or not self.history.all_to_all

    def judge(self, view: View) -> None:
        if self._cyclic:
            return
        if self._hides:
            way = self._duties if view.few else self._blocks
            way.put(view, self._owed(view))
            if way.full:
                self._judge_hidden()
        else:
            suspects = self._suspects(view)
            few = len(suspects) * FEW < self.history.message_count
            early = list(self._early_of_some(view, suspects) if few else self._early_of_all(view))
            if early:
                self._judge_edges(view, np.concatenate(early))

    def findings(self) -> Findings:
        self._judge_hidden()
        return super().findings()

    def _owed(self, view: View) -> Bools:
        """Which of the messages concerned must be delivered before what follows them."""
        sent = self.history.sent[view.concerned]
        return sent if view.owed is None else view.owed[view.concerned] & sent

    @cached_property
    def _duties(self) -> Duties:
        return Duties(self.history, self.case.order)

    @cached_property
    def _blocks(self) -> Blocks:
        """Made by whoever sees a log: it is large."""
        return Blocks(self.history, self.case.order)

    def _suspects(self, view: View) -> Indices:
        """The messages delivered while something was due that ranks no higher than their predecessors do.

        No other can have come too early. Where deliveries keep roughly to the order of sending these are few,
        however many predecessors a message has.
        """
        first, order = view.first[:-1], self.case.order
        if view.owed is not None or not self.history.all_sent:
            first = np.where(self._owed(view), first, NOTHING)
        if not order.forward:
            first = first[order.sequence]
        np.maximum.accumulate(first, out=self._due[:-1])
        suspects = [np.empty(0, np.int64)]
        for block in blocks(len(first)):
            due = np.take(self._due, order.last_before[block], mode="clip")
            suspects.append(np.flatnonzero(due > view.first[block]) + block.start)
        return np.concatenate(suspects)

    @cached_property
    def _due(self) -> Int32s:
        """When all up to a rank were delivered; and for none, at the end, before everything else."""
        return np.full(self.history.message_count + 1, NOTHING, np.int32)

    def _early_of_all(self, view: View) -> Iterator[Indices]:
        """Edges whose later end was delivered first, by a look at every edge."""
        parent, child = self.case.order.parent, self.case.order.child
        for block in blocks(len(parent)):
            size = block.stop - block.start
            of_parent, of_child, early = (part[:size] for part in self._scratch)
            np.take(view.first, parent[block], out=of_parent, mode="clip")
            np.take(view.first, child[block], out=of_child, mode="clip")
            np.greater(of_parent, of_child, out=early)
            if early.any():
                yield np.flatnonzero(early) + block.start

    def _early_of_some(self, view: View, messages: Indices) -> Iterator[Indices]:
        """The same, by a look at those of some messages."""
        order = self.case.order
        for block in blocks(len(messages)):
            some = messages[block]
            edges, lengths = order.edges_to(some)
            early = view.first[order.parent[edges]] > np.repeat(view.first[some], lengths)
            if early.any():
                yield edges[early]

    @cached_property
    def _scratch(self) -> tuple[Int32s, Int32s, Bools]:
        size = next(blocks(len(self.case.order.parent)), slice(0)).stop
        return np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.bool_)

    def _judge_edges(self, view: View, edges: Indices) -> None:
        """Judge the deliveries at the later ends of edges, which came before what is at the earlier ends."""
        parent, child = self.case.order.parent[edges], self.case.order.child[edges]
        early = self.history.sent[parent]
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

    def _judge_hidden(self) -> None:
        made = self.__dict__
        ways: list[Blocks | Duties] = [made[way] for way in ("_blocks", "_duties") if way in made]
        judged = [way.judge() for way in ways]
        in_order = merge(*(overtakings for _, overtakings in judged), key=itemgetter(0, 1))
        self.found(sum(count for count, _ in judged), map(self._worded_hidden, in_order))
        for way in ways:
            way.clear()

    def _worded_hidden(self, overtaking: Overtaking) -> Violation:
        chain = overtaking.chain()
        (predecessor, _), (message, _) = chain[0], chain[-1]
        relation, details = self._relation(message, predecessor), {}
        by_way_of = [self.history.message_label(hidden) for hidden, _ in chain[1:-1]]
        if by_way_of:
            relation = f"which comes before it by way of {' and '.join(by_way_of)}"
            details = {"by_way_of": by_way_of}
        return self.overtaking(overtaking.process, chain[-1], chain[0], relation, **details)

    def _relation(self, message: int, predecessor: int) -> str:
        if self.history.declared:
            return "which it says it follows"
        origin = self.history.origin_label(message)
        if self.history.origin[message] == self.history.origin[predecessor]:
            return f"which {origin} had sent before it"
        return f"which {origin} had delivered before sending it"


class CausalUnlessLost(Causal):
    name = "causal_unless_lost"

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._hides = True
        fates = self.history.processes.fate
        # One more at the end, for messages without an origin: index -1.
        self._may_be_lost = np.array([*(fate in ("crashed", "evicted") for fate in fates), False])
        self._unknown = np.array([*(fate == "unknown" for fate in fates), False])

    def _owed(self, view: View) -> Bools:
        owed, origin = super()._owed(view), self.history.origin[view.concerned]
        missing = owed & ~view.delivered[view.concerned]
        if not self.doubt and (missing & self._unknown[origin]).any():
            message = int(view.those(missing & self._unknown[origin])[0])
            name, origin_name = self.history.message_label(message), self.history.origin_label(message)
            lacking = self.history.process_label(view.process)
            self.doubt = f"{lacking} lacks {name}, and the fate of {origin_name} is not known."
        excused: Bools = missing & (self._may_be_lost | self._unknown)[origin]
        return owed & ~excused
