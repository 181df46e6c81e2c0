"""What the tasks of an audit do: judge whole runs, or read a slice of a large one. No Spark here."""

import pickle
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from aforesaid.check import check
from aforesaid.check.reading import Reader, Reading, SliceFindings
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.files import rows_of_run
from aforesaid.pipeline.auditing.outcome import Outcome, refused_whole
from aforesaid.pipeline.auditing.shelf import Shelf
from aforesaid.pipeline.auditing.sifted import judge_sifted, refuse_lacking
from aforesaid.pipeline.memory import peak_memory_bytes
from aforesaid.storage import Place
from aforesaid.trace.model import Messages
from aforesaid.trace.parquet import ParquetTrace, open_trace
from aforesaid.trace.parquet.schema import EVENTS, RUN_PREFIX, Damaged
from aforesaid.trace.parquet.table import open_table


@dataclass(frozen=True)
class Whole:
    """Some small runs, to be judged each in one go."""

    runs: tuple[Place, ...]
    properties: tuple[str, ...] | None
    witnesses_max: int | None


@dataclass(frozen=True)
class Part:
    """A slice of a large run's processes, to be read."""

    run: Place
    trace: bytes
    """The run as the driver has opened it, pickled: its files need not be asked for their footers again."""
    shelf: Shelf
    first: int
    last: int
    reading: Reading


@dataclass(frozen=True)
class Columns:
    """Some row groups of a large run's table of messages, to be read."""

    run: Place
    trace: bytes
    groups: range


@dataclass(frozen=True)
class Seen:
    """What a slice gave, or why it could not be read."""

    findings: SliceFindings
    refusal: str
    by_rows: bool
    seconds: float
    memory_bytes: int


def perform(task: Whole | Part) -> list[Outcome] | Seen:
    """One task of an audit."""
    if isinstance(task, Whole):
        return [_judge_one(run, task.properties, task.witnesses_max) for run in task.runs]
    _refuse_unseen(task.run)
    return seen(partial(_read, task))


def run_of(run: Place) -> str:
    return run.name.removeprefix(RUN_PREFIX)


def refused_run(run: Place, error: Exception) -> Outcome:
    """A run of ours of which nothing can be judged; for its rows alone, if its files are undamaged."""
    outcome = refused_whole(run_of(run), str(run), str(error), _row_counts(run))
    return replace(outcome, by_rows=not isinstance(error, Damaged))


def opened(run: Place) -> ParquetTrace:
    """A run of ours, unless a table lacks its rows: it cannot be told from one that was lost."""
    trace = open_trace(run)
    if any(trace.event_counts.values()):
        refuse_lacking(run_of(run), trace.run, trace.event_counts)
    return trace


def columns(task: Columns) -> tuple[Seen, list[Messages]]:
    """One task before it; of a table that cannot be read, only why."""
    _refuse_unseen(task.run)
    read: list[Messages] = []

    def work() -> SliceFindings:
        read.append(pickle.loads(task.trace).message_part(task.groups))
        return {}

    return seen(work), read


def _judge_one(run: Place, properties: Sequence[str] | None, witnesses_max: int | None) -> Outcome:
    began = time.perf_counter()
    _refuse_unseen(run)
    try:
        trace = opened(run)
        report = check(trace, properties, witnesses_max)
        outcome = Outcome(run_of(run), str(run), report, "", trace.event_counts)
    except Damaged as error:
        outcome = refused_run(run, error)
    except (Misuse, ValueError):
        outcome = _second_look(run, properties, witnesses_max)
    return replace(outcome, seconds=time.perf_counter() - began, memory_bytes=peak_memory_bytes())


def _second_look(run: Place, properties: Sequence[str] | None, witnesses_max: int | None) -> Outcome:
    """A refused run without the rows that are at fault."""
    try:
        outcome = judge_sifted(run_of(run), rows_of_run(run, run_of(run)), properties, witnesses_max)
    except Misuse as error:
        return refused_run(run, error)
    return replace(outcome, path=str(run))


def _refuse_unseen(run: Place) -> None:
    """The driver has seen it."""
    if isinstance(run, Path) and not run.exists():
        raise Misuse(
            f"executor {socket.gethostname()} cannot read {run}: it does not exist there; "
            "executors must see the data: use a URI that all machines can read"
        )


def seen(work: Callable[[], SliceFindings]) -> Seen:
    """What a piece of work gave, or why it could not be done."""
    began = time.perf_counter()
    findings: SliceFindings = {}
    refusal, by_rows = "", False
    try:
        findings = work()
    except (Misuse, ValueError) as error:
        refusal, by_rows = str(error), not isinstance(error, Damaged)
    return Seen(findings, refusal, by_rows, time.perf_counter() - began, peak_memory_bytes())


def _read(part: Part) -> SliceFindings:
    trace, reader = _reader(part)
    processes = range(part.first, part.last)
    return reader.read(part.reading, trace.logs(processes), processes, lambda: None)


_recent: dict[Shelf, tuple[ParquetTrace, Reader]] = {}
"""The last run and its reader, so that the slices of a run share them."""


def _reader(part: Part) -> tuple[ParquetTrace, Reader]:
    if part.shelf not in _recent:
        _recent.clear()
        trace = pickle.loads(part.trace)
        _recent[part.shelf] = trace, part.shelf.take(trace.stabilities)
    return _recent[part.shelf]


def _row_counts(run: Place) -> dict[str, int]:
    counts = {}
    for table in EVENTS:
        try:
            counts[table] = open_table(run, table).row_count
        except Misuse:
            counts[table] = 0
    return counts
