"""How fast traces are audited on Spark, beside a plain Spark aggregate over the same columns in the same run.

The trace is that of tests/support/injected.py: 1,000 processes deliver 30,000 messages each. It is audited as
it is, and with faults in known places, one in 100,000 deliveries: all must be found, none invented, and the
report must be that of the single-process checker. Messages to audiences, which cost more, have a smaller
trace. Others' layout (rows in no order, a column `run`) and DuckDB are measured on a tenth.
Run: python benchmarks/bench_audit.py [processes] [messages]

How audits grow, by one core and by two: with `stable` the origins call each message stable when all is over,
but for a few, which must be found and no others; with `wide` each message has 51 direct predecessors.
Run: python benchmarks/bench_audit.py grow [processes] [messages] [stable] [wide]
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from aforesaid.check import Report, check
from aforesaid.pipeline.auditing import Audit, AuditOptions, audit, summary
from aforesaid.pipeline.session import SparkOptions, jvm_memory_bytes, spark_session
from aforesaid.trace.parquet import open_trace

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support import injected as support
from support.injected import Injected, injected, write

RATIO_MAX = 2.0
REPEATS = 5
WIDTH = 51


def main() -> None:
    sizes = [int(word) for word in sys.argv if word.isdecimal()]
    processes = sizes[0] if sizes else 1_000
    messages = sizes[1] if len(sizes) > 1 else 30_000
    root = Path(tempfile.mkdtemp(prefix="aforesaid-bench-"))
    try:
        if "grow" in sys.argv:
            grow(processes, messages, "stable" in sys.argv, "wide" in sys.argv, root)
            return
        faults = processes * messages // 100_000
        began = perf_counter()
        good = write(injected(processes, messages, faults=0), root / "good", "good")
        made = injected(processes, messages, faults, lies=6, stability=True)
        spoiled = write(made, root / "spoiled", "spoiled")
        tenth = max(40, processes // 10)
        small = write(injected(tenth, messages, faults=0), root / "small", "small")
        long = write(injected(12, 1_000_000, faults=0), root / "long", "long")
        made_small = injected(tenth, messages // 10, faults=tenth // 4, strays=5)
        addressed = write(made_small, root / "addressed", "addressed")
        print(f"made in {perf_counter() - began:.0f} s: {processes:,} processes, {messages:,} messages")
        with spark_session(SparkOptions(memory="2g"), "bench") as spark:
            audit_good(spark, good, root)
            audit_spoiled(spark, spoiled, made, root)
            audit_spoiled(spark, addressed, made_small, root)
            audit_others(spark, small, root)
            audit_long(spark, long, root)
            print(f"memory: JVM {jvm_memory_bytes(spark) / 1e6:,.0f} MB at most, heap 2 GB")
    finally:
        shutil.rmtree(root)


def audit_good(spark: SparkSession, path: Path, root: Path) -> None:
    deliveries = open_trace(path).delivery_count
    found: list[Audit] = []
    aggregate, audited, alone = in_turn(
        lambda: plain_aggregate(spark, path),
        lambda: found.append(audited_once(spark, path, root)),
        lambda: kept(check(open_trace(path))),
    )
    assert all(outcome.value == "kept" for outcome in found[-1].outcomes)
    ratio = min(audited) / min(aggregate)
    print(f"{deliveries:,} deliveries in our layout, all kept:")
    print(f"  Spark aggregate of the columns   {told(aggregate, deliveries)}")
    print(f"  audit                            {told(audited, deliveries)}")
    print(f"  check, one process               {told(alone, deliveries)}")
    verdict = "met" if ratio <= RATIO_MAX else "MISSED"
    print(f"  audit / aggregate: {ratio:.2f} ({verdict}: at most {RATIO_MAX:.0f})")
    memory = summary(found[-1])["memory_bytes"]
    print(
        f"  memory: driver {memory['driver'] / 1e6:,.0f} MB, largest worker {memory['worker'] / 1e6:,.0f} MB"
    )


def audit_spoiled(spark: SparkSession, path: Path, made: Injected, root: Path) -> None:
    deliveries = open_trace(path).delivery_count
    found: list[Audit] = []
    (audited,) = in_turn(lambda: found.append(audited_once(spark, path, root)), repeats=1)
    report = found[-1].outcomes[0].report
    assert report is not None
    reports: list[Report] = []
    (alone,) = in_turn(lambda: reports.append(check(open_trace(path), witnesses_max=None)), repeats=1)
    assert report == reports[0], "audit and check disagree"
    put = sum(len(pairs) for pairs in made.expected.values())
    as_made(report, made)
    counted = sum(verdict.violations for verdict in report.verdicts.values())
    kinds = ", ".join(made.expected)
    print(f"{deliveries:,} deliveries with {len(made.faults)} faults in logs and others besides ({kinds}):")
    print(f"  {put} violations put in, {counted} found, none invented; the report is that of check")
    print(f"  audit                            {told(audited, deliveries)}")
    print(f"  check, one process               {told(alone, deliveries)}")


def audit_others(spark: SparkSession, path: Path, root: Path) -> None:
    deliveries = open_trace(path).delivery_count
    foreign = as_others_write(path, root / "foreign")
    aggregate, ours, shuffled, duck = in_turn(
        lambda: plain_aggregate(spark, path),
        lambda: audited_once(spark, path, root),
        lambda: audited_once(spark, foreign, root),
        lambda: duckdb_causal(path),
        repeats=2,
    )
    print(f"{deliveries:,} deliveries:")
    print(f"  Spark aggregate of the columns   {told(aggregate, deliveries)}")
    print(f"  audit, our layout                {told(ours, deliveries)}")
    print(f"  audit, others' layout            {told(shuffled, deliveries)}")
    print(f"  DuckDB, causal order alone       {told(duck, deliveries)}")


def audit_long(spark: SparkSession, path: Path, root: Path) -> None:
    """What a worker holds grows with the messages of a run."""
    messages = open_trace(path).event_counts["messages"]
    memory = summary(audited_once(spark, path, root))["memory_bytes"]
    print(f"{messages:,} messages, {open_trace(path).delivery_count:,} deliveries:")
    print(
        f"  memory: driver {memory['driver'] / 1e6:,.0f} MB, largest worker {memory['worker'] / 1e6:,.0f} MB"
    )


def audited_once(spark: SparkSession, path: Path, root: Path) -> Audit:
    return audit(spark, path, options=AuditOptions(witnesses_max=None), scratch=root)


def plain_aggregate(spark: SparkSession, path: Path) -> None:
    """What Spark needs to read the columns that an audit reads."""
    columns = ("process", "position", "time_ns", "message")
    table = spark.read.parquet(str(path / "deliveries.parquet"))
    table.agg(sql.count("*"), *(sql.max(name) for name in columns), sql.sum("message")).collect()


def duckdb_causal(path: Path) -> None:
    """Causal order by SQL, for a broadcast that was recorded truthfully."""
    query = f"""
        with first as (select process, message, min(position) as place
                       from '{path}/deliveries.parquet' group by all),
             edge as (select message, unnest("after") as earlier from '{path}/messages.parquet')
        select count(*) from first as late join edge using (message)
        left join first as early on early.process = late.process and early.message = edge.earlier
        where early.place is null or early.place > late.place
    """
    with duckdb.connect() as base:
        assert base.execute(query).fetchone() == (0,)


def as_others_write(path: Path, root: Path) -> Path:
    """The same tables in files of rows in no order, with the run in a column."""
    random = np.random.default_rng(1)
    for name in ("runs", "processes", "messages", "deliveries"):
        table: Any = pq.read_table(path / f"{name}.parquet")
        table = table.take(pa.array(random.permutation(len(table))))
        table = table.append_column("run", pa.array(["small"] * len(table)))
        (root / name).mkdir(parents=True)
        half = len(table) // 2 + 1
        for part in range(2):
            pq.write_table(table.slice(part * half, half), root / name / f"part-{part}.parquet")
    return root


def kept(report: Report) -> None:
    assert report.value() == "kept"


def grow(processes: int, messages: int, stable: bool, wide: bool, root: Path) -> None:
    if wide:
        support.SENDERS = WIDTH
    began = perf_counter()
    widths = (WIDTH, WIDTH) if wide else (1, 6)
    made = injected(processes, messages, faults=int(stable), stability=stable, widths=widths)
    path = write(made, root, "large")
    seconds, calls = perf_counter() - began, 0 if made.calls is None else len(made.calls.message)
    print(f"made in {seconds:.0f} s: {processes:,} processes, {messages:,} messages, {calls:,} calls")
    repeats = REPEATS if processes * messages <= 100_000_000 else 1
    best = {}
    for cores in (1, 2):
        # A process of its own, with a JVM of its own: both keep to so many cores.
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            best[cores] = apart.submit(audit_by, cores, path, made, root, repeats).result()
    print(f"one core / two cores: {best[1] / best[2]:.2f}")


def audit_by(cores: int, path: Path, made: Injected, root: Path, repeats: int) -> float:
    """The seconds of the best audit by so many cores."""
    os.sched_setaffinity(0, range(cores))
    deliveries = open_trace(path).delivery_count
    with spark_session(SparkOptions(master=f"local[{cores}]", temporary=root), "bench") as spark:
        found: list[Audit] = []
        aggregate, audited = in_turn(
            lambda: plain_aggregate(spark, path),
            lambda: found.append(audited_once(spark, path, root)),
            repeats=repeats,
        )
        report = found[-1].outcomes[0].report
        assert report is not None
        as_made(report, made)
        memory = summary(found[-1])["memory_bytes"]
        print(f"{deliveries:,} deliveries, {cores} core{'s'[: cores - 1]}:")
        print(f"  Spark aggregate of the columns   {told(aggregate, deliveries)}")
        print(f"  audit                            {told(audited, deliveries)}")
        print(f"  audit / aggregate: {min(audited) / min(aggregate):.2f}")
        print(f"  memory: driver {memory['driver'] / 1e6:,.0f} MB, largest worker ", end="")
        print(f"{memory['worker'] / 1e6:,.0f} MB, JVM {jvm_memory_bytes(spark) / 1e6:,.0f} MB", flush=True)
    return min(audited)


def as_made(report: Report, made: Injected) -> None:
    """The violations are those that were put in."""
    for name, verdict in report.verdicts.items():
        pairs = {(witness.process_index, witness.message_index) for witness in verdict.witnesses}
        assert pairs == made.expected.get(name, set()), f"{name}: not what was put in"


def in_turn(*actions: Callable[[], object], repeats: int = REPEATS) -> list[list[float]]:
    """The seconds of each action, one after the other and round again, so that a busy spell hits them all."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for place, action in enumerate(actions):
            start = perf_counter()
            action()
            seconds[place].append(perf_counter() - start)
    return seconds


def told(seconds: list[float], deliveries: int) -> str:
    best = min(seconds)
    first = f", first time {seconds[0]:.1f} s" if len(seconds) > 1 else ""
    return f"{best:5.1f} s, {deliveries / best / 1e6:5.1f} million deliveries per second{first}"


if __name__ == "__main__":
    main()
