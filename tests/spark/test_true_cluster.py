"""Machines that share an object store and nothing else: the same results, whoever is killed meanwhile.

One driver serves all tests, with speculation and adaptive execution on. "In the middle" is made sure, not
slept for: tasks run while the store stands still, so none of them can have ended when one of us is killed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from aforesaid.pipeline.auditing import audit
from aforesaid.pipeline.measuring import metrics
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.grid import grid_of
from aforesaid.storage import sizes_below
from aforesaid.trace.parquet import open_trace
from support.injected import injected, write
from support.machines import AUDIT, METRICS, SWEEP, Driver
from support.s3 import Bucket, Server, new_bucket
from support.servers import Cluster

LOOK = """
def look(task):
    import aforesaid
    directory, seconds = task
    machine = os.readlink("/proc/self/ns/mnt")
    Path(directory).mkdir(parents=True, exist_ok=True)
    Path(directory, machine).touch()
    time.sleep(seconds)
    return machine, aforesaid.__file__, tuple(os.listdir(directory))

here = Path("here").resolve()
look((here, 0))
found, seconds = set(), 0.1
while len({machine for machine, _, _ in found}) < 2 and seconds < 60:
    found |= set(run_tasks(spark, look, [(str(here), seconds)] * 4))
    seconds *= 2  # Who needs several times as long to start Python is killed by speculation, each time.
told = [sorted(found), os.listdir(here)]
"""

GRID = {
    "duration_ms": 400,
    "sample_ms": 50,
    "workload": [{"kind": "rate", "per_second": 20}],
    "sweep": {"algorithm": ["waiting", "reliable"], "processes": [4, 8], "seeds": 3},
}


@pytest.fixture(scope="module")
def driver(machines: Cluster, s3: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    started = Driver(machines, s3, tmp_path_factory.mktemp("driver"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small runs with faults, and one of a hundred times their size."""
    there = tmp_path_factory.mktemp("traces")
    for seed in range(6):
        write(injected(20, 60, faults=5, seed=seed), there, f"small{seed}", row_group_rows=500)
    write(injected(200, 600, faults=5, stability=True), there, "large", row_group_rows=10_000)
    return there


@pytest.fixture(scope="module")
def reports(spark: SparkSession, root: Path) -> dict[str, Any]:
    """What an audit on this machine says of each run, as JSON has it."""
    outcomes = audit(spark, root).outcomes
    found = {outcome.run: outcome.report.to_dict() for outcome in outcomes if outcome.report}
    told: dict[str, Any] = json.loads(json.dumps(found))
    return told


@pytest.fixture(scope="module")
def stored(root: Path, s3: Server) -> Bucket:
    """The same in a bucket: our layout in `ours`, one table over all runs in `others`."""
    bucket = new_bucket(s3, "true-cluster")
    for path in sizes_below(root):
        (bucket.place / "ours" / path).write_bytes((root / path).read_bytes())
    for table in ("runs", "processes", "messages", "deliveries", "stabilities"):
        rows = []
        for run in root.iterdir():
            part = pq.read_table(run / f"{table}.parquet", partitioning=None)
            name = pa.repeat(run.name.removeprefix("run="), len(part))
            rows.append(part.append_column("run", name))
        pq.write_table(pa.concat_tables(rows), root.parent / "table", row_group_size=20_000)
        (bucket.place / "others" / f"{table}.parquet").write_bytes((root.parent / "table").read_bytes())
    return bucket


def test_machines_see_neither_the_drivers_files_nor_each_others(driver: Driver) -> None:
    found, here = driver.ask(LOOK)
    assert len({machine for machine, _, _ in found}) == 2
    assert len(here) == 1
    for machine, package, seen in found:
        assert seen == [machine] != here
        assert package.endswith("aforesaid.zip/aforesaid/__init__.py")


def test_a_sweep_is_what_the_simulator_alone_would_make(driver: Driver, bucket: Bucket) -> None:
    driver.tell(SWEEP.format(grid=GRID, out=f"{bucket.uri}/sweep"))
    driver.kill_both()
    rows = driver.answer()
    scenarios = {one.run: one.scenario for one in grid_of(GRID).planned}
    assert [(row["run"], row["state"], row["verdict"]) for row in rows] == [
        (run, "done", "kept") for run in scenarios
    ]
    for run, scenario in scenarios.items():
        assert isinstance(scenario, Scenario)
        made = open_trace(bucket.place / "sweep" / f"run={run}")
        assert made.run.digest == simulate(scenario)[0].run.digest


@pytest.mark.parametrize("layout", ["ours", "others"])
def test_an_audit_is_that_of_one_machine(
    driver: Driver, stored: Bucket, reports: dict[str, Any], layout: str
) -> None:
    """In slices, which share most: whole runs need nothing of each other."""
    options = "whole_bytes=0, slice_deliveries=20_000"
    driver.tell(AUDIT.format(traces=f"{stored.uri}/{layout}", options=options))
    driver.kill_both()
    assert driver.answer() == reports


def test_metrics_are_those_of_one_machine(
    driver: Driver, stored: Bucket, spark: SparkSession, root: Path
) -> None:
    driver.tell(METRICS.format(traces=f"{stored.uri}/ours"))
    driver.kill_both()
    found = driver.answer()
    assert found == {
        name: [near(row) for row in frame.toArrow().to_pylist()]
        for name, frame in metrics(spark, root).items()
    }


def near(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose fractions may differ in their last digits: these depend on the order in which tasks end."""
    return {
        name: pytest.approx(value, rel=1e-9, nan_ok=True) if isinstance(value, float) else value
        for name, value in row.items()
    }
