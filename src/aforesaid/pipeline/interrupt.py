"""Calls to Spark in a thread of their own: one that hangs can be left, and Ctrl-C meets us, not Spark.

Interrupted in the middle of a call, py4j would print a stack trace and leave its connection unusable. So the
interrupt ends the waiting here; the session, when its block is left, ends the job.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

POLL_SECONDS = 0.5
"""How often `look` is called."""

_Result = TypeVar("_Result")


def interruptible(job: Callable[[], _Result], look: Callable[[], None] = lambda: None) -> _Result:
    """Run a job of Spark's, and look how far it is now and then."""
    thread, results, failures = _started(job)
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        look()
    if failures:
        raise failures[0]
    return results[0]


def within(seconds: float, call: Callable[[], _Result]) -> list[_Result]:
    """The result of a call; none if it takes longer than that."""
    thread, results, failures = _started(call)
    thread.join(seconds)
    if failures:
        raise failures[0]
    return results


def _started(
    call: Callable[[], _Result],
) -> tuple[threading.Thread, list[_Result], list[BaseException]]:
    """A thread that makes a call, and where its result or its failure will be."""
    results: list[_Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, results, failures
