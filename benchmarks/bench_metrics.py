"""How fast latency is measured on Spark, beside Spark's own join and percentiles over the same files.

    python benchmarks/bench_metrics.py [processes] [messages]

The trace is that of tests/support/injected.py, 1,000 processes that deliver 30,000 messages each. Both ways
run in one session, each three times; the best counts. The join is the plain way: deliveries with their
messages, then `percentile_approx`; the percentiles of both must agree.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from aforesaid.pipeline.measuring import compute, find_sources
from aforesaid.pipeline.session import SparkOptions, spark_session

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.injected import injected, write

REPEATS = 3


def main() -> None:
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    messages = int(sys.argv[2]) if len(sys.argv) > 2 else 30_000
    root = Path(tempfile.mkdtemp(prefix="aforesaid-bench-"))
    try:
        path = write(injected(processes, messages, faults=0), root / "traces", "good")
        print(f"{processes:,} processes, {messages:,} messages, {processes * messages:,} deliveries")
        with spark_session(SparkOptions(memory="2g"), "bench") as spark:
            measured, ours = measure(spark, path)
            joined, theirs = join(spark, path)
    finally:
        shutil.rmtree(root)
    print(f"all tables of metrics   {measured:6.1f} s")
    print(f"a join and percentiles  {joined:6.1f} s: {joined / measured:.1f} times as long")
    for share, one, other in zip(("p50", "p99"), ours, theirs, strict=True):
        assert abs(one / other - 1) < 0.02, f"{share}: {one} and {other} ms"


def measure(spark: SparkSession, path: Path) -> tuple[float, list[float]]:
    best = float("inf")
    for _ in range(REPEATS):
        began = perf_counter()
        (row,) = compute(spark, find_sources(path))["latency"].to_pylist()
        best = min(best, perf_counter() - began)
    return best, [row["p50_ms"], row["p99_ms"]]


def join(spark: SparkSession, path: Path) -> tuple[float, list[float]]:
    best, found = float("inf"), [0.0, 0.0]
    for _ in range(REPEATS):
        began = perf_counter()
        sent = spark.read.parquet(str(path / "messages.parquet")).select(
            "message", "origin", sql.col("time_ns").alias("sent_ns")
        )
        rows = spark.read.parquet(str(path / "deliveries.parquet")).join(sent, "message")
        latency = (sql.col("time_ns") - sql.col("sent_ns")) / 1e6
        percentiles = sql.percentile_approx(latency, [0.5, 0.99], 1_000)
        (row,) = rows.where("process <> origin").agg(percentiles.alias("ms")).collect()
        best, found = min(best, perf_counter() - began), list(row["ms"])
    return best, found


if __name__ == "__main__":
    main()
