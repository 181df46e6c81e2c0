"""One reading of the logs: what is looked for, and whoever looks.

A judgement is a few readings. Each can be made in slices, some processes here and some there: a `Reading`
says what to look for and is small enough to travel, `Reader.read` looks for it in one slice and gives the
findings, and the judge absorbs those of all slices, in the order of processes. One slice with every process
is the simplest case of it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from aforesaid.check.blocks import Room, in_memory
from aforesaid.check.history import History, MalformedTrace
from aforesaid.check.order import Edges, Exemption, Order
from aforesaid.check.rules import (
    Agreement,
    Audience,
    Case,
    Causal,
    CausalUnlessLost,
    Fifo,
    Findings,
    Liveness,
    NoCreation,
    NoDuplicate,
    NoForesight,
    Question,
    Recorded,
    Rule,
    Stability,
    Tally,
    UniformAgreement,
    Validity,
    Watcher,
)
from aforesaid.check.view import View, Views
from aforesaid.trace import Log, Trace

Logs = Iterable[tuple[int, Log]]
Step = Callable[[], None]
"""Called after each log."""
SliceFindings: TypeAlias = dict[str, Findings]
"""What each of those who watched found in a slice, by name."""

_ONE_LOG: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (NoDuplicate, NoCreation, NoForesight, Audience, Fifo, Causal, CausalUnlessLost)
}
_ALL_LOGS: dict[str, type[Liveness] | type[Stability]] = {
    rule.name: rule for rule in (Validity, Agreement, UniformAgreement, Stability)
}


class _Sees(Protocol):
    def __call__(self, view: View, /) -> None: ...


@dataclass(frozen=True)
class Reading:
    """What to look for, knowing what earlier readings found."""

    judged: tuple[str, ...]
    """The properties whose rules watch."""
    witnesses_max: int | None
    recorder: bool = False
    """Whether the recorded predecessors are compared with the logs."""
    false_edges: tuple[int, ...] = ()
    """Recorded edges that the logs disprove."""
    missing: Edges | None = None
    """Edges that are missing from the record."""
    questions: dict[str, Question] = field(default_factory=dict)
    """What rules ask of a second reading, by property; then nobody else watches."""


class Watch:
    """Everyone who watches in a reading, by name, ready to see logs or to absorb what others saw."""

    def __init__(self, case: Case, reading: Reading) -> None:
        self.case = case
        tally = Tally(case.history)
        judged = reading.judged
        one_log = [rule(case) for name, rule in _ONE_LOG.items() if name in judged]
        all_logs = [rule(case, tally) for name, rule in _ALL_LOGS.items() if name in judged]
        self.rules: list[Rule] = [*one_log, *all_logs]
        self.watchers: dict[str, Watcher] = {rule.name: rule for rule in self.rules}
        if all_logs:
            self.watchers[tally.name] = tally
        if reading.recorder:
            self.recorded = Recorded(case, reading.false_edges)
            self.watchers[self.recorded.name] = self.recorded

    def absorb(self, slices: Iterable[SliceFindings]) -> None:
        """Take over what was found elsewhere, slice by slice in the order of processes."""
        for found in slices:
            for name, findings in found.items():
                self.watchers[name].absorb(findings)


class Reader:
    """Reads slices of one trace's logs."""

    def __init__(self, trace: Trace, room: Room = in_memory) -> None:
        """`room` is where all that is as long as the table of messages, and stays, is put."""
        self.history = History(trace, room)
        self.recorded = Order.recorded(self.history, room)
        self.room = room

    def prepare(self) -> None:
        """Make what every slice needs, for whoever makes readers of this one elsewhere."""
        _ = self.recorded.first_child
        if self.history.all_to_all and not self.recorded.cyclic:
            _ = self.recorded.last_before
        if len(self.history.stabilities):
            _ = self.history.called

    def case(self, reading: Reading) -> Case:
        """The order to judge by: the recorded one while its recorder is on trial, else the corrected one."""
        order = self.recorded
        if not reading.recorder:
            order = order.corrected(reading.false_edges, reading.missing, self.room)
        return Case(self.history, order, reading.witnesses_max, self.room)

    def read(self, reading: Reading, logs: Logs, processes: range, step: Step) -> SliceFindings:
        """What is found in the logs of a slice of the processes."""
        watch = Watch(self.case(reading), reading)
        watchers = watch.watchers
        sees: list[_Sees] = [watcher.see for watcher in watchers.values()]
        if reading.questions:
            asked = [rule for rule in watch.rules if rule.name in reading.questions]
            for rule in asked:
                rule.asked(reading.questions[rule.name])
            watchers = {rule.name: rule for rule in asked}
            sees = [rule.see_again for rule in asked]
        views = Views(self.history, Exemption(self.history, watch.case.order))
        for process, log in self._every_log(logs, processes):
            self.history.refuse_short_log(process, log.deliveries)
            view = views.of(process, log)
            for see in sees:
                see(view)
            step()
        return {name: watcher.findings() for name, watcher in watchers.items()}

    def _every_log(self, logs: Logs, processes: range) -> Iterator[tuple[int, Log]]:
        unread = dict.fromkeys(processes)
        for process, log in logs:
            if process not in unread:
                raise MalformedTrace(f"one log too many of {self.history.process_label(process)}")
            del unread[process]
            yield process, log
        # A store may skip a process that delivered nothing; the rules may not.
        for process in unread:
            yield process, Log(np.empty(0, np.int32), np.empty(0, np.int64))
