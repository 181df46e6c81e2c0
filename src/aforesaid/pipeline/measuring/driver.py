"""The metrics of many runs: tasks over files measure, Spark SQL sums, tidy tables come out.

A task gets processes with about TASK_DELIVERIES deliveries, of one long run or of many short ones. A *group*
of runs has the same algorithm, size and setting, and differs in its seeds. A run that cannot be read, or not
to its end, is in the table `refused` and in no other.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline.measuring import queries
from aforesaid.pipeline.measuring.measure import GLOBAL, REFUSED, SCHEMA, Piece, measure
from aforesaid.pipeline.measuring.optimum import quality, scenario_of
from aforesaid.pipeline.measuring.settings import settings
from aforesaid.pipeline.memory import settle
from aforesaid.pipeline.session import storage_settings
from aforesaid.sim import Paper
from aforesaid.storage import Place, place, together
from aforesaid.trace.model import TOOK, Run
from aforesaid.trace.parquet import find_runs, open_trace
from aforesaid.trace.parquet.schema import RUN_PREFIX

TASK_DELIVERIES = 1_000_000
RUN_DELIVERIES = 40_000
"""Opening a run takes about as long as measuring so many deliveries."""
BUCKETS = 100
"""Time buckets in the longest fault phase."""
UNKNOWN_DURATION_MS = 10_000.0
"""Taken for runs that were not simulated."""

TABLES = ("runs", "measures", "latency", "histogram", "series", "growth", "refused")


@dataclass(frozen=True)
class Source:
    """One run to measure."""

    path: Place
    run: Run
    slices: tuple[range, ...]
    """Its processes, in slices of at most TASK_DELIVERIES or so."""
    messages: int
    deliveries: int

    @property
    def processes(self) -> int:
        return self.slices[-1].stop


@dataclass(frozen=True)
class Sources:
    """The runs at a path: those that can be measured, and by name why the others cannot."""

    runs: list[Source]
    refused: dict[str, str]


def metrics(spark: SparkSession, path: str | os.PathLike[str] | Place) -> dict[str, DataFrame]:
    """All tables of the runs at a path or URI, by name."""
    tables = compute(spark, find_sources(place(path, storage_settings(spark))))
    return {name: spark.createDataFrame(table) for name, table in tables.items()}


def find_sources(path: Place, progress: Callable[[int, int], None] = lambda done, total: None) -> Sources:
    """The runs at a path, opened; there must be one that can be measured."""
    found = Sources([], {})
    runs = find_runs(path)
    for done, source in enumerate(together(path, _source, runs)):
        if isinstance(source, Source):
            found.runs.append(source)
        else:
            found.refused[runs[done].name.removeprefix(RUN_PREFIX)] = source
        progress(done + 1, len(runs))
    _check_any(found.runs, found.refused)
    return found


def _source(path: Place) -> Source | str:
    """A run, or why it cannot be measured: if times of two processes do not compare there is no latency but
    what each of them told."""
    try:
        trace = open_trace(path)
    except Misuse as error:
        return str(error)
    if trace.run.clock != GLOBAL and not any(name.startswith(TOOK) for name in trace.samples.metric):
        return f"{path} has {trace.run.clock} clocks: times of two processes do not compare there"
    counts = trace.event_counts
    slices = tuple(trace.slices(TASK_DELIVERIES))
    return Source(path.resolve(), trace.run, slices, counts["messages"], counts["deliveries"])


def compute(
    spark: SparkSession, found: Sources, progress: Callable[[str], None] = lambda name: None
) -> dict[str, pa.Table]:
    """All tables, by name."""
    bucket_ms = _bucket_ms(found.runs)
    rows = _measured(spark, found.runs, bucket_ms).persist(StorageLevel.DISK_ONLY)
    try:
        failed = rows.where(f"kind = '{REFUSED}'").select("run", "metric").distinct().collect()
        refused = {**found.refused, **{row["run"]: row["metric"] for row in failed}}
        sources = [source for source in found.runs if source.run.run not in refused]
        _check_any(sources, refused)
        tables = {"runs": _runs(sources), "refused": _refused(refused)}
        # Who is in no row of `runs` is in no table: they all join it.
        frames: dict[str, Any] = {"rows": rows, "runs": spark.createDataFrame(tables["runs"])}
        frames["counted"] = spark.sql(queries.COUNTED, **frames).persist(StorageLevel.DISK_ONLY)

        def add(name: str, query: str) -> None:
            progress(name)
            tables[name] = spark.sql(query, **frames, bucket_ms=bucket_ms).toArrow()

        add("latency", queries.percentiles("algorithm, processes, setting"))
        add("histogram", queries.HISTOGRAM)
        add("series", queries.SERIES)
        frames["by_run"] = spark.sql(queries.percentiles("run"), **frames)
        add("measures", queries.MEASURES)
        frames["measures"] = spark.createDataFrame(tables["measures"])
        add("growth", queries.GROWTH)
        frames["counted"].unpersist()
    finally:
        rows.unpersist()
    return {name: tables[name] for name in TABLES}


def _check_any(sources: Sequence[Source], refused: dict[str, str]) -> None:
    if not sources:
        raise Misuse(f"there is no run to measure: {next(iter(refused.values()))}")


def _measured(spark: SparkSession, sources: Sequence[Source], bucket_ms: float) -> DataFrame:
    tasks = list(_tasks(sources))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from measure(tasks[number], bucket_ms)
        settle()

    columns = ", ".join(f"{field.name} {_SPARK_TYPES[str(field.type)]}" for field in SCHEMA)
    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(work, columns)


_SPARK_TYPES = {"string": "string", "int64": "bigint", "double": "double"}


def _tasks(sources: Sequence[Source]) -> Iterator[list[Piece]]:
    """Pieces of about the same work."""
    task: list[Piece] = []
    work = 0
    for source in sources:
        each = source.deliveries // len(source.slices) + RUN_DELIVERIES
        for processes in source.slices:
            if task and work + each > TASK_DELIVERIES:
                yield task
                task, work = [], 0
            task.append(Piece(source.path, processes))
            work += each
    yield task


def _bucket_ms(sources: Sequence[Source]) -> float:
    """A round width of time, of which the longest fault phase has about BUCKETS."""
    scenarios = [scenario_of(source.run) for source in sources]
    longest = max(one.duration_ms if one else UNKNOWN_DURATION_MS for one in scenarios)
    exact = longest / BUCKETS
    power = 10.0 ** math.floor(math.log10(exact))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= exact * (1 - 1e-9))


def _runs(sources: Sequence[Source]) -> pa.Table:
    runs = [source.run for source in sources]
    scenarios = [scenario_of(run) for run in runs]
    # Of a fleet some processes are traced.
    sizes = [
        one.processes if isinstance(one, Paper) else source.processes
        for one, source in zip(scenarios, sources, strict=True)
    ]
    return pa.table(
        {
            "run": [run.run for run in runs],
            "algorithm": [run.algorithm for run in runs],
            "processes": pa.array(sizes, pa.int64()),
            "setting": settings([run.scenario for run in runs]),
            "seed": pa.array([run.seed for run in runs], pa.int64()),
            "ended": [run.ended for run in runs],
            "causality": [run.causality for run in runs],
            "sampled": [run.sampled for run in runs],
            "duration_ms": pa.array([one.duration_ms if one else None for one in scenarios], pa.float64()),
            "optimum": [quality(one) for one in scenarios],
            "messages": pa.array([source.messages for source in sources], pa.int64()),
            "deliveries": pa.array([source.deliveries for source in sources], pa.int64()),
            "digest": [run.digest for run in runs],
        }
    )


def _refused(refused: dict[str, str]) -> pa.Table:
    rows = sorted(refused.items())
    return pa.table(
        {
            "run": pa.array([run for run, _ in rows], pa.string()),
            "reason": pa.array([reason for _, reason in rows], pa.string()),
        }
    )
