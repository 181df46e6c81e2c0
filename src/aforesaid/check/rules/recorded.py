"""Recorded: the predecessors that the recorder wrote down agree with the origins' own logs.

Causal order is judged by recorded predecessors, so a recorder that errs or lies could hide a violation. This
rule derives them again from the logs and corrects what is wrong; all other rules use the corrected order.

For an origin o, let *learned* be what o sent and what it delivered from others, in o's own order (first
deliveries; that o delivers its own message teaches it nothing). Let S(k) be what o learned from its previous
send, inclusive, up to its message k, and R(k) the recorded predecessors of k. Happens-before is what the
learned generate. Two things are asked of R:

(a) o had learned every x in R(k) before it sent k: else x is a *false* predecessor, and the edge is dropped;
(b) every x that is *immediately* before k, with nothing between x and k, is in R(k): else x is a *missing*
    predecessor, and the edge is added.

So R may be the transitive reduction of happens-before or name more than that, as a host does that cannot see
behind messages that went to others. What is left, R', generates exactly happens-before if that has no cycle:
its edges are happens-before by (a), and among them is its transitive reduction by (b).

How the missing are found: an x in S(k) is *covered* if it is in R(k), or in R(y) for a y in S(k), or if a
longer way leads from x to k in R without the false. What is not is a *suspect*, and R'' is R without the
false and with the suspects. Its edges are happens-before. Let R'' have no cycle: if x in S(k) is covered only
by a y in S(k), the same is asked of y; the chain x, y, ... stays in the finite S(k) and never comes back, so
it ends in what has a way to k in R''. And whatever o learned before S(k) is in S(j) for an earlier message j
of o, from which a way leads to k by the same reasoning. So R'' generates happens-before, which then has no
cycle either, and the suspects that do not follow from the rest of R'' are the missing. If R'' has a cycle, it
stands, and so do all suspects: in a circle everyone could point to the next.

Per process that is: the span of each message it learned, by one gather; a test whether the first message that
names x as predecessor was learned in the same span, which settles nearly all; a look at R(k), and at the
others that name x, for the few that are left; and one sweep (`marks`) for those of many processes that are
left then. An honest record is seen to be one in a single pass. After a lie, (b) is asked again without the
false edges.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from aforesaid.check.blocks import Indices, blocks
from aforesaid.check.marks import implied
from aforesaid.check.order import Edges, spread
from aforesaid.check.rules.base import SAMPLED, Case, Findings, Rule
from aforesaid.check.verdict import Verdict, Violation
from aforesaid.check.view import View
from aforesaid.trace.model import Bools, Int32s

BATCH = 1 << 18
"""How many messages that are not seen to be covered are put together for a sweep."""
_NOT_LEARNED = -1


class Uncovered(NamedTuple):
    """What was learned and not seen to be covered, with the message sent next."""

    learned: Indices
    sent: Indices
    position: Int32s
    """Where the learned was delivered; NEVER where it was sent."""

    @staticmethod
    def all(parts: "Sequence[Uncovered]") -> "Uncovered":
        learned, sent, position = zip(_NOTHING, *parts, strict=True)
        return Uncovered(np.concatenate(learned), np.concatenate(sent), np.concatenate(position))

    def at(self, rows: Bools) -> "Uncovered":
        return Uncovered(self.learned[rows], self.sent[rows], self.position[rows])

    @property
    def edges(self) -> Edges:
        return Edges(self.learned, self.sent)


_NOTHING = Uncovered(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))


class Recorded(Rule):
    name = "recorded"

    def __init__(self, case: Case, false_edges: Sequence[int] = ()) -> None:
        """`false_edges` is what an earlier pass found."""
        super().__init__(case)
        self.false_edges = list(false_edges)
        self._false_known = bool(false_edges)
        self._named = case.order.corrected(false_edges, None, case.room)
        self._uncovered: list[Uncovered] = []
        self._uncovered_count = 0
        self._suspects: list[Uncovered] = []

    def see(self, view: View) -> None:
        own = self.history.own(view.process)
        if len(own):
            if not self._false_known:
                self._see_false(view, own)
            self._see_uncovered(view, own)
            if self._uncovered_count > BATCH:
                self._sweep()

    def findings(self) -> Findings:
        self._sweep()
        return [] if self._false_known else self.false_edges, self._suspects

    def absorb(self, findings: Findings) -> None:
        false_edges, suspects = findings
        self.false_edges.extend(false_edges)
        self._suspects.extend(suspects)

    def verdict(self) -> Verdict:
        if self.history.sampled:
            # Who recorded may have seen what the logs have lost.
            return Verdict(self.name, "unknown", note=SAMPLED)
        self.found(len(self.false_edges), map(self._worded_false_edge, self.false_edges))
        self._judge_unsent()
        missing = self._missing
        rows = (column.tolist() for column in missing)
        self.found(len(missing.sent), (self._worded_missing(*row) for row in zip(*rows, strict=True)))
        return super().verdict()

    def missing(self) -> Edges | None:
        """The edges that are missing; None if there are none."""
        return self._missing.edges if len(self._missing.sent) else None

    @cached_property
    def _missing(self) -> Uncovered:
        """The suspects of all logs that do not follow from the rest."""
        suspects = Uncovered.all(self._suspects)
        if len(suspects.sent):
            proven = self._named.corrected((), suspects.edges, self.case.room)
            if not proven.cyclic:
                return suspects.at(~implied(proven, suspects.edges))
        return suspects

    def _sweep(self) -> None:
        """Keep what does not follow from the record, of what was not seen to be covered."""
        suspects = Uncovered.all(self._uncovered)
        self._uncovered.clear()
        self._uncovered_count = 0
        if len(suspects.sent) and not self._named.cyclic:
            suspects = suspects.at(~implied(self._named, suspects.edges))
        if len(suspects.sent):
            self._suspects.append(suspects)

    def _judge_unsent(self) -> None:
        """A message that nobody sent came after nothing; if its sending was lost, who knows."""
        if self.history.all_sent:
            return
        after = self.history.messages.after
        unsent = np.flatnonzero(~self.history.sent & (after.lengths > 0))
        for message in unsent.tolist():
            if self.history.lost[message]:
                self.doubt = (
                    f"The sending of {self.history.message_label(message)} may be missing from a log that is "
                    "not complete, so its recorded predecessors cannot be compared."
                )
            else:
                predecessors = after[message].tolist()
                self.found(
                    len(predecessors),
                    (self._worded_false(message, earlier, "it was never sent") for earlier in predecessors),
                )

    def _see_false(self, view: View, own: Indices) -> None:
        order, history = self.case.order, self.history
        for block in blocks(len(own)):
            some = own[block]
            edges, lengths = order.edges_to(some)
            parent = order.parent[edges]
            learned = view.first[parent] < np.repeat(history.sent_after[some], lengths)
            mine = history.origin[parent] == view.process
            earlier = history.number[parent] <= np.repeat(np.arange(block.start, block.stop), lengths)
            learned = np.where(mine, history.sent[parent] & earlier, learned)
            if not learned.all():
                self.false_edges.extend(edges[~learned].tolist())

    def _see_uncovered(self, view: View, own: Indices) -> None:
        span = self._span
        learned = [view.once] if view.few else list(blocks(self.history.message_count))
        span_at = _spans(self.history.sent_after[own], len(view.log))
        for some in learned:
            # Beyond its log's end is what it never learned: a span that is no message's.
            span[some] = np.take(span_at, view.first[some], mode="clip")
        left = self._not_named_first(view, own, learned)
        left = self._not_named_here(own, left)
        left = self._not_covered(view.process, left)
        if len(left):
            self._uncovered.append(Uncovered(left, own[span[left]], view.first[left]))
            self._uncovered_count += len(left)
        for some in (*learned, own):
            span[some] = _NOT_LEARNED

    @cached_property
    def _span(self) -> Int32s:
        """For each message the number of the span in which it was learned; one longer than the table."""
        return np.full(self.history.message_count + 1, _NOT_LEARNED, np.int32)

    @cached_property
    def _named_here(self) -> Bools:
        return np.zeros(self.history.message_count, np.bool_)

    def _not_named_first(self, view: View, own: Indices, learned: Sequence[Indices | slice]) -> Indices:
        """What was learned, but for what is covered by the first message that names it.

        As a predecessor, an own message belongs to the span it begins; as a successor, to the one it ends.
        The spans are left as they are for predecessors.
        """
        count, span, first_child = len(own), self._span, self._named.first_child
        span[own] = np.arange(count)
        left = [own[:-1][span[first_child[own[:-1]]] != np.arange(1, count)]]
        for some in learned:
            here = span[some]
            places = np.flatnonzero((span[first_child[some]] != here) & (here < count))
            messages = places + some.start if isinstance(some, slice) else some[places]
            # That it delivers its own message teaches it nothing, sent or not.
            left.append(messages[self.history.origin[messages] != view.process])
        span[own] = np.arange(1, count + 1)
        return np.concatenate(left)

    def _not_named_here(self, own: Indices, messages: Indices) -> Indices:
        """Messages that are not in the record of the one that ends their span."""
        if len(messages):
            for block in blocks(len(own)):
                edges, lengths = self._named.edges_to(own[block])
                parent = self._named.parent[edges]
                here = self._span[parent] == np.repeat(np.arange(block.start, block.stop), lengths)
                self._named_here[parent[here]] = True
                messages = messages[~self._named_here[messages]]
                self._named_here[parent[here]] = False
        return messages

    def _not_covered(self, process: int, messages: Indices) -> Indices:
        """Messages without an edge to something learned in their span."""
        left = [np.empty(0, np.int64)]
        for block in blocks(len(messages)):
            some = messages[block]
            left.append(some[~self._covered(process, some)])
        return np.concatenate(left)

    def _covered(self, process: int, messages: Indices) -> Bools:
        children, starts = self._named.children
        lengths = starts[messages + 1] - starts[messages]
        child = children[spread(starts[messages], lengths)]
        which = np.repeat(np.arange(len(messages)), lengths)
        own = self.history.origin[child] == process
        covered = np.zeros(len(messages), np.bool_)
        covered[which[self._span[child] - own == self._span[messages][which]]] = True
        return covered

    def _worded_false_edge(self, edge: int) -> Violation:
        message, predecessor = int(self.case.order.child[edge]), int(self.case.order.parent[edge])
        origin, name = self.history.origin_label(message), self.history.message_label(predecessor)
        same = self.history.origin[message] == self.history.origin[predecessor]
        fault = f"{origin} had not {'sent' if same else 'delivered'} {name} by then"
        return self._worded_false(message, predecessor, fault)

    def _worded_false(self, message: int, predecessor: int, fault: str) -> Violation:
        name = self.history.message_label(predecessor)
        sentence = f"{name} is recorded as coming before {self.history.message_label(message)}, but {fault}."
        return self.violation(
            int(self.history.origin[message]),
            message,
            None,
            sentence,
            kind="false",
            predecessor=name,
            predecessor_index=predecessor,
        )

    def _worded_missing(self, predecessor: int, message: int, position: int) -> Violation:
        origin, name = self.history.origin_label(message), self.history.message_label(predecessor)
        if self.history.origin[predecessor] == self.history.origin[message]:
            learned = f"{origin} had sent {name}"
        else:
            learned = f"{origin} had delivered {name}, at position {position},"
        label = self.history.message_label(message)
        return self.violation(
            int(self.history.origin[message]),
            message,
            None,
            f"{learned} before it sent {label}, but {name} is not recorded as coming before {label}.",
            kind="missing",
            predecessor=name,
            predecessor_index=predecessor,
        )


def _spans(sent_after: Int32s, deliveries: int) -> Int32s:
    """For each position of a log, how many sends came before it; past its end, one more than all sends."""
    count = len(sent_after)
    bounds = np.concatenate(([0], sent_after, [deliveries, deliveries + 1]))
    return np.repeat(np.arange(count + 2, dtype=np.int32), np.diff(bounds))
