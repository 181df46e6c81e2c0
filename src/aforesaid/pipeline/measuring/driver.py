"""The metrics of many runs: tasks over files measure, Spark SQL sums, six tidy tables come out.

A task gets processes with about TASK_DELIVERIES deliveries, of one long run or of many short ones. A *group*
of runs has the same algorithm, size and setting, and differs in its seeds.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline.measuring import queries
from aforesaid.pipeline.measuring.measure import SCHEMA, Piece, measure
from aforesaid.pipeline.measuring.optimum import quality, scenario_of
from aforesaid.pipeline.measuring.settings import settings
from aforesaid.sim import Paper
from aforesaid.storage import Place
from aforesaid.trace.model import Run
from aforesaid.trace.parquet import find_runs, open_trace

TASK_DELIVERIES = 1_000_000
RUN_DELIVERIES = 40_000
"""Opening a run takes about as long as measuring so many deliveries."""
BUCKETS = 100
"""Time buckets in the longest fault phase."""
UNKNOWN_DURATION_MS = 10_000.0
"""Taken for runs that were not simulated."""

TABLES = ("runs", "measures", "latency", "histogram", "series", "growth")


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


def find_sources(path: Path, progress: Callable[[int, int], None] = lambda done, total: None) -> list[Source]:
    """The runs at a path, opened; times of different processes must compare, or there is no latency."""
    sources = []
    runs = find_runs(path)
    for done, run in enumerate(runs):
        trace = open_trace(run)
        if trace.run.clock != "global":
            raise Misuse(f"{run} has {trace.run.clock} clocks: times of two processes do not compare there")
        slices = tuple(trace.slices(TASK_DELIVERIES))
        counts = trace.event_counts
        sources.append(Source(run.resolve(), trace.run, slices, counts["messages"], counts["deliveries"]))
        progress(done + 1, len(runs))
    return sources


def compute(
    spark: SparkSession, sources: Sequence[Source], progress: Callable[[str], None] = lambda name: None
) -> dict[str, pa.Table]:
    """All tables, by name."""
    bucket_ms = _bucket_ms(sources)
    runs = _runs(sources)
    rows = _measured(spark, sources, bucket_ms).persist(StorageLevel.DISK_ONLY)
    rows.createOrReplaceTempView("rows")
    spark.createDataFrame(runs).createOrReplaceTempView("runs")
    counted = spark.sql(queries.COUNTED).persist(StorageLevel.DISK_ONLY)
    counted.createOrReplaceTempView("counted")
    tables = {"runs": runs}

    def add(name: str, query: str) -> None:
        progress(name)
        tables[name] = spark.sql(query).toArrow()

    add("latency", queries.percentiles("algorithm, processes, setting"))
    add("histogram", queries.HISTOGRAM)
    add("series", queries.SERIES.format(bucket_ms=bucket_ms))
    spark.sql(queries.percentiles("run")).createOrReplaceTempView("by_run")
    add("measures", queries.MEASURES)
    spark.createDataFrame(tables["measures"]).createOrReplaceTempView("measures")
    add("growth", queries.GROWTH)
    counted.unpersist()
    rows.unpersist()
    return {name: tables[name] for name in TABLES}


def _measured(spark: SparkSession, sources: Sequence[Source], bucket_ms: float) -> DataFrame:
    tasks = list(_tasks(sources))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from measure(tasks[number], bucket_ms)

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
            task.append(Piece(str(source.path), processes))
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
            "duration_ms": pa.array([one.duration_ms if one else None for one in scenarios], pa.float64()),
            "optimum": [quality(one) for one in scenarios],
            "messages": pa.array([source.messages for source in sources], pa.int64()),
            "deliveries": pa.array([source.deliveries for source in sources], pa.int64()),
            "digest": [run.digest for run in runs],
        }
    )


def _arrow(frame: DataFrame) -> pa.Table:
    return frame.toArrow()
