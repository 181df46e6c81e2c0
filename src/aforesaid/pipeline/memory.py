"""How much memory a process has held at most; and how to go without the search for garbage."""

import gc
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


def peak_memory_bytes(process: int | None = None) -> int:
    """The most that a process (None: this one) has held; 0 if that cannot be told here."""
    try:
        status = Path(f"/proc/{process or 'self'}/status").read_text()
    except OSError:
        return 0 if process else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) * 1024 if peak else 0


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the search for garbage that refers to itself: there is none, and it takes half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def settle() -> None:
    """After the first task of a worker of Spark's: what it has imported is not searched for garbage again.

    Its daemon does that after every task, and it takes longer than many a task does.
    """
    gc.collect()
    gc.freeze()
