"""Kernels are compiled by one worker; the others wait, and load what it cached."""

import fcntl
from pathlib import Path

from aforesaid.sim.fleet import Paper, simulate_fleet


def compile_once(worker: Path) -> None:
    """`worker`: a directory of this worker; its parent is that of all workers."""
    with (worker.parent / "fleet.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        simulate_fleet(Paper(2, minutes=0.1).plan())
