"""How far Spark is: tasks finished and tasks in all, told while a job runs; by Spark Connect too."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

POLL_SECONDS = 0.2

Tell = Callable[[int, int], None]
"""Called with the tasks finished and the tasks of all stages that run."""


@contextmanager
def watched(spark: SparkSession, tell: Tell) -> Iterator[None]:
    """Tells how far the jobs of a block are."""
    if not hasattr(spark, "_jsparkSession"):
        with _watched_remote(spark, tell):
            yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_poll, args=(spark, tell, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(5 * POLL_SECONDS)


def _poll(spark: SparkSession, tell: Tell, over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not over.wait(POLL_SECONDS):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        running = [stage for stage in stages if stage is not None]
        if running:
            tell(sum(stage.numCompletedTasks for stage in running), sum(stage.numTasks for stage in running))


@contextmanager
def _watched_remote(spark: Any, tell: Tell) -> Iterator[None]:
    def handle(stages: Any, inflight_tasks: int, operation_id: str, done: bool) -> None:
        if stages:
            tell(sum(stage.num_completed_tasks for stage in stages), sum(stage.num_tasks for stage in stages))

    spark.registerProgressHandler(handle)
    try:
        yield
    finally:
        spark.removeProgressHandler(handle)
