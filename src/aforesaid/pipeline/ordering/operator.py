"""`causal_order(stream, id=..., follows=..., key=...)`: a stream in, the same in causal order out.

Rows are packed before Spark groups them, many to a value, and unpacked behind: the stateful operator sees a
few values instead of a row for each event, and any column passes as it is, untouched by pandas. What is
remembered between batches is Spark's state, so that a query that is killed goes on as if nothing had been.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from aforesaid.core import Misuse
from aforesaid.pipeline.memory import settle, uncollected
from aforesaid.pipeline.ordering.bucket import (
    REMEMBER,
    TOLD,
    WAITING_MAX,
    Bucket,
    Columns,
    Limits,
    Saved,
    packed,
    unpacked,
)

STATE = "bucket"
STATE_SCHEMA = "columns string, past binary, waiting binary, saved_s double, turns bigint"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BATCH_ROWS = 10_000
"""Lists in larger batches take Spark's JVM a time that grows with their square."""
_BUCKET = "aforesaid_bucket"
_NAMES = (StringType, LongType, IntegerType, ShortType, ByteType)

Batches = Iterator[pa.RecordBatch]


def causal_order(
    stream: DataFrame,
    *,
    id: str,
    follows: str,
    key: str | None = None,
    patience_s: float | None = None,
    dead_letters: bool = False,
    waiting_max: int = WAITING_MAX,
    remember: int = REMEMBER,
    buckets: int = 16,
) -> DataFrame:
    """The events of a stream in causal order within their key, each once.

    `id` names the column of an event's id, `follows` that of the list of the ids it follows, `key` that of
    what they are told apart by. Added are `lacking`, what it was handed on without, `late`, `given_up` and
    `turn`, by which events of a key can be sorted again. Patience and limits are those of an `Order`; each of
    `buckets`, among which keys are dealt, has one. With `dead_letters`, who waited too long is `given_up`.
    """
    columns = Columns(id, follows, key, buckets)
    limits = Limits(patience_s, dead_letters, waiting_max, remember)
    _check(stream, columns)
    Bucket(columns, limits)  # Complains here, not in a task, of limits that cannot be.
    named = F.pmod(F.xxhash64(F.col(key)), F.lit(buckets)) if key else F.lit(0)
    told: list[DataType] = [ArrayType(stream.schema[id].dataType), BooleanType(), BooleanType(), LongType()]
    added = [StructField(name, kind, False) for name, kind in zip(TOLD, told, strict=True)]
    return (
        stream.select(named.cast("int").alias(_BUCKET), "*")
        .mapInArrow(_pack, "bucket int, part int, number bigint, events binary")
        .groupBy("bucket")
        .transformWithStateInPandas(
            Ordering(columns, limits),
            outputStructType="events binary",
            outputMode="append",
            timeMode="none" if patience_s is None else "processingTime",
        )
        .mapInArrow(_unpack, StructType([*stream.schema.fields, *added]))
    )


def _check(stream: DataFrame, columns: Columns) -> None:
    if not stream.isStreaming:
        raise Misuse("causal_order takes a stream: spark.readStream; for what is all there, sort it")
    if columns.buckets < 1:
        raise Misuse("buckets is at least 1")
    kinds = {field.name: field.dataType for field in stream.schema.fields}
    for name in (columns.id, columns.follows, columns.key):
        if name is not None and name not in kinds:
            raise Misuse(f"there is no column {name}; there are {', '.join(kinds)}")
    for name in (columns.id, columns.key):
        if name is not None and not isinstance(kinds[name], _NAMES):
            raise Misuse(
                f"column {name} is {kinds[name].simpleString()}; ids and keys are strings or integers"
            )
    wanted, given = ArrayType(kinds[columns.id]).simpleString(), kinds[columns.follows].simpleString()
    if given != wanted:
        raise Misuse(f"column {columns.follows} is {given}, not {wanted}")
    if clash := sorted(set(TOLD) & kinds.keys()):
        raise Misuse(f"column {clash[0]} would be added, and is there already: rename it")
    if "RocksDB" not in (stream.sparkSession.conf.get(PROVIDER, "") or ""):
        raise Misuse(f'Spark keeps such state in RocksDB: spark.conf.set("{PROVIDER}", "{ROCKS}") first')


class Ordering(StatefulProcessor):
    """A bucket to each group, from Spark's state and back to it."""

    def __init__(self, columns: Columns, limits: Limits) -> None:
        self._columns, self._limits = columns, limits

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._state = handle.getValueState(STATE, STATE_SCHEMA)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        packs = pd.concat(list(rows))
        # As they came from the source: a batch that is run again gives the same.
        packs = packs.sort_values(["part", "number"])["events"]
        yield from self._step(pa.concat_tables(map(unpacked, packs)).combine_chunks(), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        yield from self._step(None, timerValues)

    def close(self) -> None:
        settle()

    def _step(self, events: Any | None, timers: Any) -> Iterator[Any]:
        saved = self._state.get()
        with uncollected():
            bucket = Bucket(self._columns, self._limits, None if saved is None else Saved(*saved))
            told = bucket.step(events, _now_s(timers))
            saved, due_s = bucket.saved(), bucket.due_s
        self._state.update(tuple(saved))
        if self._limits.patience_s is not None:
            self._wake(due_s)
        for start in range(0, told.num_rows, BATCH_ROWS):
            yield pd.DataFrame({"events": [packed(told.slice(start, BATCH_ROWS))]})

    def _wake(self, due_s: float | None) -> None:
        """Be called when patience ends, though nothing comes; a bit later, lest rounding be earlier."""
        for earlier in list(self._handle.listTimers()):
            self._handle.deleteTimer(earlier)
        if due_s is not None:
            self._handle.registerTimer(int(due_s * 1000) + 1)


def _now_s(timers: Any) -> float:
    """When the batch began, which is the same if it is run again; without timers Spark does not tell."""
    told_ms = timers.getCurrentProcessingTimeInMs()
    return told_ms / 1000 if told_ms > 0 else time.time()


def _pack(batches: Batches) -> Batches:
    """Rows to values, one for each bucket that a batch has events of."""
    context = TaskContext.get()
    part = context.partitionId() if context else 0
    for number, batch in enumerate(batches):
        dealt = batch.column(0).to_numpy()
        by_bucket = np.argsort(dealt, kind="stable")
        found, starts = np.unique(dealt[by_bucket], return_index=True)
        table = pa.table(batch).drop_columns([_BUCKET]).take(by_bucket)
        ends = [*starts[1:], len(dealt)]
        packs = [packed(table.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)]
        yield pa.record_batch(
            {
                "bucket": pa.array(found, pa.int32()),
                "part": pa.array([part] * len(found), pa.int32()),
                "number": pa.array([number] * len(found), pa.int64()),
                "events": pa.array(packs, pa.binary()),
            }
        )
    settle()


def _unpack(batches: Batches) -> Batches:
    for batch in batches:
        for events in batch.column(0):
            yield from unpacked(events.as_py()).to_batches()
    settle()
