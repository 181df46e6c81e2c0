"""Machines that share an object store and nothing else, as real clusters do."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.servers import Cluster, driver_environment

SECONDS_MAX = 120

LOOKING = """
import json, os, sys, time
from pathlib import Path
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.tasks import run_tasks

def look(directory):
    import aforesaid
    machine = os.readlink("/proc/self/ns/mnt")
    Path(directory).mkdir(parents=True, exist_ok=True)
    Path(directory, machine).touch()
    time.sleep(0.1)
    return machine, aforesaid.__file__, tuple(os.listdir(directory))

here = Path("here").resolve()
look(here)
found = set()
with spark_session(SparkOptions(sys.argv[1], memory="512m", small=True), "test") as spark:
    end = time.monotonic() + 60
    while len(found) < 2 and time.monotonic() < end:
        found |= set(run_tasks(spark, look, [str(here)] * 4))
print(json.dumps([sorted(found), os.listdir(here)]))
"""


@pytest.fixture
def driver(machines: Cluster, tmp_path: Path) -> Any:
    """Runs a program of Python's as a driver of the machines; gives what it printed, read as JSON."""

    def run(code: str, *arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", code, machines.address, *arguments],
            cwd=tmp_path,
            env=driver_environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return run


def test_machines_see_neither_the_drivers_files_nor_each_others(driver: Any) -> None:
    found, here = driver(LOOKING)
    assert len({machine for machine, _, _ in found}) == 2
    assert len(here) == 1
    for machine, package, seen in found:
        assert seen == [machine] != here
        assert package.endswith("aforesaid.zip/aforesaid/__init__.py")
