"""Plain functions as Spark tasks: one call per task, arguments out, results back. Nothing else of Spark.

Works alike in local mode, on clusters and by Spark Connect: no RDD, no broadcast, no accumulator. Arguments
and results should be small; what is large is read and written by the tasks themselves, as files.
"""

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from aforesaid.pipeline.progress import Tell, watched

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


def run_tasks(
    spark: SparkSession,
    work: Callable[[_Argument], _Result],
    arguments: Sequence[_Argument],
    tell: Tell = lambda done, total: None,
) -> list[_Result]:
    """The result of each call, in the order of the arguments. An exception in one fails them all."""
    if not arguments:
        return []

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column("id").to_pylist():
                result = zlib.compress(pickle.dumps(work(arguments[task])), 1)
                yield pa.record_batch(
                    {"task": pa.array([task], pa.int64()), "result": pa.array([result], pa.binary())}
                )

    count = len(arguments)
    with watched(spark, tell):
        # A range in as many partitions as numbers is the one way to get exactly one call per task.
        rows = spark.range(0, count, 1, count).mapInArrow(call, "task long, result binary").collect()
    by_task: dict[int, Any] = {row["task"]: row["result"] for row in rows}
    return [pickle.loads(zlib.decompress(by_task[task])) for task in range(count)]
