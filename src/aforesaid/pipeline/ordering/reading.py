"""Why an event has not come out, by what the query has saved: it need not be stopped, and is not asked."""

import json
import sys
import time
from collections.abc import Hashable

from pyspark.sql import SparkSession

from aforesaid.order import Why
from aforesaid.pipeline.ordering.bucket import Bucket, Columns, Limits, Saved
from aforesaid.pipeline.ordering.operator import STATE


def why(
    spark: SparkSession, checkpoint: str, id: Hashable, *, key: Hashable = None, operator: int = 0
) -> Why:
    """What became of an event, or what it waits for, as of the last batch that a query has finished.

    `operator` tells which it is, if the query has several that keep state.
    """
    read = spark.read.format("statestore").option("stateVarName", STATE).option("operatorId", operator)
    told = Why(id, "not here")
    for row in read.load(checkpoint).select("value.*").toLocalIterator():
        bucket = Bucket(Columns(**json.loads(row["columns"])), Limits(remember=sys.maxsize), Saved(*row))
        told = bucket.why(id, key, time.time())
        if told.state != "not here" or told.held_up:
            break
    return told
