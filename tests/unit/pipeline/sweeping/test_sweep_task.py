"""What one task of a sweep does, and what the directory remembers of it, without Spark."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from aforesaid.cli import EXIT_UNKNOWN, main
from aforesaid.core import Misuse
from aforesaid.fleet.layout import COLUMNS_MARGIN
from aforesaid.pipeline.session import SparkOptions
from aforesaid.pipeline.sweeping import Ledger, plan, retrying
from aforesaid.pipeline.sweeping.task import ATTEMPTS_MAX, run_one
from aforesaid.sim import Scenario, run_into, simulate
from aforesaid.sim.grid import Grid, grid_of
from aforesaid.sim.storing import simulate_to
from aforesaid.trace import MemorySink

POISON = {"delay": {"kind": "constant", "ms": 1e305}}
"""A network so slow that no number of nanoseconds tells it: valid, and it fails."""


def small_grid(**parts: Any) -> Grid:
    sweep = {"algorithm": ["waiting", "reliable"], "processes": [3, 4]}
    return grid_of({"duration_ms": 200, **parts, "sweep": sweep})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "out")
    with ledger.open():
        return ledger


def test_a_scenario_becomes_a_run_and_a_row(ledger: Ledger) -> None:
    one = small_grid().planned[0]
    row = run_one(ledger.root, one.run, one.scenario.to_json(), judge=True)
    assert isinstance(one.scenario, Scenario)
    outcome, _ = simulate(one.scenario)
    assert row["digest"] == outcome.run.digest
    assert (row["state"], row["deliveries"], row["verdict"]) == ("done", outcome.deliveries, "kept")
    assert ledger.row(one.run, "done") == row
    assert ledger.tally().running == set()


def test_what_was_broken_and_not_promised_is_in_the_row(ledger: Ledger) -> None:
    rate = [{"kind": "rate", "per_second": 40}]
    told = {}
    for name in ("reliable", "waiting"):
        scenario = Scenario.of({"algorithm": name, "processes": 3, "workload": rate})
        row = run_one(ledger.root, name, scenario.to_json(), judge=True)
        told[name] = row["verdict"], row["unpromised"]
    assert told == {"reliable": ("kept", "fifo, causal"), "waiting": ("kept", None)}


def test_a_run_that_is_there_is_not_run_again(ledger: Ledger) -> None:
    one = small_grid().planned[0]
    first = run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
    path = Path(str(ledger.root), f"run={one.run}")
    before = path.stat()
    again = run_one(ledger.root, one.run, one.scenario.to_json(), judge=True)
    assert (again["digest"], again["seconds"], again["verdict"]) == (first["digest"], None, "kept")
    assert path.stat() == before


def test_a_failure_is_a_row_and_its_replay_command_fails_the_same_way(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = small_grid(network=POISON).planned[0]
    row = run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
    assert row["state"] == "failed"
    assert "infinity" in row["error"]
    assert "\n" not in row["error"]
    assert not (ledger.root / f"run={one.run}").exists()
    monkeypatch.setattr(sys, "argv", shlex.split(row["replay"]))
    with pytest.raises(OverflowError) as error:
        main()
    assert str(error.value) == row["error"]


FLEET = {"engine": "fleet", "minutes": 3, "speak_from": 1, "speak_until": 2, "delay_ms": 100}


def test_a_fleet_becomes_a_run_and_is_known_again(ledger: Ledger) -> None:
    grid = grid_of({**FLEET, "sweep": {"processes": [30, 60], "seeds": 2}})
    one = grid.planned[0]
    row = run_one(ledger.root, one.run, one.scenario.to_json(), judge=True)
    sink = MemorySink()
    assert row["digest"] == run_into(sink, one.scenario, one.run).digest
    assert (row["state"], row["algorithm"], row["processes"]) == ("done", "prc_spray", 30)
    assert (row["deliveries"], row["verdict"]) == (len(sink.trace.delivery_message), "kept")
    assert run_one(ledger.root, one.run, one.scenario.to_json(), judge=True)["seconds"] is None
    assert [other.run for other in plan(grid, ledger, judge=True).missing] == [
        "fleet-n60-s1",
        "fleet-n60-s2",
        "fleet-n30-s2",
    ]
    slower = grid_of({**FLEET, "delay_ms": 200, "sweep": {"processes": [30]}})
    with pytest.raises(Misuse, match=r"run=fleet-n30-s1 is not the run of this grid's scenario"):
        plan(slower, ledger)


def test_a_fleet_that_stops_is_a_row_and_stops_the_same_way_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A flash crowd: all join through the first. No plan is known that does not fit: here room is lowered."""
    monkeypatch.setattr("aforesaid.fleet.world._columns", lambda processes, _: processes + COLUMNS_MARGIN)
    monkeypatch.setattr("aforesaid.fleet.world.COLUMNS_MAX", 1_000)
    one = grid_of({**FLEET, "joins_at_once": 1_000, "sweep": {"processes": [1_000]}}).planned[0]
    row = run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
    assert row["state"] == "failed"
    assert "processes have too many links for their masks (seed 1)" in row["error"]
    monkeypatch.setattr(sys, "argv", shlex.split(row["replay"]))
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == EXIT_UNKNOWN
    assert " ".join(capsys.readouterr().err.split()) == row["error"]
    assert not (ledger.root / f"run={one.run}").exists()


