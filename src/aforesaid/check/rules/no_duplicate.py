"""No duplicate: no process delivers a message twice.

One violation for each process and message, however often the process repeats it.
"""

from collections.abc import Iterator

import numpy as np

from aforesaid.check.blocks import Indices
from aforesaid.check.rules.base import Rule
from aforesaid.check.verdict import Violation
from aforesaid.check.view import View


class NoDuplicate(Rule):
    name = "no_duplicate"

    def see(self, view: View) -> None:
        if view.repeats:
            again = view.first[view.message] != view.position
            messages, places = np.unique(view.message[again], return_index=True)
            second = view.position[again][places]
            in_order = np.argsort(second)
            self.found(len(messages), self._worded(view, messages[in_order], second[in_order]))

    def _worded(self, view: View, messages: Indices, second: Indices) -> Iterator[Violation]:
        for message, position in zip(messages.tolist(), second.tolist(), strict=True):
            first = int(view.first[message])
            sentence = f"{self.delivery(view.process, message, first)} and again at position {position}."
            yield self.violation(view.process, message, position, sentence, first_position=first)
