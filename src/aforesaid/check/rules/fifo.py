"""FIFO: the messages of one origin are delivered in the order in which it sent them.

If p delivers a message, then p has delivered before it every earlier message of the same incarnation of its
origin that p was owed (addressed to p, and not exempt as part of a joiner's base). By transitivity it is
enough to compare each message with the last one before it that p was owed. So a delivery is a violation if it
came before *that* one: one message never delivered is one violation, not one for each that follows it.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from aforesaid.check.blocks import Indices, blocks
from aforesaid.check.rules.base import OrderRule
from aforesaid.check.verdict import Violation
from aforesaid.check.view import View
from aforesaid.trace.model import Bools, Int32s


class Fifo(OrderRule):
    name = "fifo"

    def judge(self, view: View) -> None:
        owed = view.owed
        pairs = list(self._early(view) if owed is None else self._early_of_owed(view, owed))
        if pairs:
            messages, predecessors = (np.concatenate(column) for column in zip(*pairs, strict=True))
            self._count(view, messages, predecessors)

    def _early(self, view: View) -> Iterator[tuple[Indices, Indices]]:
        """Messages delivered before the one that their origin sent before them; and those."""
        line, starts = self.history.line, self.history.line_starts
        for block in blocks(len(line), start=1):
            part = line[block.start - 1 : block.stop]
            first = np.take(view.first, part, out=self._scratch[: len(part)], mode="clip")
            early = first[1:] < first[:-1]
            begins = starts[slice(*np.searchsorted(starts, (block.start, block.stop)))]
            early[begins - block.start] = False
            if early.any():
                later = np.flatnonzero(early) + 1
                yield part[later], part[later - 1]

    @cached_property
    def _scratch(self) -> Int32s:
        """Kept from one log to the next: fresh memory costs more than what is done in it."""
        return np.empty(next(blocks(len(self.history.line))).stop + 1, np.int32)

    def _early_of_owed(self, view: View, owed: Bools) -> Iterator[tuple[Indices, Indices]]:
        """The same where some messages are not owed: what matters is the last one before that is."""
        origin = self.history.origin
        last = np.empty(0, np.int64)
        for part in self._line(view):
            part = np.concatenate((last, part[view.delivered[part] | owed[part]]))
            first = view.first[part]
            last_owed = np.maximum.accumulate(np.where(owed[part], np.arange(len(part)), -1))
            before = last_owed[:-1]
            same_origin = origin[part[before]] == origin[part[1:]]
            later = np.flatnonzero((before >= 0) & same_origin & (first[before] > first[1:]))
            yield part[later + 1], part[before[later]]
            last = part[last_owed[-1:]] if len(part) and last_owed[-1] >= 0 else last

    def _line(self, view: View) -> Iterator[Indices]:
        """The line of all messages sent, without those that do not concern the process if that is most."""
        if isinstance(view.concerned, slice):
            yield from (self.history.line[block] for block in blocks(len(self.history.line)))
        else:
            sent = view.concerned[self.history.sent[view.concerned]]
            yield sent[np.argsort(self.history.origin[sent], kind="stable")]

    def _count(self, view: View, messages: Indices, predecessors: Indices) -> None:
        if len(messages):
            in_order = np.argsort(view.first[messages])
            self.found(len(messages), self._worded(view, messages[in_order], predecessors[in_order]))

    def _worded(self, view: View, messages: Indices, predecessors: Indices) -> Iterator[Violation]:
        for message, predecessor in zip(messages.tolist(), predecessors.tolist(), strict=True):
            relation = f"which {self.history.origin_label(message)} had sent before it"
            yield self.overtaking(view.process, view.placed(message), view.placed(predecessor), relation)
