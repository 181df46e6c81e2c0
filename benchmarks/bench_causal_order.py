"""How fast `causal_order` puts a stream in order on Spark, beside the same stream that is only passed on.

A million events of 1,000 keys, each after up to two of the 20 before it in its key, come shuffled within
windows of 70,000, as Parquet files, four to a batch of 200,000; what comes out is thrown away. Passing on is
to Python and back: what a stream costs that Python sees at all. CPU is that of the JVM and Spark's workers.
Warm is without the first batch, for which workers and state stores are started.
Run: python benchmarks/bench_causal_order.py [events]
"""

import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from aforesaid.pipeline import SparkOptions, causal_order, spark_session
from aforesaid.pipeline.ordering.operator import PROVIDER, ROCKS

KEYS = 1_000
BEHIND = 20
WINDOW = 70_000
FILES = 20
FILES_A_BATCH = 4
RATE_MIN = 100_000
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
EMPTY = "spark.sql.streaming.noDataMicroBatches.enabled"
"""With them, a query whose patience may end never does."""
SCHEMA = "key bigint, id string, follows array<string>, amount double"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    conf = (f"{PROVIDER}={ROCKS}", f"{CHANGELOG}=true", f"{EMPTY}=false", "spark.sql.shuffle.partitions=2")
    # The JVM hands on a few values: it need not be quick, but soon there.
    options = SparkOptions("local[2]", small=True, conf=conf)
    with tempfile.TemporaryDirectory() as temporary, spark_session(options, "bench") as spark:
        directory = Path(temporary)
        write(count, directory / "in")
        print(f"{count:,} events of {KEYS:,} keys, shuffled within windows of {WINDOW:,}, local[2]:")
        order = partial(causal_order, id="id", follows="follows", key="key")
        for name, through in (
            ("(to warm up)", order),
            ("passed on", lambda stream: stream.mapInArrow(passed, stream.schema)),
            ("in causal order, for ever", order),
            ("in causal order, with patience", partial(order, patience_s=60)),
        ):
            rate, warm, per_cpu, out = run(spark, directory, name, through)
            assert out == count, f"{out} of {count} came out"
            verdict = f" ({'met' if rate >= RATE_MIN else 'MISSED'}: {RATE_MIN:,})"
            bar = verdict if "causal" in name else ""
            told = f"{rate:9,.0f} events/s{bar}, {warm:9,.0f} warm, {per_cpu:9,.0f} per CPU-s"
            print(f"  {name:31} {told}", flush=True)


def run(
    spark: SparkSession, directory: Path, name: str, through: Callable[[DataFrame], DataFrame]
) -> tuple[float, float, float, int]:
    """Events a second, those of all batches but the first, those for a CPU second, and how many came out."""
    read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES_A_BATCH)
    write = through(read.parquet(str(directory / "in"))).writeStream.format("noop")
    checkpoint = directory / name.replace(" ", "-")
    began, spent = perf_counter(), cpu_s()
    query = write.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    wall, cpu = perf_counter() - began, cpu_s() - spent
    batches = query.recentProgress
    come = [each["numInputRows"] for each in batches]
    warm_s = sum(each["durationMs"]["triggerExecution"] for each in batches[1:]) / 1000
    out = sum(max(0, each["sink"]["numOutputRows"]) for each in batches)
    return sum(come) / wall, sum(come[1:]) / max(warm_s, 1e-9), sum(come) / cpu, out


def write(count: int, directory: Path) -> None:
    chance = random.Random(1)
    events: list[tuple[int, str, list[str], float]] = []
    for number in range(count):
        turn, key = divmod(number, KEYS)
        names = {turn - 1 - chance.randrange(BEHIND) for _ in range(chance.randrange(3))}
        events.append((key, f"event-{turn}", [f"event-{name}" for name in names if name >= 0], 1.0))
    for start in range(0, count, WINDOW):
        window = events[start : start + WINDOW]
        chance.shuffle(window)
        events[start : start + WINDOW] = window
    directory.mkdir()
    kinds = [pa.int64(), pa.string(), pa.list_(pa.string()), pa.float64()]
    size = -(-count // FILES)
    for start in range(0, count, size):
        columns = zip(*events[start : start + size], strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        pq.write_table(
            pa.table(arrays, ["key", "id", "follows", "amount"]), directory / f"{start:09}.parquet"
        )


def passed(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def cpu_s() -> float:
    """What this process and all that it has started have spent, as far as they live or were waited for."""
    parents, spent = dict[int, int](), dict[int, int]()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(status.parent.name)
        parents[process] = int(fields[1])
        spent[process] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent.get(process, 0) for process in ours) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
