"""Plain functions as Spark tasks: one call per task, arguments out, results back. Nothing else of Spark.

Works alike in local mode, on clusters and by Spark Connect: no RDD, no broadcast, no accumulator. Arguments
and results should be small; what is large is read and written by the tasks themselves, as files.

What a task itself complains of comes back as a result and is raised here, as it was: one line, with its
cause. Any other failure is Spark's: it tries again, elsewhere if it can, before it gives up.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from aforesaid.core import AforesaidError
from aforesaid.pipeline.memory import settle
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
                result = packed(attempted(work, arguments[task]))
                done = {"task": pa.array([task], pa.int64()), "result": pa.array([result], pa.binary())}
                settle()
                yield pa.record_batch(done)

    count = len(arguments)
    with watched(spark, tell):
        # A range in as many partitions as numbers is the one way to get exactly one call per task.
        rows = spark.range(0, count, 1, count).mapInArrow(call, "task long, result binary").collect()
    by_task: dict[int, Any] = {row["task"]: row["result"] for row in rows}
    return [raised(unpacked(by_task[task])) for task in range(count)]


def attempted(work: Callable[[_Argument], _Result], argument: _Argument) -> _Result | AforesaidError:
    """The result of a call, or what it complains of."""
    try:
        return work(argument)
    except AforesaidError as error:
        # Where it was raised cannot travel, and need not: it is a line that says all.
        return error.with_traceback(None)


def raised(result: _Result | AforesaidError) -> _Result:
    """The result of a call that was made elsewhere; raises what it complained of."""
    if isinstance(result, AforesaidError):
        raise result
    return result


def packed(result: object) -> bytes:
    """Anything, for the way from a task to the driver."""
    data = pickle.dumps(result, protocol=5)
    return len(data).to_bytes(8) + bytes(pa.compress(data, codec="lz4", asbytes=True))


def unpacked(data: bytes) -> Any:
    return pickle.loads(pa.decompress(data[8:], int.from_bytes(data[:8]), codec="lz4"))
