"""Ctrl-C while Spark works: it should meet us, not Spark's connection in the middle of a call."""

import threading
from collections.abc import Callable
from typing import TypeVar

POLL_SECONDS = 0.5
"""How often `look` is called."""

_Result = TypeVar("_Result")


def interruptible(job: Callable[[], _Result], look: Callable[[], None] = lambda: None) -> _Result:
    """Run a job of Spark's in a thread of its own, and look how far it is now and then.

    Interrupted, py4j would print a stack trace and leave its connection unusable. So the interrupt ends the
    waiting here; the session, when its block is left, ends the job.
    """
    results: list[_Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(job())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        look()
    if failures:
        raise failures[0]
    return results[0]
