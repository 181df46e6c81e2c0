"""A watch: a streaming query over the spans of growing logs, and the judge that reads each batch of them.

Tasks make columns of the bytes, on every core; the judge runs beside the driver, in Spark's `foreachBatch`.
It is told of each batch once: Spark gives a batch the same number and the same bytes after a restart, and the
ledger knows which numbers are done.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from aforesaid.check import Report, Violation
from aforesaid.core import SECOND, Misuse
from aforesaid.live.judge import AGE_S, GRACE_S, Judge, Told
from aforesaid.live.spans import unpacked
from aforesaid.pipeline.memory import uncollected
from aforesaid.pipeline.source import register
from aforesaid.pipeline.source.source import FORMAT, SPANS
from aforesaid.pipeline.watching.ledger import Ledger, Row
from aforesaid.storage import Place, is_local, place

EVERY_S = 0.2
POLL_S = 0.1
"""How often it is looked whether a watch goes on."""


@dataclass(frozen=True)
class WatchOptions:
    grace_s: float = GRACE_S
    """How long a delivery waits for a message that nobody has said yet."""
    age_s: float = AGE_S
    """How long somebody is waited for who lacks a message."""
    every_s: float = EVERY_S
    """A batch begins so long after the one before, at the soonest."""
    tasks: int | None = None
    """How many read at once; None: as many as there are cores."""


@dataclass(frozen=True)
class Batch:
    """What a batch brought."""

    number: int
    told: Told
    row: Row
    commit_s: float
    """How long it took to write it down."""


class Watch:
    """One watch of some segments; its tables are in `out`."""

    def __init__(
        self,
        spark: SparkSession,
        segments: Sequence[str],
        out: str,
        options: WatchOptions | None = None,
        tell: Callable[[Batch], None] | None = None,
    ) -> None:
        """`tell` is called after each batch, in a thread of its own."""
        if not hasattr(spark, "_jsparkSession"):
            raise Misuse("the judge runs beside the driver: a watch cannot be run by Spark Connect")
        self.options = options or WatchOptions()
        self._spark, self._segments, self._out = spark, [_absolute(each) for each in segments], out
        self._tell = tell
        target: Place = place(out).resolve()
        self.ledger = Ledger(target)
        fresh = Judge(self.options.grace_s, self.options.age_s)
        self.judge = self.ledger.opened(self._segments, fresh)
        self._checkpoint = f"{target}/checkpoint"
        self.error: BaseException | None = None
        self.changed_s = time.monotonic()
        """When something new was read last."""
        self._last_s = time.monotonic()
        self._looked = False
        self._busy = threading.Lock()
        self._query: StreamingQuery | None = None

    def start(self) -> None:
        register(self._spark)
        spans = (
            self._spark.readStream.format(FORMAT)
            .option("table", SPANS)
            .option("paths", json.dumps(self._segments))
            .option("tasks", str(self.options.tasks or os.cpu_count() or 1))
            .load()
        )
        self._query = (
            spans.writeStream.foreachBatch(self._judged)
            .option("checkpointLocation", self._checkpoint)
            .trigger(processingTime=f"{int(self.options.every_s * 1000)} milliseconds")
            .start()
        )

    @property
    def running(self) -> bool:
        """False once it has failed; then `error` or Spark's own exception is raised."""
        if self.error is not None:
            raise self.error
        if self._query is None:
            return False
        if failure := self._query.exception():
            raise failure
        return bool(self._query.isActive)

    @property
    def idle_s(self) -> float:
        """For how long nothing has been written that was not read; 0 until it was looked for."""
        if not self._looked and self._query is not None:
            self._looked = str(self._query.status["message"]).startswith("Waiting")
            self.changed_s = time.monotonic()
        return 0.0 if self._busy.locked() else time.monotonic() - self.changed_s

    def follow(self, until_idle_s: float | None, stop: threading.Event) -> None:
        """Until nothing has been written for so long, once there was something; or until somebody says so."""
        while self.running and not stop.wait(POLL_S):
            began = self.judge.totals.events > 0
            if until_idle_s is not None and began and self.idle_s >= until_idle_s:
                return

    def stop(self) -> None:
        """Read no more. What was committed stays; what was under way is read again by the next watch."""
        query, self._query = self._query, None
        if query is not None and query.isActive:
            query.stop()
        with self._busy:
            pass

    def end(self, properties: Sequence[str] | None = None) -> tuple[Report, list[Violation]]:
        """Stop, and judge as if no log grew any more; written down."""
        self.stop()
        report, last = self.judge.ending(properties)
        self.ledger.end(self.judge, report, last)
        return report, last

    def _judged(self, spans: DataFrame, number: int) -> None:
        with self._busy:
            try:
                self._judge(spans, number)
            except BaseException as error:
                self.error = error
                raise

    def _judge(self, spans: DataFrame, number: int) -> None:
        if number <= self.ledger.batch or self._query is None:
            return
        began = time.monotonic()
        columns = [unpacked(data) for data in spans.toArrow().column("span").to_pylist()]
        elapsed, self._last_s = time.monotonic() - self._last_s, time.monotonic()
        spent = time.thread_time()
        with uncollected():
            told = self.judge.feed(columns, elapsed, time.time_ns())
        row = self._row(number, told)
        row["reading_cpu_s"] = sum(span.cpu_s for span in columns)
        row["judging_cpu_s"] = time.thread_time() - spent
        row["seconds"] = time.monotonic() - began
        self.ledger.commit(number, self.judge, told.violations, row, self._segments)
        committed_s = time.monotonic() - began - row["seconds"]
        if told.events:
            self.changed_s = time.monotonic()
        if self._tell is not None:
            self._tell(Batch(number, told, row, committed_s))

    def _row(self, number: int, told: Told) -> Row:
        totals = self.judge.totals
        row: dict[str, Any] = {
            "batch": number,
            "at_s": time.time(),
            "events": told.events,
            "messages": totals.messages,
            "deliveries": totals.deliveries,
            "in_flight": told.in_flight,
            "waiting": told.waiting,
            "lag_s": told.lag_ns / SECOND,
            "violations": sum(self.judge.counts.values()),
        }
        return row


def _absolute(path: str) -> str:
    return str(place(path).resolve()) if is_local(path) else path
