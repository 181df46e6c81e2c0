"""The one judge of traces: reads the logs, one process at a time, and lets every rule see them.

Nothing the trace says about order is believed but the logs themselves. The first reading assumes that the
recorded predecessors are true, and tests it; they nearly always are, and then one reading has settled all of
it. If they are not, they are corrected from the logs and the order is judged again. A last reading looks up
who is at fault, where that takes knowing all logs. Memory is a few arrays over the messages, and one log with
its process's stable calls at a time (and a block of `hidden` where messages have audiences).

Who reads, and in how many slices, is left to the caller (`judge`); `check` reads all of it itself.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from aforesaid.check.history import MalformedTrace
from aforesaid.check.reading import Reader, Reading, SliceFindings, Watch
from aforesaid.check.rules import Rule
from aforesaid.check.verdict import (
    POTENTIAL_ONLY,
    PROPERTIES,
    REQUIRED_BY_DEFAULT,
    Report,
    required_names,
)
from aforesaid.trace import Run, Trace

Progress = Callable[[int, int], None]
Gather: TypeAlias = Callable[[Reading], Iterable[SliceFindings]]
"""Makes a reading and gives its findings, slice by slice in the order of processes."""


def check(
    trace: Trace,
    properties: Sequence[str] | None = None,
    witnesses_max: int | None = 20,
    progress: Progress | None = None,
) -> Report:
    """Judge a trace.

    Judges `properties` and those always required, or all that apply. Shows at most `witnesses_max` violations
    of each, or all for None. `progress` is called with the logs read and the logs to read; each further
    reading adds its logs to both.

    Raises WrongValue for a property that does not exist, MalformedTrace for a trace that no run could write.
    """
    required, judged = properties_of(trace, properties)
    reader = Reader(trace)
    processes = range(reader.history.process_count)
    done = total = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    def gather(reading: Reading) -> list[SliceFindings]:
        nonlocal total
        total += len(processes)
        return [reader.read(reading, trace.logs(), processes, step)]

    return judge(reader, first_reading(trace.run, judged, witnesses_max), required, gather)


def properties_of(trace: Trace, properties: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is required of a trace, and what is judged."""
    required = _required(trace, properties)
    return required, required if properties is not None else _all_that_apply(trace, required)


def first_reading(run: Run, judged: tuple[str, ...], witnesses_max: int | None) -> Reading:
    """Every rule, and the recorder on trial, unless the messages speak for themselves."""
    return Reading(judged, witnesses_max, recorder=run.causality == "potential")


def judge(reader: Reader, first: Reading, required: tuple[str, ...], gather: Gather) -> Report:
    """The report on a trace whose logs are read by `gather`, from the first reading on."""
    judges, watch, reading = _in_proven_order(reader, first, gather)
    asked = {rule.name: rule.question() for rule in watch.rules}
    questions = {name: question for name, question in asked.items() if question is not None}
    if questions:
        watch.absorb(gather(replace(reading, recorder=False, questions=questions)))
    verdicts = {rule.name: rule.verdict() for rule in judges}
    return Report(reader.history.run, {name: verdicts[name] for name in first.judged}, required)


def _in_proven_order(reader: Reader, first: Reading, gather: Gather) -> tuple[list[Rule], Watch, Reading]:
    """All rules, after every log was seen, with the order that the logs prove; and the last reading.

    Declared order needs no proof.
    """
    watch = _gathered(reader, first, gather)
    if not first.recorder:
        return watch.rules, watch, first
    recorded = watch.recorded
    false_edges = tuple(recorded.false_edges)
    if false_edges:
        recorded = _gathered(reader, replace(first, judged=(), false_edges=false_edges), gather).recorded
    elif recorded.missing() is None:
        return [*watch.rules, recorded], watch, first
    proven = replace(first, recorder=False, false_edges=false_edges, missing=recorded.missing())
    watch = _gathered(reader, proven, gather)
    return [*watch.rules, recorded], watch, proven


def _gathered(reader: Reader, reading: Reading, gather: Gather) -> Watch:
    watch = Watch(reader.case(reading), reading)
    watch.absorb(gather(reading))
    return watch


def _all_that_apply(trace: Trace, required: tuple[str, ...]) -> tuple[str, ...]:
    """Every property; but not stability where nobody promised or spoke of it, and no weaker causal order."""
    left_out = {"causal_unless_lost"} if len(trace.stabilities) else {"causal_unless_lost", "stability"}
    if trace.run.causality == "declared":
        left_out.update(POTENTIAL_ONLY)
    return tuple(name for name in PROPERTIES if name in required or name not in left_out)


def _required(trace: Trace, properties: Sequence[str] | None) -> tuple[str, ...]:
    causality = trace.run.causality
    if properties is not None:
        return required_names(properties, causality)
    if not trace.run.promises:
        left_out = POTENTIAL_ONLY if causality == "declared" else ()
        return required_names([name for name in REQUIRED_BY_DEFAULT if name not in left_out], causality)
    for name in trace.run.promises:
        if name not in PROPERTIES:
            raise MalformedTrace(f"the run promises {name!r}; there are: {', '.join(PROPERTIES)}")
    return required_names(trace.run.promises, causality)
