"""Recorded: the predecessors that the recorder wrote down agree with the origins' own logs.

Causal order is judged by recorded predecessors, so a recorder that errs or lies could hide a violation. This
rule derives them again from the logs and corrects what is wrong; all other rules use the corrected order.

For an origin o, let *learned* be what o sent and what it delivered from others, in o's own order (first
deliveries; that o delivers its own message teaches it nothing). Let S(k) be what o learned from its previous
send, inclusive, up to its message k, and R(k) the recorded predecessors of k. An edge x in R(k) is *truthful*
if o had learned x before it sent k. Two things are asked of R:

(a) every x in R(k) is truthful: else it is a *false* predecessor, and the edge is dropped;
(b) every x in S(k) is in R(k), or *covered* by another y in S(k): truthfully in R(y), or missing from R(y) by
    this same rule. Else it is a *missing* predecessor, and the edge is added.

That R(k) names more than it need is no lie; nor is it R(k)'s fault if R(y) should have named x and did not.
Then what is left, R', generates exactly happens-before, if that has no cycle:

- It generates nothing else: an edge of R' says that o had learned x when it sent k, which is happens-before.
- It generates all of it. Let o have learned x before it sent k. If x is not in S(k), x is in S(j) for an
  earlier message j of o, and j is in S of the next message of o, and so on up to k: so it is enough to look
  at x in S(k). If x is in R'(k), done. Else some y in S(k) covers x, so x -> y -> k, with fewer messages
  between x and y, and between y and k, than between x and k; by induction R' generates both.

Whether there is a cycle is seen from R'': as R', but by (b) without its second way to be covered. Its edges
are happens-before too. Let it have no cycle: if x in S(k) is not in R''(k), x is in R(y) for a y in S(k), and
the same holds for y; the chain x, y, ... stays in the finite S(k) and never comes back, so it ends in R''(k).
So R'' generates happens-before, which then has no cycle either. If R'' has one, it stands, and so do all that
seem missing: in a circle everyone could point to the next.

Where a process repeats a delivery, which no_duplicate forbids, the repeated message also counts as a y of the
span in which it was repeated: the tracer takes x out of its frontier then too. The proof stands: that y is in
an earlier S(j), and j is before k.

Per process that is: the span of each message it learned, by one gather; a test whether the first message that
names x as predecessor was learned in the same span, which settles nearly all; and a look at the others that
name x for the few that are left. An honest record is seen to be one in a single pass. After a lie, (b) is
asked again without the false edges, for R'', and then again with what seems missing as cover, for R'.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from aforesaid.check.blocks import Indices, blocks
from aforesaid.check.order import Edges, Order, spread
from aforesaid.check.rules.base import Case, Findings, Rule
from aforesaid.check.verdict import Violation
from aforesaid.check.view import View
from aforesaid.trace.model import Bools, Int32s


class Recorded(Rule):
    name = "recorded"

    def __init__(self, case: Case, false_edges: Sequence[int] = (), suspects: Edges | None = None) -> None:
        """`false_edges` and `suspects`, the edges that seem to be missing, are what earlier passes found."""
        super().__init__(case)
        self.false_edges = list(false_edges)
        self._false_known = bool(false_edges) or suspects is not None
        self._named = case.order.corrected(false_edges, None, case.room)
        self._suspects = None
        if suspects is not None:
            self._suspects = Order(self.history.message_count, *suspects, room=case.room)
        self._missing: list[tuple[int, int]] = []

    def see(self, view: View) -> None:
        own = self.history.own(view.process)
        if len(own):
            if not self._false_known:
                self._see_false(view, own)
            self._see_missing(view, own)

    def findings(self) -> Findings:
        return super().findings(), [] if self._false_known else self.false_edges, self._missing

    def absorb(self, findings: Findings) -> None:
        found, false_edges, missing = findings
        super().absorb(found)
        self.false_edges.extend(false_edges)
        self._missing.extend(missing)

    def see_tables(self) -> None:
        """What the table of messages and earlier readings say by themselves: once, not in every slice."""
        if self._false_known:
            self.found(len(self.false_edges), map(self._worded_false_edge, self.false_edges))
        self._see_unsent()

    def missing(self) -> Edges | None:
        """The edges that are missing; None if there are none."""
        return Edges.of(self._missing) if self._missing else None

    def corrected(self) -> Order:
        """The order without what is false and with what is missing; the same object if it was true."""
        return self._named.corrected((), self.missing(), self.case.room)

    def _see_unsent(self) -> None:
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
                false = edges[~learned].tolist()
                self.false_edges.extend(false)
                self.found(len(false), map(self._worded_false_edge, false))

    def _see_missing(self, view: View, own: Indices) -> None:
        count, history = len(own), self.history
        span_at = _spans(history.sent_after[own], len(view.log))
        # Beyond its log's end is what it never learned: a span that is no message's.
        span = np.empty(len(view.first), np.int32)
        for block in blocks(len(span)):
            np.take(span_at, view.first[block], out=span[block], mode="clip")
        span[-1] = -1
        if not history.all_sent:
            span[:-1][(history.origin == view.process) & ~history.sent] = count + 1
        left = self._not_named_first(own, span)
        left = self._not_covered(self._named, view.process, left, span)
        if self._suspects is not None:
            left = self._not_covered(self._suspects, view.process, left, span)
        if len(left) and view.repeats:
            left = self._not_covered_by_repeats(view, left, span, span_at)
        if len(left):
            later = own[span[left]].tolist()
            self._missing.extend(zip(left.tolist(), later, strict=True))
            self.found(len(left), self._worded_missing(view, later, left.tolist()))

    def _not_named_first(self, own: Indices, span: Int32s) -> Indices:
        """What was learned, but for what is covered by the first message that names it.

        As a predecessor, an own message belongs to the span it begins; as a successor, to the one it ends.
        `span` is left as it is for predecessors.
        """
        first_child = self._named.first_child
        span[own] = np.arange(len(own))
        left = [np.empty(0, np.int64)]
        for block in blocks(len(first_child)):
            here = span[block].copy()
            here[own[slice(*np.searchsorted(own, (block.start, block.stop)))] - block.start] += 1
            left.append(np.flatnonzero((span[first_child[block]] != here) & (here < len(own))) + block.start)
        span[own] = np.arange(1, len(own) + 1)
        return np.concatenate(left)

    def _not_covered(self, order: Order, process: int, messages: Indices, span: Int32s) -> Indices:
        """Messages without an edge to something learned in their span, or to the message that ends it."""
        left = [np.empty(0, np.int64)]
        for block in blocks(len(messages)):
            some = messages[block]
            left.append(some[~self._covered(order, process, some, span)])
        return np.concatenate(left)

    def _covered(self, order: Order, process: int, messages: Indices, span: Int32s) -> Bools:
        children, starts = order.children
        lengths = starts[messages + 1] - starts[messages]
        child = children[spread(starts[messages], lengths)]
        which = np.repeat(np.arange(len(messages)), lengths)
        own = self.history.origin[child] == process
        same = span[child] - own == span[messages][which]
        if order is self._suspects:
            # That it seems to be missing here is no excuse for its being missing here.
            same &= ~own
        covered = np.zeros(len(messages), np.bool_)
        covered[which[same]] = True
        return covered

    def _not_covered_by_repeats(
        self, view: View, messages: Indices, span: Int32s, span_at: Int32s
    ) -> Indices:
        covered: set[int] = set()
        again = np.flatnonzero(view.first[view.message] != view.position)
        for place in again.tolist():
            message = int(view.message[place])
            if self.history.origin[message] != view.process:
                here = span_at[view.position[place]]
                named = self._named.before(message)
                if self._suspects is not None:
                    named = np.concatenate((named, self._suspects.before(message)))
                covered.update(named[span[named] == here].tolist())
        return np.array([message for message in messages.tolist() if message not in covered], np.int64)

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

    def _worded_missing(
        self, view: View, messages: list[int], predecessors: list[int]
    ) -> Iterator[Violation]:
        for message, predecessor in zip(messages, predecessors, strict=True):
            origin, name = self.history.origin_label(message), self.history.message_label(predecessor)
            if self.history.origin[predecessor] == view.process:
                learned = f"{origin} had sent {name}"
            else:
                learned = f"{origin} had delivered {name}, at position {view.first[predecessor]},"
            label = self.history.message_label(message)
            sentence = (
                f"{learned} before it sent {label}, but {name} is not recorded as coming before {label}."
            )
            yield self.violation(
                view.process,
                message,
                None,
                sentence,
                kind="missing",
                predecessor=name,
                predecessor_index=predecessor,
            )


def _spans(sent_after: Int32s, deliveries: int) -> Int32s:
    """For each position of a log, how many sends came before it; past its end, one more than all sends."""
    count = len(sent_after)
    bounds = np.concatenate(([0], sent_after, [deliveries, deliveries + 1]))
    return np.repeat(np.arange(count + 2, dtype=np.int32), np.diff(bounds))
