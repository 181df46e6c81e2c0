"""Audience: a message is delivered only by the processes it is addressed to.

A message to all is addressed to everyone, joiners included. A message that nobody sent has no audience.
One violation for each process and message.
"""

from collections.abc import Iterator

import numpy as np

from aforesaid.check.rules.base import Rule
from aforesaid.check.verdict import Violation
from aforesaid.check.view import View


class Audience(Rule):
    name = "audience"

    def see(self, view: View) -> None:
        if not self.history.all_to_all:
            some = view.concerned
            strange = view.delivered[some] & self.history.sent[some] & ~view.addressed[some]
            if strange.any():
                positions = np.sort(view.first[view.those(strange)]).tolist()
                self.found(len(positions), self._worded(view, positions))

    def _worded(self, view: View, positions: list[int]) -> Iterator[Violation]:
        for position in positions:
            message = view.log.message_at(position)
            sentence = (
                f"{self.delivery(view.process, message, position)}, but {self.history.origin_label(message)} "
                f"had not addressed it to {self.history.process_label(view.process)}."
            )
            yield self.violation(view.process, message, position, sentence)
