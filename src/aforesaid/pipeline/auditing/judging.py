"""Judges runs in our layout as Spark tasks over their files.

Small runs are judged several to a task. A large run is cut into slices of processes where its row groups
begin. A first job reads the columns of the tables of messages of all large runs (the driver itself, if that
is one task), and the driver makes the tables ready (`shelf`); then tasks read the slices with PyArrow, over
the table mapped, and the driver absorbs what they found. Further readings, if the first leaves a question,
are jobs of their own.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import TypeAlias

from pyspark.sql import SparkSession

from aforesaid.check import Report
from aforesaid.check.judge import first_reading, judge, properties_of
from aforesaid.check.reading import Reader, Reading, SliceFindings
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.layout import Stored
from aforesaid.pipeline.auditing.options import AuditOptions
from aforesaid.pipeline.auditing.outcome import Outcome
from aforesaid.pipeline.auditing.sharing import Shelves
from aforesaid.pipeline.auditing.shelf import Shelf
from aforesaid.pipeline.auditing.work import (
    Columns,
    Part,
    Seen,
    Whole,
    columns,
    opened,
    perform,
    refused_run,
    run_of,
)
from aforesaid.pipeline.progress import Tell
from aforesaid.pipeline.tasks import run_tasks
from aforesaid.storage import Place
from aforesaid.trace.model import Messages
from aforesaid.trace.parquet import ParquetTrace
from aforesaid.trace.parquet.schema import Damaged

COLUMN_ROWS = 1 << 20
"""About how many messages a task reads for the table that tasks share."""
WAVE_TASKS = 32
"""How many such tasks give the driver their columns at a time."""

Perform: TypeAlias = Callable[[Sequence[Whole | Part]], list[list[Outcome] | Seen]]


@dataclass
class _Large:
    """A run that is judged in slices."""

    stored: Stored
    trace: ParquetTrace
    shelf: Shelf
    required: tuple[str, ...]
    first: Reading
    slices: list[range]
    seen: list[Seen] = field(default_factory=list)
    """What all tasks gave, in all readings."""

    @cached_property
    def told(self) -> bytes:
        """The trace as tasks get it."""
        return pickle.dumps(self.trace)

    def parts(self, reading: Reading) -> list[Part]:
        run, trace = self.stored.run, self.told
        return [Part(run, trace, self.shelf, part.start, part.stop, reading) for part in self.slices]

    def columns(self) -> list[Columns]:
        return [Columns(self.stored.run, self.told, part) for part in self.trace.message_parts(COLUMN_ROWS)]


def judge_runs(
    spark: SparkSession,
    runs: Sequence[Stored],
    options: AuditOptions,
    room: Shelves,
    tell: Tell = lambda done, total: None,
) -> list[Outcome]:
    """What became of each run, in the order given."""
    small = [one for one in runs if one.bytes <= options.whole_bytes]
    outcomes: dict[str, Outcome] = {}
    large: list[_Large] = []
    for one in runs:
        if one.bytes > options.whole_bytes:
            try:
                large.append(_opened(one, options, room))
            except (Misuse, ValueError) as error:
                outcomes[str(one.run)] = refused_run(one.run, error)
    large = _with_tables(spark, large, outcomes, room, tell)
    # The long tasks first, so that the last to end is a short one.
    parts = [part for one in large for part in one.parts(one.first)]
    wholes = [Whole(group, options.properties, options.witnesses_max) for group in _grouped(small, options)]
    perform_all: Perform = partial(run_tasks, spark, perform, tell=tell)
    results = iter(perform_all([*parts, *wholes]))
    for run in large:
        seen = [result for _, result in zip(run.slices, results, strict=False) if isinstance(result, Seen)]
        outcomes[str(run.stored.run)] = _merged(run, seen, perform_all)
        room.drop(run.shelf)
    for result in results:
        if isinstance(result, list):
            outcomes |= {outcome.path: outcome for outcome in result}
    return [outcomes[str(one.run)] for one in runs]


def _grouped(runs: Iterable[Stored], options: AuditOptions) -> Iterator[tuple[Place, ...]]:
    """Runs in groups of about `whole_bytes` bytes, the largest runs first."""
    group: list[Place] = []
    size = 0
    for one in sorted(runs, key=lambda one: one.bytes, reverse=True):
        # A run costs something however small it is.
        weight = max(one.bytes, options.whole_bytes // 32)
        if group and size + weight > options.whole_bytes:
            yield tuple(group)
            group, size = [], 0
        group.append(one.run)
        size += weight
    if group:
        yield tuple(group)


def _opened(one: Stored, options: AuditOptions, room: Shelves) -> _Large:
    trace = opened(one.run)
    required, judged = properties_of(trace, options.properties)
    first = first_reading(trace.run, judged, options.witnesses_max)
    return _Large(one, trace, room.new(), required, first, trace.slices(options.slice_deliveries))


def _with_tables(
    spark: SparkSession, large: Sequence[_Large], outcomes: dict[str, Outcome], room: Shelves, tell: Tell
) -> list[_Large]:
    """Make the tables that tasks share; the runs that have one."""
    ready = []
    tasks = [one.columns() for one in large]
    results = _in_waves(spark, [task for of_one in tasks for task in of_one], tell)
    for one, of_one in zip(large, tasks, strict=True):
        results_of_one = islice(results, len(of_one))
        try:
            blocks = _sound(one, results_of_one)
            one.shelf.put(one.trace.run, one.trace.processes, one.trace.stabilities, blocks)
            room.share(one.shelf)
            ready.append(one)
        except (Misuse, ValueError) as error:
            outcomes[str(one.stored.run)] = refused_run(one.stored.run, error)
        deque(results_of_one, maxlen=0)
    return ready


def _in_waves(
    spark: SparkSession, tasks: Sequence[Columns], tell: Tell
) -> Iterator[tuple[Seen, list[Messages]]]:
    if len(tasks) == 1:
        # A job would take longer than the task does.
        yield columns(tasks[0])
        return
    for first in range(0, len(tasks), WAVE_TASKS):
        yield from run_tasks(spark, columns, tasks[first : first + WAVE_TASKS], tell)


def _sound(one: _Large, results: Iterable[tuple[Seen, list[Messages]]]) -> Iterator[Messages]:
    for seen, read in results:
        one.seen.append(seen)
        refuse_unread([seen])
        yield from read


def _merged(one: _Large, begun: Sequence[Seen], perform_all: Perform) -> Outcome:
    """The outcome of a large run, from what its slices gave in the first reading and in those that follow."""

    def read(reading: Reading) -> list[Seen]:
        return [result for result in perform_all(one.parts(reading)) if isinstance(result, Seen)]

    try:
        reader = one.shelf.take(one.trace.stabilities)
        report = judged_in_slices(reader, one.first, one.required, begun, read, one.seen)
    except (Misuse, ValueError) as error:
        outcome = refused_run(one.stored.run, error)
    else:
        outcome = Outcome(run_of(one.stored.run), str(one.stored.run), report, "", one.trace.event_counts)
    return with_work(replace(outcome, slices=len(one.slices)), one.seen)


def judged_in_slices(
    reader: Reader,
    first: Reading,
    required: tuple[str, ...],
    begun: Sequence[Seen],
    read: Callable[[Reading], Sequence[Seen]],
    seen: list[Seen],
) -> Report:
    """The report on a run of which the first reading has been made; `seen` gets what all readings gave."""

    def gather(reading: Reading) -> list[SliceFindings]:
        results = begun if reading is first else read(reading)
        seen.extend(results)
        refuse_unread(results)
        return [result.findings for result in results]

    return judge(reader, first, required, gather)


def refuse_unread(seen: Iterable[Seen]) -> None:
    for one in seen:
        if one.refusal:
            raise (Misuse if one.by_rows else Damaged)(one.refusal)


def with_work(outcome: Outcome, seen: Sequence[Seen]) -> Outcome:
    """The same, with the work of all tasks for it."""
    return replace(
        outcome,
        seconds=sum(one.seconds for one in seen),
        memory_bytes=max((one.memory_bytes for one in seen), default=0),
    )
