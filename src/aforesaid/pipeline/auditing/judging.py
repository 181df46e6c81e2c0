"""Judges runs in our layout as Spark tasks over their files.

Small runs are judged several to a task. A large run is cut into slices of processes where its row groups
begin. A first job makes the tables of messages of all large runs ready (`shelf`); then tasks read the slices
with PyArrow, over the table mapped, and the driver absorbs what they found. Further readings, if the first
leaves a question, are jobs of their own.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from aforesaid.check.judge import first_reading, judge, properties_of
from aforesaid.check.reading import Reading, SliceFindings
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.shelf import Shelf
from aforesaid.pipeline.auditing.work import (
    Outcome,
    Part,
    Seen,
    Table,
    Whole,
    perform,
    prepare,
    refused_whole,
    run_of,
)
from aforesaid.pipeline.progress import Tell
from aforesaid.pipeline.tasks import run_tasks
from aforesaid.trace.parquet import ParquetTrace, open_trace
from aforesaid.trace.parquet.schema import Damaged


@dataclass(frozen=True)
class AuditOptions:
    """What is required, how much is shown, how work is cut."""

    properties: tuple[str, ...] | None = None
    """What every run must keep; None: what its algorithm promises."""
    witnesses_max: int | None = 20
    """How many violations of each property and run are worded; all are counted."""
    slice_deliveries: int = 1 << 22
    """About how many deliveries of a large run one task reads."""
    whole_bytes: int = 8 << 20
    """Runs with smaller files of events are judged whole, so many bytes of them to a task."""


@dataclass
class _Large:
    """A run that is judged in slices."""

    trace: ParquetTrace
    shelf: Shelf
    required: tuple[str, ...]
    first: Reading
    slices: list[range]
    seen: list[Seen] = field(default_factory=list)
    """What all tasks gave, in all readings."""

    def table(self) -> Table:
        return Table(str(self.trace.path), self.shelf)

    def parts(self, reading: Reading) -> list[Part]:
        path = str(self.trace.path)
        return [Part(path, self.shelf, part.start, part.stop, reading) for part in self.slices]


def judge_runs(
    spark: SparkSession,
    paths: Sequence[str],
    options: AuditOptions,
    scratch: Path,
    tell: Tell = lambda done, total: None,
) -> list[Outcome]:
    """What became of each run, in the order given. Tables are put under `scratch` for a while."""
    small = [path for path in paths if _size(path) <= options.whole_bytes]
    large: dict[str, _Large] = {}
    outcomes: dict[str, Outcome] = {}
    for path in set(paths).difference(small):
        try:
            large[path] = _opened(path, options, scratch)
        except (Misuse, ValueError) as error:
            outcomes[path] = refused_whole(path, str(error), isinstance(error, Damaged))
    prepared = run_tasks(spark, prepare, [run.table() for run in large.values()], tell)
    for (path, run), ready in zip(list(large.items()), prepared, strict=True):
        run.seen.append(ready)
        if ready.refusal:
            outcomes[path] = refused_whole(path, ready.refusal, ready.final)
            del large[path]
    # The long tasks first, so that the last to end is a short one.
    parts = [part for one in large.values() for part in one.parts(one.first)]
    wholes = [Whole(group, options.properties, options.witnesses_max) for group in _grouped(small, options)]
    perform_all: Callable[[Sequence[Whole | Part]], list[list[Outcome] | Seen]] = partial(
        run_tasks, spark, perform, tell=tell
    )
    results = iter(perform_all([*parts, *wholes]))
    for path, one in large.items():
        seen = [result for _, result in zip(one.slices, results, strict=False) if isinstance(result, Seen)]
        outcomes[path] = _merged(path, one, seen, perform_all)
    for result in results:
        if isinstance(result, list):
            outcomes |= {outcome.path: outcome for outcome in result}
    return [outcomes[path] for path in paths]


def _size(path: str) -> int:
    """The bytes of a run's events, of which the table of messages has to be held in one piece."""
    size = 0
    for name in ("messages", "deliveries"):
        table = Path(path) / f"{name}.parquet"
        try:
            size += sum(file.stat().st_size for file in (table.iterdir() if table.is_dir() else [table]))
        except OSError:
            continue  # Whoever opens the run will tell.
    return size


def _grouped(paths: Iterable[str], options: AuditOptions) -> Iterator[tuple[str, ...]]:
    """Runs in groups of about `whole_bytes` bytes, the largest runs first."""
    group: list[str] = []
    size = 0
    for path in sorted(paths, key=_size, reverse=True):
        # A run costs something however small it is.
        weight = max(_size(path), options.whole_bytes // 32)
        if group and size + weight > options.whole_bytes:
            yield tuple(group)
            group, size = [], 0
        group.append(path)
        size += weight
    if group:
        yield tuple(group)


def _opened(path: str, options: AuditOptions, scratch: Path) -> _Large:
    trace = open_trace(path)
    shelf = Shelf((scratch / "tables" / uuid4().hex).resolve())
    required, judged = properties_of(trace, options.properties)
    first = first_reading(judged, options.witnesses_max)
    return _Large(trace, shelf, required, first, trace.slices(options.slice_deliveries))


def _merged(
    path: str, one: _Large, seen: list[Seen], run: Callable[[Sequence[Part]], Sequence[object]]
) -> Outcome:
    """The outcome of a large run, from what its slices gave in the first reading and in those that follow."""

    def gather(reading: Reading) -> list[SliceFindings]:
        again = reading is not one.first
        results = (
            [result for result in run(one.parts(reading)) if isinstance(result, Seen)] if again else seen
        )
        one.seen.extend(results)
        for result in results:
            if result.refusal:
                raise (Damaged if result.final else Misuse)(result.refusal)
        return [result.findings for result in results]

    try:
        report = judge(one.shelf.take(one.trace), one.first, one.required, gather)
    except (Misuse, ValueError) as error:
        outcome = refused_whole(path, str(error), isinstance(error, Damaged))
    else:
        outcome = Outcome(run_of(path), path, report, "", one.trace.event_counts)
    finally:
        shutil.rmtree(one.shelf.directory, ignore_errors=True)
    return replace(
        outcome,
        slices=len(one.slices),
        seconds=sum(result.seconds for result in one.seen),
        memory_bytes=max(result.memory_bytes for result in one.seen),
    )
