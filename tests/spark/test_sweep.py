"""Sweeps on Spark: the same traces as without, whatever fails, dies or is killed meanwhile."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from aforesaid.core import Misuse
from aforesaid.fleet import trace_fleet
from aforesaid.fleet.plan import Plan
from aforesaid.pipeline.sweeping import Ledger, execute, plan
from aforesaid.pipeline.sweeping import sweep as swept
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.experiment import Experiment
from aforesaid.sim.grid import read_grid
from aforesaid.sim.paper import Paper
from aforesaid.storage import Place
from aforesaid.trace import MemorySink
from aforesaid.trace.parquet import find_runs, open_trace
from support.commands import command
from support.compiling import compile_once
from support.s3 import Bucket

GRID = """
duration_ms = {duration_ms}
[[workload]]
kind = "rate"
per_second = 20
[sweep]
algorithm = ["waiting", "reliable"]
processes = [4, 8]
seeds = 3
"""

POISONED = """
algorithm = "waiting"
processes = 3
duration_ms = 50
[[workload]]
kind = "rate"
per_second = 20
[sweep]
network.delay = [{delays}]
"""


@pytest.fixture
def sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> Any:
    """Runs `aforesaid sweep ARGUMENTS` in an empty directory, in the tests' own session."""
    monkeypatch.chdir(tmp_path)

    return command(monkeypatch, capsys, "sweep")


def write_grid(path: Path, duration_ms: int) -> Path:
    path.write_text(GRID.format(duration_ms=duration_ms))
    return path


def digest_alone(scenario: Experiment) -> str:
    """The digest of the run that the simulator makes without Spark."""
    assert isinstance(scenario, Scenario)
    return simulate(scenario)[0].run.digest


def plan_of(scenario: Experiment) -> Plan:
    assert isinstance(scenario, Paper)
    return scenario.plan()


def digests(root: Place) -> dict[str, str]:
    return {path.name: open_trace(path).run.digest for path in find_runs(root)}


def test_every_run_is_what_the_simulator_alone_would_make(sweep: Any, tmp_path: Path) -> None:
    grid = read_grid(write_grid(tmp_path / "grid.toml", 200))
    code, out, err = sweep("grid.toml", "--out", "out", "--check", "--json")
    told = json.loads(out)
    assert (code, err, told["done"], told["failed"], told["violated"]) == (0, "", 12, [], [])
    assert digests(Path("out")) == {f"run={one.run}": digest_alone(one.scenario) for one in grid.planned}
    rows = pq.read_table("out/sweep.parquet").to_pylist()
    assert [row["run"] for row in rows] == [one.run for one in grid.planned]
    assert {row["verdict"] for row in rows} == {"kept"}
    assert len(Path("out/sweep.csv").read_text().splitlines()) == 13


def test_a_poisoned_scenario_is_told_and_the_others_are_done(sweep: Any) -> None:
    # The last of them is valid, and it fails: no number of nanoseconds tells it.
    delays = [f'{{ kind = "constant", ms = {ms} }}' for ms in (*range(1, 40), 1e305)]
    Path("grid.toml").write_text(POISONED.format(delays=", ".join(delays)))
    code, out, _ = sweep("grid.toml", "--out", "out")
    assert code == 3
    assert "40: 39 finished, 1 failed" in out
    assert "cannot convert float infinity to integer" in out
    assert "replay: aforesaid simulate" in out
    [failed] = [row for row in pq.read_table("out/sweep.parquet").to_pylist() if row["state"] == "failed"]
    assert Path("out/failed", f"{failed['run']}.json").exists()
    assert len(find_runs("out")) == 39


