"""What every rule is: it sees each process's log once, and then gives its verdict.

A rule counts every violation and words only as many as were asked for.

The logs may be seen in slices, by copies of the rule in other places: each copy sees some of the processes
and hands over its `findings`, and the rule that gives the verdict absorbs them, slice by slice in the order
of processes. A rule that has to know what all logs say before it can tell who is at fault asks a `question`
after the first reading, and its copies see the logs again with that question in mind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, TypeAlias

from aforesaid.check.blocks import Room, in_memory
from aforesaid.check.history import History
from aforesaid.check.order import Order
from aforesaid.check.verdict import Detail, Verdict, Violation
from aforesaid.check.view import NEVER, View

Findings: TypeAlias = Any
"""What a watcher found in a slice: small, and fit to travel. Only a watcher of the same class reads it."""
Question: TypeAlias = Any
"""What a rule wants to know of a second reading: small, and fit to travel."""


SAMPLED = "No violation was seen, but events are missing from the trace, and with them one may be."


@dataclass(frozen=True)
class Case:
    """What is judged: the tables, and the order that the logs prove."""

    history: History
    order: Order
    witnesses_max: int | None
    room: Room = in_memory
    """Where what is as long as the table of messages, and stays, is put."""


class Watcher(ABC):
    """Whoever sees the logs."""

    name: ClassVar[str]

    @abstractmethod
    def see(self, view: View) -> None:
        """Look at one process's log."""

    @abstractmethod
    def findings(self) -> Findings:
        """What was found in the logs seen."""

    @abstractmethod
    def absorb(self, findings: Findings) -> None:
        """Take over what another of the same kind found in the next slice."""


class Rule(Watcher):
    """The checker of one property."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.history = case.history
        self.violations = 0
        self.witnesses: list[Violation] = []
        self.doubt = ""
        """Why the property cannot be said to be kept, although no violation was seen."""

    def findings(self) -> Findings:
        return self.violations, self.witnesses, self.doubt

    def absorb(self, findings: Findings) -> None:
        violations, witnesses, doubt = findings
        self.found(violations, witnesses)
        self.doubt = self.doubt or doubt

    def question(self) -> Question | None:
        """What is to be looked up in a second reading; None: nothing."""
        return None

    def asked(self, question: Question) -> None:
        """Get ready to see the logs again, for this question."""
        raise NotImplementedError(f"{self.name} asks no questions")

    def see_again(self, view: View) -> None:
        """Look at one process's log again."""
        raise NotImplementedError(f"{self.name} asks no questions")

    def verdict(self) -> Verdict:
        """The judgement, once every log was seen."""
        if self.violations:
            return Verdict(self.name, "violated", self.violations, tuple(self.witnesses))
        if self.doubt:
            return Verdict(self.name, "unknown", note=self.doubt)
        if self.history.sampled:
            return Verdict(self.name, "unknown", note=SAMPLED)
        return Verdict(self.name, "kept")

    def found(self, count: int, worded: Iterable[Violation]) -> None:
        """Count violations; `worded` is drawn from only as far as witnesses are wanted."""
        self.violations += count
        most = self.case.witnesses_max
        room = None if most is None else max(0, most - len(self.witnesses))
        self.witnesses.extend(islice(worded, room))

    def delivery(self, process: int, message: int, position: int) -> str:
        """How most sentences begin."""
        return (
            f"{self.history.process_label(process)} delivered {self.history.message_label(message)} "
            f"at position {position}"
        )

    def never_sent(self, message: int) -> str:
        """What is wrong with a message that nobody sent."""
        if not 0 <= message < self.history.message_count:
            return "the trace has no such message"
        if self.history.origin[message] < 0:
            return "no process of the trace sent it"
        return f"{self.history.origin_label(message)} never sent it"

    def why_open(self, drained: bool) -> str:
        """Why what is missing may be no violation."""
        if not drained:
            how = "was cut" if self.history.run.ended == "cut" else "failed"
            return f"the run {how} before it was drained"
        return "the fate or the whole log of a process concerned is not known"

    def violation(
        self, process: int, message: int, position: int | None, sentence: str, **details: Detail
    ) -> Violation:
        return Violation(
            property=self.name,
            process=self.history.process_label(process),
            message=self.history.message_label(message),
            position=position,
            sentence=sentence,
            process_index=process,
            message_index=message,
            details=details,
        )


class OrderRule(Rule):
    """A rule about the order of deliveries: it cannot vouch for messages whose sending was lost."""

    def see(self, view: View) -> None:
        if not self.doubt and not self.history.all_sent:
            lost = view.message[self.history.lost[view.message]]
            if len(lost):
                delivery = self.delivery(view.process, int(lost[0]), int(view.first[lost[0]]))
                self.doubt = (
                    f"{delivery}, whose sending may be missing from a log that is not complete, so what came "
                    "before it is not known."
                )
        self.judge(view)

    @abstractmethod
    def judge(self, view: View) -> None:
        """Judge one process's log."""

    def overtaking(
        self,
        process: int,
        message: tuple[int, int],
        predecessor: tuple[int, int],
        relation: str,
        **details: Detail,
    ) -> Violation:
        """A delivery that came before that of a predecessor, each with its first position.

        `relation` says why it is a predecessor.
        """
        name = self.history.message_label(predecessor[0])
        due = None if predecessor[1] == NEVER else predecessor[1]
        if due is not None:
            fault = f"but {name}, {relation}, only at position {due}"
        elif self.history.processes.complete[process]:
            fault = f"but never delivered {name}, {relation}"
        else:
            fault = f"but had not delivered {name}, {relation}"
        return self.violation(
            process,
            message[0],
            message[1],
            f"{self.delivery(process, *message)}, {fault}.",
            predecessor=name,
            predecessor_index=predecessor[0],
            predecessor_position=due,
            **details,
        )
