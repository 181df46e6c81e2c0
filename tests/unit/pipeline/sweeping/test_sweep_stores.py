"""A sweep's memory in a store: no rename, no append, no lock; few requests; nothing half is believed."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from aforesaid.core import Misuse
from aforesaid.pipeline.sweeping import Ledger, conclude, plan
from aforesaid.pipeline.sweeping.lock import LEASE_SECONDS_MAX
from aforesaid.pipeline.sweeping.task import ATTEMPTS_MAX, run_one
from aforesaid.sim.experiment import Experiment
from aforesaid.sim.grid import grid_of
from aforesaid.sim.storing import simulate_to
from aforesaid.storage import Place, listing
from aforesaid.trace.parquet import open_trace
from support.s3 import Bucket

GRID = grid_of({"duration_ms": 100, "sweep": {"algorithm": ["waiting", "reliable"], "processes": [3, 4]}})


def test_a_scenario_becomes_a_run_and_a_row_and_is_not_run_again(bucket: Bucket) -> None:
    ledger = Ledger(bucket.place / "out")
    with ledger.open():
        made = {}
        for one in plan(GRID, ledger).missing[1:]:
            made[one.run] = run_one(ledger.root, one.run, one.scenario.to_json(), judge=True)
        again = plan(GRID, ledger, judge=True)
        assert (again.kept, again.rows, [one.run for one in again.missing]) == (3, made, ["waiting-n4-s1"])
        rows = conclude(again, {})
    assert [row["verdict"] for row in rows] == ["kept"] * 3
    assert {"sweep.parquet", "sweep.csv", "run=reliable-n3-s1"} <= listing(ledger.root).keys()
    assert ledger.tally().running == frozenset()
    assert "lock" not in listing(ledger.path)


def test_half_a_run_is_made_anew_and_another_run_is_not_written_over(bucket: Bucket) -> None:
    ledger = Ledger(bucket.place)
    one, other = GRID.planned[:2]
    run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
    simulate_to(one.scenario, ledger.root, other.run, False)
    with pytest.raises(Misuse, match=f"run={other.run} is not the run of this grid's scenario"):
        plan(GRID, ledger)
    (ledger.root / f"run={other.run}" / "runs.parquet").unlink()
    assert other in plan(GRID, ledger).missing
    row = run_one(ledger.root, other.run, other.scenario.to_json(), judge=True)
    assert (row["state"], row["processes"], row["verdict"]) == ("done", 4, "kept")


def test_a_scenario_that_kills_its_workers_is_given_up(bucket: Bucket) -> None:
    ledger, one = Ledger(bucket.place), GRID.planned[0]
    for _ in range(ATTEMPTS_MAX):
        ledger.begin(one.run)
    assert ledger.tally().running == {one.run}
    row = run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
    assert (row["state"], row["error"]) == ("failed", f"{ATTEMPTS_MAX} workers died while they ran it")
    assert ledger.tally().failed == {one.run}
    assert json.loads((bucket.place / "failed" / f"{one.run}.json").read_text())["algorithm"] == "waiting"
    assert (one in plan(GRID, ledger).missing, ledger.tally().failed) == (True, frozenset())


@pytest.fixture(params=["a directory", "a bucket"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    if request.param == "a directory":
        return Ledger(request.getfixturevalue("tmp_path"))
    return Ledger(request.getfixturevalue("bucket").place)


def test_a_damaged_run_is_made_anew(ledger: Ledger) -> None:
    one = GRID.planned[0]
    with ledger.open():
        made = run_one(ledger.root, one.run, one.scenario.to_json(), judge=True)
        messages = ledger.root / f"run={one.run}" / "messages.parquet"
        messages.write_bytes(messages.read_bytes()[:-20])
        assert one in plan(GRID, ledger, force=True).missing
        again = run_one(ledger.root, one.run, one.scenario.to_json(), judge=True)
    assert {**again, "seconds": None} == {**made, "seconds": None}
    assert again["seconds"] is not None


def test_two_attempts_at_once_are_both_done(ledger: Ledger) -> None:
    """As Spark's speculation makes them: the later one finds the run of the earlier."""
    one = GRID.planned[0]

    def slow(scenario: Experiment, root: Place, run: str, replace: bool) -> None:
        time.sleep(0.2)
        simulate_to(scenario, root, run, replace)

    def attempt(number: int) -> dict[str, object]:
        return run_one(ledger.root, one.run, one.scenario.to_json(), True, slow)

    with ledger.open(), ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(attempt, range(2)))
    assert [(row["state"], row["verdict"]) for row in rows] == [("done", "kept")] * 2
    assert rows[0]["digest"] == rows[1]["digest"] == open_trace(ledger.root / f"run={one.run}").run.digest
    assert [name for name in listing(ledger.root) if name.startswith(".run")] == []


def test_one_sweep_at_a_time_and_a_killed_one_is_forgotten(bucket: Bucket) -> None:
    ledger = Ledger(bucket.place)
    refused = pytest.raises(Misuse, match=f"^another sweep is at work in {bucket.uri}, on .*forgotten")
    with ledger.open(), refused, Ledger(bucket.place).open():
        pass
    killed = {"host": "elsewhere", "time": time.time() - LEASE_SECONDS_MAX - 1}
    (ledger.path / "lock").write_text(json.dumps(killed))
    with ledger.open():
        assert json.loads((ledger.path / "lock").read_text())["host"] == os.uname().nodename


def test_a_store_that_cannot_be_written_is_a_misuse(bucket: Bucket) -> None:
    nowhere = Bucket(bucket.server, "no-such-bucket").place
    with pytest.raises(Misuse, match=r"^cannot write s3a://no-such-bucket: "), Ledger(nowhere).open():
        pass


def test_to_look_at_a_sweep_takes_no_request_for_each_run(bucket: Bucket) -> None:
    ledger = Ledger(bucket.place)
    for run in range(30):
        (ledger.path / f"run-{run}.done").write_text("{}")
    before = len(bucket.server.requests())
    assert len(ledger.tally().done) == 30
    assert len(bucket.server.requests()) - before == 1
