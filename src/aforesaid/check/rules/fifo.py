"""FIFO: the messages of one origin are delivered in the order in which it sent them.

If p delivers a message, then p has delivered before it every earlier message of the same incarnation of its
origin that p was owed (addressed to p, and not exempt as part of a joiner's base). By transitivity it is
enough to compare each message with the last one before it that p was owed. So a delivery is a violation if it
came before *that* one: one message never delivered is one violation, not one for each that follows it.
"""

from collections.abc import Iterator

import numpy as np

from aforesaid.check.history import Indices
from aforesaid.check.rules.base import Case, OrderRule
from aforesaid.check.verdict import Violation
from aforesaid.check.view import View
from aforesaid.trace.model import Bools


class Fifo(OrderRule):
    name = "fifo"

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        line, origin = self.history.line, self.history.origin
        self._follows = origin[line[1:]] == origin[line[:-1]]
        self._first = np.empty(len(line), np.int32)

    def judge(self, view: View) -> None:
        line = self.history.line
        if not len(line):
            return
        if view.owed is not None:
            self._judge_owed(view, view.owed)
            return
        first = np.take(view.first, line, out=self._first, mode="clip")
        early = first[1:] < first[:-1]
        early &= self._follows
        if early.any():
            later = np.flatnonzero(early) + 1
            self._count(view, line[later], line[later - 1])

    def _judge_owed(self, view: View, owed: Bools) -> None:
        """The same where some messages are not owed: what matters is the last one before that is."""
        line = self.history.line[(view.delivered | owed)[self.history.line]]
        first = view.first[line]
        last_owed = np.maximum.accumulate(np.where(owed[line], np.arange(len(line)), -1))[:-1]
        same_origin = self.history.origin[line[last_owed]] == self.history.origin[line[1:]]
        early = (last_owed >= 0) & same_origin & (first[last_owed] > first[1:])
        later = np.flatnonzero(early)
        self._count(view, line[later + 1], line[last_owed[later]])

    def _count(self, view: View, messages: Indices, predecessors: Indices) -> None:
        if len(messages):
            in_order = np.argsort(view.first[messages])
            self.found(len(messages), self._worded(view, messages[in_order], predecessors[in_order]))

    def _worded(self, view: View, messages: Indices, predecessors: Indices) -> Iterator[Violation]:
        for message, predecessor in zip(messages.tolist(), predecessors.tolist(), strict=True):
            relation = f"which {self.history.origin_label(message)} had sent before it"
            yield self.overtaking(view.process, view.placed(message), view.placed(predecessor), relation)