def test_a_verdict_that_stays_unknown_exits_3(sweep: Any) -> None:
    write_grid(Path("grid.toml"), 200)
    Path("grid.toml").write_text("events_max = 20\n" + Path("grid.toml").read_text())
    code, out, _ = sweep("grid.toml", "--out", "out", "--check")
    assert (code, "0 kept, 0 violated, 12 unknown" in out) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("missing.toml", "--out", "out"), "cannot read grid missing.toml: No such file"),
        (
            ("bad.toml", "--out", "out"),
            "network: unknown key `losss`, did you mean loss? known keys: delay, loss",
        ),
        (("grid.toml", "--out", "grid.toml"), "cannot write grid.toml"),
        (("grid.toml", "--out", "full"), "is not the run of this grid's scenario"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(sweep: Any, arguments: tuple[str, ...], says: str) -> None:
    write_grid(Path("grid.toml"), 100)
    Path("bad.toml").write_text("algorithm = 'waiting'\nprocesses = 3\n[sweep]\nnetwork.losss = [0]\n")
    Path("full/run=waiting-n4-s1").mkdir(parents=True)
    code, out, err = sweep(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_a_store_holds_what_a_directory_would_and_is_resumed(
    sweep: Any, bucket: Bucket, tmp_path: Path, spark: SparkSession
) -> None:
    grid = read_grid(write_grid(tmp_path / "grid.toml", 200))
    arguments = ("grid.toml", "--out", f"{bucket.uri}/out", "--check", "--json", *bucket.server.conf)
    code, out, err = sweep(*arguments)
    told = json.loads(out)
    assert (code, err, told["done"], told["violated"]) == (0, "", 12, [])
    assert told["table"] == f"{bucket.uri}/out/sweep.parquet"
    expected = {f"run={one.run}": digest_alone(one.scenario) for one in grid.planned}
    assert digests(bucket.place / "out") == expected
    assert os.listdir(tmp_path) == ["grid.toml"]
    # One run has lost its mark, and of one the row is lost: the one is made again, the other read.
    (bucket.place / "out" / "run=waiting-n4-s1" / "runs.parquet").unlink()
    (bucket.place / "out" / ".sweep" / "reliable-n8-s2.done").unlink()
    code, out, _ = sweep(*arguments)
    assert (code, json.loads(out)["kept_from_before"]) == (0, 10)
    assert digests(bucket.place / "out") == expected
    again = swept(spark, read_grid(tmp_path / "grid.toml"), bucket.place / "out", judge=True)
    rows = [(row["run"], row["verdict"]) for row in again.collect()]
    assert rows == [(one.run, "kept") for one in grid.planned]


def test_executors_that_do_not_see_the_directory_are_told(tmp_path: Path, spark: SparkSession) -> None:
    grid = read_grid(write_grid(tmp_path / "grid.toml", 200))
    ledger = Ledger(tmp_path / "out")
    with ledger.open():
        planned = plan(grid, ledger)
        shutil.rmtree(tmp_path / "out")
        with pytest.raises(Misuse, match=r"^12 runs, such as .* see the same directory, or --out be a URI"):
            execute(spark, planned)
    assert not (tmp_path / "out").exists()


FLEETS = """
engine = "fleet"
minutes = 4
speak_from = 1
speak_until = 3
[sweep]
processes = [30, 60]
delay_ms = [100, 1000]
crashes_per_minute = [0, 40]
"""


def test_a_sweep_on_the_fleet_is_resumed_and_compiles_nothing_twice(sweep: Any, tmp_path: Path) -> None:
    """Some runs lose processes that begin again: they are done and judged like all others."""
    compile_once()
    (tmp_path / "grid.toml").write_text(FLEETS)
    grid = read_grid(tmp_path / "grid.toml")
    code, out, err = sweep("grid.toml", "--out", "out", "--check", "--json")
    told = json.loads(out)
    assert (code, err, told["done"], told["violated"]) == (0, "", 8, [])
    outcomes = {one.run: trace_fleet(plan_of(one.scenario), MemorySink(), one.run) for one in grid.planned}
    assert digests(Path("out")) == {f"run={run}": row.digest for run, (_, row) in outcomes.items()}
    assert any(outcome.evicted for outcome, _ in outcomes.values())
    rows = pq.read_table("out/sweep.parquet").to_pylist()
    assert [row["processes"] for row in rows] == [30] * 4 + [60] * 4
    # To compile takes half a minute.
    assert max(row["seconds"] for row in rows) < 10
    shutil.rmtree("out/run=fleet-n30-delay_ms1000-crashes_per_minute40-s1")
    code, out, _ = sweep("grid.toml", "--out", "out", "--check", "--json")
    assert (code, json.loads(out)["kept_from_before"]) == (0, 7)
    assert len(find_runs("out")) == 8


def started(*arguments: str, cwd: Path) -> "subprocess.Popen[str]":
    """The command as a user starts it: a process of its own, with its own Spark."""
    command = [sys.executable, "-m", "aforesaid", "sweep", *arguments]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_runs(root: Path, count: int) -> None:
    deadline = time.monotonic() + 240
    while len(list(root.glob("run=*"))) < count:
        assert time.monotonic() < deadline, "the sweep makes no runs"
        time.sleep(0.05)


def seen(root: Path) -> dict[str, int]:
    """Every run with the inode of its directory, another one if it was made again."""
    return {path.name: path.stat().st_ino for path in root.glob("run=*")}


def test_killed_then_interrupted_then_finished_without_repeating_anything(sweep: Any, tmp_path: Path) -> None:
    grid = read_grid(write_grid(tmp_path / "grid.toml", 1500))
    out = tmp_path / "out"
    arguments = ("grid.toml", "--out", "out", "--master", "local[1]", "--memory", "512m")

    process = started(*arguments, cwd=tmp_path)
    wait_for_runs(out, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    first = seen(out)
    assert 2 <= len(first) < len(grid.planned)

    process = started(*arguments, cwd=tmp_path)
    wait_for_runs(out, len(first) + 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    second = seen(out)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert len(first) + 2 <= len(second) < len(grid.planned)
    assert first.items() <= second.items()
    assert list(out.glob(".run=*")) == []

    code, told, _ = sweep("grid.toml", "--out", "out", "--json")
    # Whoever was cut off between a trace and its row looks at that trace again, and does not make it again.
    assert (code, len(second) - json.loads(told)["kept_from_before"]) in [(0, 0), (0, 1), (0, 2)]
    assert second.items() <= seen(out).items()
    assert digests(out) == {f"run={one.run}": digest_alone(one.scenario) for one in grid.planned}


def test_a_worker_that_dies_stops_nothing_and_its_scenario_is_told(tmp_path: Path) -> None:
    """Seed 1 takes every worker down with it, seed 2 the first one only."""
    script = """
import os, sys
from pathlib import Path
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.sweeping import Ledger, conclude, execute, plan, retrying
from aforesaid.sim.storing import simulate_to
from aforesaid.sim.grid import grid_of

def deadly(scenario, root, run, replace):
    once = root / "once"
    if scenario.seed == 1 or (scenario.seed == 2 and not once.exists()):
        once.touch()
        os._exit(9)
    simulate_to(scenario, root, run, replace)

ledger = Ledger(Path(sys.argv[1]))
grid = grid_of({"algorithm": "waiting", "processes": 3, "sweep": {"seeds": 6}})
with ledger.open():
    planned = plan(grid, ledger)
    with spark_session(retrying(SparkOptions("local[2]", memory="512m", small=True)), "deadly") as spark:
        made = execute(spark, planned, simulator=deadly)
    conclude(planned, made)
"""
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", script, str(out)], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stderr == ""
    rows = {row["seed"]: row for row in pq.read_table(out / "sweep.parquet").to_pylist()}
    assert [rows[seed]["state"] for seed in range(1, 7)] == ["failed", *["done"] * 5]
    assert rows[1]["error"] == "3 workers died while they ran it"
