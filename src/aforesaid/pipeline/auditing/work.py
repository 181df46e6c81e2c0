"""What the tasks of an audit do: judge whole runs, or read a slice of a large one. No Spark here."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from aforesaid.check import Report, check
from aforesaid.check.reading import Reader, Reading, SliceFindings
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.shelf import Shelf
from aforesaid.pipeline.memory import peak_memory_bytes
from aforesaid.trace.parquet import ParquetTrace, open_trace
from aforesaid.trace.parquet.schema import EVENTS, RUN_PREFIX, Damaged
from aforesaid.trace.parquet.table import open_table


@dataclass(frozen=True)
class Outcome:
    """What became of one run: a report, or why there is none."""

    run: str
    path: str
    report: Report | None
    refusal: str = ""
    rows: dict[str, int] = field(default_factory=dict)
    """The rows of each table of events."""
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many of them were refused, by table and reason."""
    slices: int = 1
    seconds: float = 0.0
    """The work of all tasks for it."""
    memory_bytes: int = 0
    """The most that a worker held while it was at it."""
    final: bool = False
    """Whether it was refused for what its files are, so that no second look at its rows would help."""

    @property
    def value(self) -> str:
        return "unknown" if self.report is None else self.report.value()


@dataclass(frozen=True)
class Whole:
    """Some small runs, to be judged each in one go."""

    paths: tuple[str, ...]
    properties: tuple[str, ...] | None
    witnesses_max: int | None


@dataclass(frozen=True)
class Part:
    """A slice of a large run's processes, to be read."""

    path: str
    shelf: Shelf
    first: int
    last: int
    reading: Reading


@dataclass(frozen=True)
class Table:
    """A large run's table of messages, to be made ready before its slices are read."""

    path: str
    shelf: Shelf


@dataclass(frozen=True)
class Seen:
    """What a slice gave, or why it could not be read; of a table, only the latter."""

    findings: SliceFindings
    refusal: str
    final: bool
    seconds: float
    memory_bytes: int


def perform(task: Whole | Part) -> list[Outcome] | Seen:
    """One task of an audit."""
    if isinstance(task, Whole):
        return [_judge_one(path, task.properties, task.witnesses_max) for path in task.paths]
    return _seen(partial(_read, task))


def prepare(table: Table) -> Seen:
    """One task before it."""
    return _seen(partial(_put, table))


def run_of(path: str | Path) -> str:
    return Path(path).name.removeprefix(RUN_PREFIX)


def refused_whole(path: str, refusal: str, final: bool = False) -> Outcome:
    """A run of which nothing can be judged: its rows, as far as its files tell their number, are refused."""
    rows = _row_counts(path)
    reasons = {(table, f"the run is refused: {refusal}"): count for table, count in rows.items()}
    return Outcome(run_of(path), path, None, refusal, rows, reasons, final=final)


def _judge_one(path: str, properties: Sequence[str] | None, witnesses_max: int | None) -> Outcome:
    began = time.perf_counter()
    try:
        trace = open_trace(path)
        report = check(trace, properties, witnesses_max)
    except (Misuse, ValueError) as error:
        return refused_whole(path, str(error), isinstance(error, Damaged))
    seconds = time.perf_counter() - began
    return Outcome(run_of(path), path, report, "", trace.event_counts, {}, 1, seconds, peak_memory_bytes())


def _seen(work: Callable[[], SliceFindings]) -> Seen:
    began = time.perf_counter()
    findings: SliceFindings = {}
    refusal, final = "", False
    try:
        findings = work()
    except (Misuse, ValueError) as error:
        refusal, final = str(error), isinstance(error, Damaged)
    return Seen(findings, refusal, final, time.perf_counter() - began, peak_memory_bytes())


def _put(table: Table) -> SliceFindings:
    table.shelf.put(open_trace(table.path))
    return {}


def _read(part: Part) -> SliceFindings:
    trace, reader = _reader(part.path, part.shelf)
    processes = range(part.first, part.last)
    return reader.read(part.reading, trace.logs(processes), processes, lambda: None)


@lru_cache(maxsize=1)
def _reader(path: str, shelf: Shelf) -> tuple[ParquetTrace, Reader]:
    """The run and its reader; the last ones are kept, so that the slices of a run share them."""
    trace = open_trace(path)
    return trace, shelf.take(trace)


def _row_counts(path: str) -> dict[str, int]:
    counts = {}
    for table in EVENTS:
        try:
            counts[table] = open_table(Path(path), table).row_count
        except Misuse:
            counts[table] = 0
    return counts
