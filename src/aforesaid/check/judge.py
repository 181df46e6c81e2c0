"""The one judge of traces: reads the logs, one process at a time, and lets every rule see them.

Nothing the trace says about order is believed but the logs themselves. The first pass assumes that the
recorded predecessors are true, and tests it; they nearly always are, and then one pass has settled all of it.
If they are not, they are corrected from the logs and the order is judged again. A last pass looks up who is
without what, if something owed was not delivered. Memory is a few arrays over the messages, and one log with
its process's stable calls at a time (and a block of `hidden` where messages have audiences).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from aforesaid.check.history import History, MalformedTrace
from aforesaid.check.order import Exemption, Order
from aforesaid.check.rules import (
    Agreement,
    Audience,
    Case,
    Causal,
    Fifo,
    Liveness,
    NoCreation,
    NoDuplicate,
    NoForesight,
    Recorded,
    Rule,
    Stability,
    Tally,
    UniformAgreement,
    Validity,
)
from aforesaid.check.verdict import PROPERTIES, REQUIRED_BY_DEFAULT, Report, required_names
from aforesaid.check.view import View, Views
from aforesaid.trace import Log, Trace

Progress = Callable[[int, int], None]

_ONE_LOG: dict[str, type[Rule]] = {
    rule.name: rule for rule in (NoDuplicate, NoCreation, NoForesight, Audience, Fifo, Causal)
}
_ALL_LOGS: dict[str, type[Liveness] | type[Stability]] = {
    rule.name: rule for rule in (Validity, Agreement, UniformAgreement, Stability)
}


def check(
    trace: Trace,
    properties: Sequence[str] | None = None,
    witnesses_max: int | None = 20,
    progress: Progress | None = None,
) -> Report:
    """Judge a trace.

    Judges `properties` and those always required, or all that apply. Shows at most `witnesses_max` violations
    of each, or all for None. `progress` is called with the logs read and the logs to read; each further pass
    adds its logs to both.

    Raises ValueError for a property that does not exist, MalformedTrace for a trace that no run could write.
    """
    required = _required(trace, properties)
    judged = required if properties is not None else _all_that_apply(trace, required)
    history = History(trace)
    reading = _Reading(history, progress)
    recorded, rules = _judged_in_order(history, judged, witnesses_max, reading)
    again = [rule for rule in rules if isinstance(rule, Liveness) and rule.settle()]
    if again:
        reading.over(again[0].case.order, [rule.see_again for rule in again])
    verdicts = {rule.name: rule.verdict() for rule in (*rules, recorded)}
    return Report(trace.run, {name: verdicts[name] for name in judged}, required)


def _all_that_apply(trace: Trace, required: tuple[str, ...]) -> tuple[str, ...]:
    """Every property; but where nobody promised stability and nobody spoke of it, it is not judged."""
    silent = "stability" not in required and not len(trace.stabilities)
    return tuple(name for name in PROPERTIES if name != "stability" or not silent)


def _required(trace: Trace, properties: Sequence[str] | None) -> tuple[str, ...]:
    if properties is not None:
        return required_names(properties)
    if not trace.run.promises:
        return required_names(REQUIRED_BY_DEFAULT)
    for name in trace.run.promises:
        if name not in PROPERTIES:
            raise MalformedTrace(f"the run promises {name!r}; there are: {', '.join(PROPERTIES)}")
    return required_names(trace.run.promises)


class _Sees(Protocol):
    def __call__(self, view: View, /) -> None: ...


class _Reading:
    """Passes over the logs."""

    def __init__(self, history: History, progress: Progress | None) -> None:
        self._history, self._progress = history, progress
        self._done = self._total = 0

    def over(self, order: Order, sees: Iterable[_Sees]) -> None:
        """Show every process's log to each of those who see."""
        views = Views(self._history, Exemption(self._history, order))
        watching = list(sees)
        self._total += self._history.process_count
        for process, log in self._logs():
            self._history.refuse_short_log(process, len(log))
            view = views.of(process, log)
            for see in watching:
                see(view)
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)

    def _logs(self) -> Iterator[tuple[int, Log]]:
        unread = dict.fromkeys(range(self._history.process_count))
        for process, log in self._history.trace.logs():
            if process not in unread:
                raise MalformedTrace(f"one log too many of {self._history.process_label(process)}")
            del unread[process]
            yield process, log
        # A store may skip a process that delivered nothing; the rules may not.
        for process in unread:
            yield process, Log(np.empty(0, np.int32), np.empty(0, np.int64))


def _judged_in_order(
    history: History, judged: Sequence[str], witnesses_max: int | None, reading: _Reading
) -> tuple[Recorded, list[Rule]]:
    """All rules, after every log was seen, with the order that the logs prove."""
    case = Case(history, Order.recorded(history), witnesses_max)
    recorded = Recorded(case)
    rules, sees = _rules(case, judged)
    reading.over(case.order, [recorded.see, *sees])
    if recorded.false_edges:
        recorded = Recorded(case, recorded.false_edges)
        reading.over(case.order, [recorded.see])
    order, suspects = recorded.corrected(), recorded.missing()
    if suspects is not None and not order.cyclic:
        recorded = Recorded(case, recorded.false_edges, suspects)
        reading.over(case.order, [recorded.see])
        order = recorded.corrected()
    if order is not case.order:
        case = replace(case, order=order)
        rules, sees = _rules(case, judged)
        reading.over(order, sees)
    return recorded, rules


def _rules(case: Case, judged: Sequence[str]) -> tuple[list[Rule], list[_Sees]]:
    """The rules on the properties to be judged, and what has to see each log for them."""
    one_log = [rule(case) for name, rule in _ONE_LOG.items() if name in judged]
    tally = Tally(case.history)
    all_logs = [rule(case, tally) for name, rule in _ALL_LOGS.items() if name in judged]
    sees: list[_Sees] = [rule.see for rule in (*one_log, *all_logs)]
    if all_logs:
        sees.append(tally.see)
    return [*one_log, *all_logs], sees
