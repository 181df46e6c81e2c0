"""Validity, agreement and uniform agreement: what must be delivered is delivered.

Each has a premise about a message, and if it holds, every correct process the message is addressed to must
deliver it, but for joiners in whose base it lies:

- validity: a correct process sent it;
- agreement: some correct process delivered it;
- uniform agreement: some process delivered it, correct or not.

A missing delivery is a violation only if nothing about it is in doubt: the run was drained, the process that
lacks it is correct and its log complete, the message was sent, and the premise holds for certain. Otherwise
the verdict is unknown. Where nothing is missing the property is kept, in a cut run too: with what was seen.

`Tally` sees each log once and keeps numbers per message, never per process and message; which process lacks
what is looked up in a second pass, and only if there is something to show.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from aforesaid.check.blocks import Indices
from aforesaid.check.history import History
from aforesaid.check.rules.base import Case, Findings, Question, Rule, Watcher
from aforesaid.check.verdict import Detail, Verdict, Violation
from aforesaid.check.view import View
from aforesaid.trace.model import Bools, Int32s

_FATES = {
    "alive": "which is correct",
    "left": "which left",
    "crashed": "which crashed",
    "evicted": "which was evicted",
    "unknown": "whose fate is unknown",
}


class Tally(Watcher):
    """Who delivered each message, by kind of process, and how many lack it."""

    name = "tally"

    def __init__(self, history: History) -> None:
        self.history = history
        self.can_be_owed: Bools = history.sent if history.all_sent else history.sent | history.lost
        self.lacking = np.zeros(history.message_count, np.int32)
        """To how many processes it was certainly owed that did not deliver it."""
        self.lacking_perhaps = np.zeros(history.message_count, np.int32)
        self.by_correct = np.zeros(history.message_count, np.bool_)
        self.by_unknown = np.zeros(history.message_count, np.bool_)
        self.by_others = np.zeros(history.message_count, np.bool_)

    def see(self, view: View) -> None:
        history, process = self.history, view.process
        some = view.concerned
        if history.correct[process]:
            self.by_correct[some] |= view.delivered[some]
        elif history.processes.fate[process] == "unknown":
            self.by_unknown[some] |= view.delivered[some]
        else:
            self.by_others[some] |= view.delivered[some]
        if view.distinct < history.message_count:
            if history.is_owed_for_certain(process):
                self.lacking[some] += self.missing(view)
            elif history.is_owed_perhaps(process):
                self.lacking_perhaps[some] += self.missing(view)

    def findings(self) -> Findings:
        return (
            [_small(counts) for counts in (self.lacking, self.lacking_perhaps)],
            [np.packbits(flags) for flags in (self.by_correct, self.by_unknown, self.by_others)],
        )

    def absorb(self, findings: Findings) -> None:
        counts, flags = findings
        for mine, (messages, more) in zip((self.lacking, self.lacking_perhaps), counts, strict=True):
            mine[messages] += more
        for ours, packed in zip((self.by_correct, self.by_unknown, self.by_others), flags, strict=True):
            ours |= np.unpackbits(packed, count=len(ours)).view(np.bool_)

    def missing(self, view: View) -> Bools:
        """Which of the messages concerned the process was owed and did not deliver."""
        some = view.concerned
        missing = self.can_be_owed[some] & ~view.delivered[some]
        return missing if view.owed is None else missing & view.owed[some]


class Premise(NamedTuple):
    """For which messages a premise holds: for certain, or for all that is known."""

    certain: Bools
    possible: Bools


class Liveness(Rule):
    """What the three rules have in common."""

    def __init__(self, case: Case, tally: Tally) -> None:
        super().__init__(case)
        self.tally = tally
        self._missing: list[tuple[int, int]] = []
        self._example: dict[int, tuple[int, int]] = {}
        """For each broken message, a process that fulfils the premise by delivering it, and where it did."""

    @abstractmethod
    def premise(self) -> Premise:
        """For which messages the property has something to say."""

    @abstractmethod
    def worded(self, process: int, message: int) -> str:
        """What is wrong, for a process that lacks a message."""

    @abstractmethod
    def exemplifies(self, process: int) -> bool:
        """Whether a delivery by this process fulfils the premise."""

    def details(self, message: int) -> dict[str, Detail]:
        """What else there is to say about a message that somebody lacks."""
        return {}

    def see(self, view: View) -> None:
        """The tally sees for all three."""

    def question(self) -> Question | None:
        """After the first reading: count. Who lacks what is looked up in a second one."""
        tally, premise = self.tally, self.premise()
        drained = self.history.run.ended == "drained"
        broken: Bools = premise.certain & self.history.sent & (tally.lacking > 0) & drained
        self.violations = int(tally.lacking[broken].sum())
        outstanding = int((tally.lacking + tally.lacking_perhaps)[premise.possible].sum())
        if outstanding and not self.violations:
            number = "1 delivery is" if outstanding == 1 else f"{outstanding} deliveries are"
            self.doubt = f"{number} missing, but {self.why_open(drained)}."
        return np.flatnonzero(broken) if self.violations and self.case.witnesses_max != 0 else None

    def asked(self, question: Question) -> None:
        self._broken = np.zeros(self.history.message_count, np.bool_)
        self._broken[question] = True
        self._without_example = self._broken.copy()

    def see_again(self, view: View) -> None:
        """Who lacks what."""
        if self.history.is_owed_for_certain(view.process):
            most = self.case.witnesses_max
            lacking = view.those(self._broken[view.concerned] & self.tally.missing(view))
            room = len(lacking) if most is None else most - len(self._missing)
            self._missing.extend((view.process, message) for message in lacking[:room].tolist())
        if self.exemplifies(view.process):
            some = view.concerned
            new = view.those(self._without_example[some] & view.delivered[some])
            self._without_example[new] = False
            for message in new.tolist():
                self._example[message] = view.process, int(view.first[message])

    def findings(self) -> Findings:
        return self._missing, self._example

    def absorb(self, findings: Findings) -> None:
        missing, example = findings
        self._missing = (self._missing + missing)[: self.case.witnesses_max]
        self._example = example | self._example

    def verdict(self) -> Verdict:
        self.witnesses = list(self._worded_all())
        return super().verdict()

    def _worded_all(self) -> Iterator[Violation]:
        for process, message in self._missing:
            details = self.details(message)
            yield self.violation(process, message, None, self.worded(process, message), **details)


class Validity(Liveness):
    name = "validity"

    def premise(self) -> Premise:
        fates = self.history.processes.fate
        correct = np.array([*self.history.correct, False])
        possible = np.array([fate in ("alive", "unknown") for fate in fates] + [True])
        return Premise(correct[self.history.origin], possible[self.history.origin])

    def exemplifies(self, process: int) -> bool:
        return False

    def worded(self, process: int, message: int) -> str:
        origin, name = self.history.origin_label(message), self.history.message_label(message)
        if process == self.history.origin[message]:
            return f"{origin}, which is correct, sent {name}, but never delivered it itself."
        return (
            f"{origin}, which is correct, sent {name}, but {self.history.process_label(process)}, "
            "which is correct too, never delivered it."
        )


class Agreement(Liveness):
    name = "agreement"

    def premise(self) -> Premise:
        return Premise(self.tally.by_correct, self.tally.by_correct | self.tally.by_unknown)

    def exemplifies(self, process: int) -> bool:
        return self.history.correct[process]

    def details(self, message: int) -> dict[str, Detail]:
        deliverer, position = self._example[message]
        return {"deliverer": self.history.process_label(deliverer), "deliverer_position": position}

    def worded(self, process: int, message: int) -> str:
        deliverer, position = self._example[message]
        fate = self.history.processes.fate[deliverer]
        too = " too" if fate == "alive" else ""
        return (
            f"{self.history.process_label(deliverer)}, {_FATES[fate]}, "
            f"delivered {self.history.message_label(message)} at position {position}, but "
            f"{self.history.process_label(process)}, which is correct{too}, never did."
        )


class UniformAgreement(Agreement):
    name = "uniform_agreement"

    def premise(self) -> Premise:
        anyone = self.tally.by_correct | self.tally.by_unknown | self.tally.by_others
        return Premise(anyone, anyone)

    def exemplifies(self, process: int) -> bool:
        return True


def _small(counts: Int32s) -> tuple[Indices | slice, Int32s]:
    """Which messages have a count, and those counts: few, or all in as few bytes as they take."""
    some = np.count_nonzero(counts)
    if some * 8 < len(counts):
        messages = np.flatnonzero(counts)
        return messages, counts[messages]
    return slice(None), counts.astype(np.min_scalar_type(counts.max(initial=0)))
