"""`causal_order` on a real stream: exact over crashes and restarts, patient in time, and asked why."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from aforesaid import Misuse
from aforesaid.pipeline.ordering import causal_order, why
from aforesaid.pipeline.ordering.operator import PROVIDER, ROCKS
from support.scale import scaled

PARTITIONS = "spark.sql.shuffle.partitions"
SCHEMA = "shop string, name bigint, after array<bigint>, amount bigint"
ARROW = pa.schema(
    [("shop", pa.string()), ("name", pa.int64()), ("after", pa.list_(pa.int64())), ("amount", pa.int64())]
)
BEYOND_FLOATS = 2**53 + 1
SECONDS_MAX = 60
FILES = scaled(2, 8)
"""That come before a query is started, and again before it is started again."""
CRASHES = scaled({1}, {0, 3, 4, 9, 10, 15})
Event = tuple[str, int, tuple[int, ...]]


@pytest.fixture(autouse=True)
def _rocks(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PROVIDER, ROCKS)
    spark.conf.set(PARTITIONS, 2)
    yield
    spark.conf.unset(PROVIDER)
    spark.conf.set(PARTITIONS, str(before))


def come(events: list[Event], directory: Path, number: int) -> None:
    """A file of events, which is a batch."""
    amounts = [BEYOND_FLOATS if name % 2 else None for _, name, _ in events]
    columns = [*map(list, zip(*events, strict=True)), amounts]
    table = pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, ARROW, strict=True)], ARROW
    )
    directory.mkdir(exist_ok=True)
    pq.write_table(table, directory / f"{number}.parquet")


def ordered(spark: SparkSession, directory: Path, **options: Any) -> DataFrame:
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(directory))
    return causal_order(stream, id="name", follows="after", key="shop", **options)


class Table:
    """A table that takes a batch once, and crashes when it is to, after the effect and before the commit."""

    def __init__(self, crashes: set[int]) -> None:
        self.batches: dict[int, list[Any]] = {}
        self.crashes = crashes
        self.repeated = 0

    def take(self, frame: DataFrame, batch: int) -> None:
        rows = frame.collect()
        if batch in self.batches:
            self.repeated += 1
            assert sorted(rows) == sorted(self.batches[batch])
        self.batches[batch] = rows
        if batch in self.crashes:
            self.crashes.remove(batch)
            raise RuntimeError("crash")

    @property
    def rows(self) -> list[Any]:
        """Of all batches; within a batch as they came."""
        return [row for _, rows in sorted(self.batches.items()) for row in rows]


def drain(frame: DataFrame, table: Table, checkpoint: Path) -> None:
    """All that is there, however often the query crashes."""
    for _ in range(10):
        write = frame.writeStream.foreachBatch(table.take).option("checkpointLocation", str(checkpoint))
        query = write.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(SECONDS_MAX)
            return
        except StreamingQueryException as error:
            if "crash" not in str(error):
                raise
    raise AssertionError("it crashes for ever")


def test_it_is_exact_over_crashes_and_restarts(spark: SparkSession, tmp_path: Path) -> None:
    seed = 7
    chance = random.Random(seed)
    events: list[Event] = []
    for shop in "abcdef":
        for name in range(300):
            earlier = range(max(0, name - 40), name)
            events.append((shop, name, tuple(chance.sample(earlier, min(len(earlier), chance.randrange(3))))))
    coming = events + chance.sample(events, 300)
    chance.shuffle(coming)
    table, files = Table(crashes=set(CRASHES)), 2 * FILES
    for number in range(files):
        come(coming[number::files], tmp_path / "in", number)
        if number in (FILES - 1, files - 1):  # The second time, a query finds a checkpoint.
            drain(ordered(spark, tmp_path / "in", buckets=4), table, tmp_path / "checkpoint")
    assert table.repeated == len(CRASHES)
    follows = {(shop, name): after for shop, name, after in events}
    assert sorted((row["shop"], row["name"]) for row in table.rows) == sorted(follows), f"seed {seed}"
    before: set[tuple[str, int]] = set()
    turns: dict[str, int] = {}
    for row in table.rows:
        shop, name = row["shop"], row["name"]
        assert {(shop, each) for each in follows[shop, name]} <= before, f"seed {seed}: {row}"
        assert row["turn"] > turns.get(shop, -1)
        assert row["amount"] == (BEYOND_FLOATS if name % 2 else None)
        assert (row["lacking"], row["late"], row["given_up"]) == ([], False, False)
        before.add((shop, name))
        turns[shop] = row["turn"]


def test_who_waits_too_long_is_given_up_though_nothing_comes_and_says_why_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    come([("a", 3, (2,)), ("a", 2, (1,)), ("b", 1, ())], tmp_path / "in", 0)
    table, checkpoint = Table(set()), tmp_path / "checkpoint"
    frame = ordered(spark, tmp_path / "in", patience_s=4.0, dead_letters=True, buckets=2)
    write = frame.writeStream.foreachBatch(table.take).option("checkpointLocation", str(checkpoint))
    query = write.start()
    try:
        until(lambda: len(table.rows) == 1 and (checkpoint / "commits" / "0").exists())
        told = why(spark, str(checkpoint), 3, key="a")
        assert (told.state, told.lacking, told.roots) in [("waits", (2,), (1,)), ("given up", (), ())]
        assert str(why(spark, str(checkpoint), 1, key="b")) == "1 was handed on"
        until(lambda: len(table.rows) == 3)
    finally:
        query.stop()
    given_up = [(row["name"], row["lacking"]) for row in table.rows if row["given_up"]]
    assert given_up == [(3, [2]), (2, [1])]
    assert why(spark, str(checkpoint), 9, key="a").state == "not here"


def until(true: Any) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"id": "nam"}, "there is no column nam; there are shop, name, after, amount"),
        ({"id": "after"}, "column after is array<bigint>; ids and keys are strings or integers"),
        ({"follows": "shop"}, "column shop is string, not array<bigint>"),
        ({"buckets": 0}, "buckets is at least 1"),
        ({"dead_letters": True}, "dead_letters is never called without patience_s"),
    ],
)
def test_what_cannot_be_is_told_before_it_starts(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with pytest.raises(Misuse, match=told):
        causal_order(stream, **{"id": "name", "follows": "after", **options})


def test_a_table_a_clash_and_another_store_of_state_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="takes a stream"):
        causal_order(spark.createDataFrame([], SCHEMA), id="name", follows="after")
    clash = spark.readStream.schema(f"{SCHEMA}, turn int").parquet(str(tmp_path))
    with pytest.raises(Misuse, match="column turn would be added, and is there already"):
        causal_order(clash, id="name", follows="after")
    spark.conf.unset(PROVIDER)
    with pytest.raises(Misuse, match=r'in RocksDB: spark.conf.set\("spark.sql.streaming'):
        ordered(spark, tmp_path)
