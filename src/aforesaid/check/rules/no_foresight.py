"""No foresight: no message is delivered before it was sent.

Three kinds, each counted by itself:

- `own`: a process delivers its own message at a position that lies before its sending. One for each message.
- `clock`: where the clock is global, a process delivers a message at an earlier time than it was sent. One
  for each process and message, by the first delivery.
- `cycle`: without a clock, logs can still contradict each other: x before y, because y's origin had delivered
  (or sent) x when it sent y, and by the same reasoning y before x. Then something was delivered before it was
  sent, and there is no order to judge anything else by. One for each strongly connected set of messages, told
  by a shortest cycle through its first message.

No trace that a tracer recorded in one place can hold a cycle; traces put together from many logs can.
"""

from collections.abc import Iterator

import numpy as np

from aforesaid.check.blocks import blocks
from aforesaid.check.cycles import entangled, shortest_cycle
from aforesaid.check.rules.base import Rule
from aforesaid.check.verdict import Verdict, Violation
from aforesaid.check.view import View


class NoForesight(Rule):
    name = "no_foresight"

    def see(self, view: View) -> None:
        own = self.history.own(view.process)
        if len(own):
            early = own[view.first[own] < self.history.sent_after[own]]
            self.found(len(early), self._worded_own(view, early.tolist()))
        if self.history.run.clock == "global":
            self._see_times(view)

    def verdict(self) -> Verdict:
        if self.case.order.cyclic:
            knots = entangled(self.case.order)
            self.found(len(knots), self._worded_cycles(knots))
        return super().verdict()

    def _see_times(self, view: View) -> None:
        time_ns = view.log.time_ns if view.all_known else view.log.time_ns[view.log.rows(view.position)]
        for block in blocks(len(view.message)):
            message = view.message[block]
            early = time_ns[block] < self.history.messages.time_ns[message]
            if early.any():
                position = view.positions(block)
                early &= self.history.sent[message] & (view.first[message] == position)
                positions = position[early].tolist()
                self.found(len(positions), self._worded_times(view, positions))

    def _worded_own(self, view: View, messages: list[int]) -> Iterator[Violation]:
        process = self.history.process_label(view.process)
        for message in messages:
            position, sent_after = int(view.first[message]), int(self.history.sent_after[message])
            sentence = (
                f"{process} delivered its own {self.history.message_label(message)} at position {position}, "
                f"but sent it only after position {sent_after - 1}."
            )
            yield self.violation(view.process, message, position, sentence, kind="own", sent_after=sent_after)

    def _worded_times(self, view: View, positions: list[int]) -> Iterator[Violation]:
        for position in positions:
            message = view.log.message_at(position)
            delivered, sent = (
                int(view.log.time_ns[view.log.rows(np.array([position]))[0]]),
                int(self.history.messages.time_ns[message]),
            )
            sentence = (
                f"{self.delivery(view.process, message, position)}, at {delivered} ns, but "
                f"{self.history.origin_label(message)} sent it only at {sent} ns."
            )
            yield self.violation(
                view.process,
                message,
                position,
                sentence,
                kind="clock",
                delivered_ns=delivered,
                sent_ns=sent,
            )

    def _worded_cycles(self, knots: list[list[int]]) -> Iterator[Violation]:
        for knot in knots:
            cycle = shortest_cycle(self.case.order, knot)
            steps = [
                self._step(earlier, later)
                for earlier, later in zip(cycle, cycle[1:] + cycle[:1], strict=True)
            ]
            told = ", ".join(steps[:-1]) + ", and " + steps[-1]
            sentence = f"{self.history.message_label(cycle[0])} comes before itself: {told}."
            labels = [self.history.message_label(message) for message in cycle]
            yield self.violation(
                int(self.history.origin[cycle[0]]), cycle[0], None, sentence, kind="cycle", cycle=labels
            )

    def _step(self, earlier: int, later: int) -> str:
        if self.history.declared:
            return (
                f"{self.history.message_label(later)} says it follows {self.history.message_label(earlier)}"
            )
        same = self.history.origin[earlier] == self.history.origin[later]
        return (
            f"{self.history.origin_label(later)} {'sent' if same else 'delivered'} "
            f"{self.history.message_label(earlier)} before it sent {self.history.message_label(later)}"
        )
