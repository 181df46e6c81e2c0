"""How fast traces are audited from an object store, beside a bare PyArrow read of the same tables from it.

The store is moto's S3 server on loopback, in a process of its own. The trace is that of
tests/support/injected.py; the audit runs in local mode on every core, in a session like that of the command,
and PyArrow reads with every core. Beside them is what no audit on Spark can be faster than: Spark's own
aggregate of the columns that an audit reads, from a directory of this machine.
Run: python benchmarks/bench_s3.py [processes] [messages]
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from aforesaid.pipeline.auditing import audit
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.storage import Place, Remote, sizes_below, total_size
from aforesaid.trace.parquet import open_trace

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from bench_audit import plain_aggregate
from support.injected import injected, write
from support.s3 import new_bucket, s3_server

RATIO_MAX = 1.5
REPEATS = 3
TABLES = ("runs", "processes", "messages", "deliveries")


def main() -> None:
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    messages = int(sys.argv[2]) if len(sys.argv) > 2 else 30_000
    with tempfile.TemporaryDirectory(prefix="aforesaid-bench-") as scratch, s3_server(Path(scratch)) as s3:
        here = write(injected(processes, messages, faults=0), Path(scratch), "good")
        there = new_bucket(s3, "bench").place / "run=good"
        for path in sizes_below(here):
            (there / path).write_bytes((here / path).read_bytes())
        print(f"{open_trace(here).delivery_count:,} deliveries, {total_size(here) / 1e6:,.0f} MB:")
        with spark_session(SparkOptions(small=True), "bench") as spark:
            calls = {
                "PyArrow reads the tables from S3": lambda: read(there),
                "audit from S3": lambda: judge(spark, there),
                "audit from a directory": lambda: judge(spark, here),
                "Spark aggregate, a directory": lambda: plain_aggregate(spark, here),
            }
            taken = in_turn(calls)
    for name, times in taken.items():
        print(f"  {name:33} {min(times):5.2f} s, first time {times[0]:.1f} s")
    bare, remote, _, aggregate = (min(times) for times in taken.values())
    verdict = "met" if remote / bare <= RATIO_MAX else "MISSED"
    print(f"  audit from S3 / bare read: {remote / bare:.2f} ({verdict}: at most {RATIO_MAX})")
    print(f"  Spark's aggregate from a directory / bare read from S3: {aggregate / bare:.2f}")


def in_turn(calls: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    """How long each takes, time after time, one after the other: the machine may be busy meanwhile. Each
    twice in a row, for memory that others had meanwhile is slow to come by."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, call in calls.items():
            for _ in range(2):
                began = perf_counter()
                call()
                taken[name].append(perf_counter() - began)
    return taken


def judge(spark: SparkSession, run: Place) -> None:
    assert audit(spark, run).value == "kept"


def read(run: Remote) -> None:
    for table in TABLES:
        pq.read_table(f"{run.path}/{table}.parquet", filesystem=run.store)


if __name__ == "__main__":
    main()