def test_a_scenario_that_kills_its_workers_is_given_up(ledger: Ledger) -> None:
    one = small_grid().planned[0]
    for _ in range(ATTEMPTS_MAX):
        child = os.fork()
        if child == 0:
            run_one(ledger.root, one.run, one.scenario.to_json(), False, lambda *_: os._exit(9))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert ledger.tally().running == {one.run}
    row = run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
    assert (row["state"], row["error"]) == ("failed", f"{ATTEMPTS_MAX} workers died while they ran it")
    assert (ledger.tally().running, ledger.tally().failed) == (frozenset(), frozenset({one.run}))


def test_the_plan_has_what_is_missing_longest_first_and_clears_what_the_dead_left(ledger: Ledger) -> None:
    grid = small_grid()
    assert [one.run for one in plan(grid, ledger).missing] == [
        "waiting-n4-s1",
        "reliable-n4-s1",
        "waiting-n3-s1",
        "reliable-n3-s1",
    ]
    one = grid.planned[0]
    run_one(ledger.root, one.run, one.scenario.to_json(), judge=False)
    ledger.begin("waiting-n4-s1")
    half = ledger.root / ".run=waiting-n4-s1.tmp-12345-2"
    other = ledger.root / ".run=someone-else.tmp-1"
    half.mkdir()
    other.mkdir()
    planned = plan(grid, ledger)
    assert (planned.kept, one in planned.missing) == (1, False)
    assert (half.exists(), other.exists(), ledger.tally().running) == (False, True, frozenset())
    # Not judged so far: to judge it, its trace is read, not made again.
    assert one in plan(grid, ledger, judge=True).missing


def test_a_run_of_another_scenario_is_not_written_over_unless_asked(ledger: Ledger) -> None:
    one = small_grid().planned[0]
    simulate_to(one.scenario, ledger.root, one.run, False)
    other = small_grid(duration_ms=300)
    with pytest.raises(Misuse, match=r"run=waiting-n3-s1 is not the run of this grid's scenario"):
        plan(other, ledger)
    assert other.planned[0] in plan(other, ledger, force=True).missing
    row = run_one(ledger.root, one.run, other.planned[0].scenario.to_json(), judge=False)
    assert row["digest"] == simulate(Scenario.of({**_data(300)}))[0].run.digest


def _data(duration_ms: int) -> dict[str, Any]:
    return {"algorithm": "waiting", "processes": 3, "duration_ms": duration_ms}


def test_one_sweep_at_a_time_in_a_directory(tmp_path: Path) -> None:
    with (
        Ledger(tmp_path).open(),
        pytest.raises(Misuse, match="another sweep is at work"),
        Ledger(tmp_path).open(),
    ):
        pass
    with Ledger(tmp_path).open():
        pass


def test_a_directory_that_cannot_be_made_is_a_misuse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = pytest.raises(Misuse, match=r"cannot write .*file/out: Not a directory")
    with refused, Ledger(tmp_path / "file" / "out").open():
        pass


@pytest.mark.parametrize(
    ("master", "becomes"),
    [
        (None, "local[*,4]"),
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_local_mode_starts_a_task_again_whose_worker_died(master: str | None, becomes: str) -> None:
    assert retrying(SparkOptions(master)).master == becomes
