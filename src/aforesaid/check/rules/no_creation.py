"""No creation: every message delivered is one that its origin sent.

A message may also be *lost*: not in its origin's log, but that log is not complete. Then it may have been
sent, and if nothing worse is found the verdict is unknown. A delivery that points outside the table of
messages is a creation like any other. One violation for each process and message.
"""

from collections.abc import Iterator

import numpy as np

from aforesaid.check.rules.base import Rule
from aforesaid.check.verdict import Violation
from aforesaid.check.view import View


class NoCreation(Rule):
    name = "no_creation"

    def see(self, view: View) -> None:
        if not view.all_known:
            message = view.log.message
            outside = np.flatnonzero((message < 0) | (message >= self.history.message_count))
            _, places = np.unique(message[outside], return_index=True)
            self._count(view, view.log.positions(np.sort(outside[places])).tolist())
        if not self.history.all_sent:
            some = view.concerned
            unsent = view.delivered[some] & ~self.history.sent[some]
            lost = self.history.lost[some]
            self._count(view, np.sort(view.first[view.those(unsent & ~lost)]).tolist())
            self._doubt(view, view.those(unsent & lost).tolist())

    def _count(self, view: View, positions: list[int]) -> None:
        self.found(len(positions), self._worded(view, positions))

    def _worded(self, view: View, positions: list[int]) -> Iterator[Violation]:
        for position in positions:
            message = view.log.message_at(position)
            sentence = f"{self.delivery(view.process, message, position)}, but {self.never_sent(message)}."
            yield self.violation(view.process, message, position, sentence)

    def _doubt(self, view: View, lost: list[int]) -> None:
        if lost and not self.doubt:
            self.doubt = (
                f"{self.delivery(view.process, lost[0], int(view.first[lost[0]]))}, which no log says was "
                "sent, but the log of a process that may have sent it is not complete."
            )
