"""Kernels are compiled by one worker; the others wait, and load what it cached."""

import fcntl

import pytest

from aforesaid.sim.fleet import Paper, simulate_fleet


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    shared = tmp_path_factory.getbasetemp().parent / "fleet.lock"
    with shared.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        simulate_fleet(Paper(2, minutes=0.1).plan())
