"""`aforesaid simulate` of a file with `engine = "fleet"`, as its users meet it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aforesaid.fleet import FleetBroken, FleetFull
from aforesaid.sim import Paper, read_experiment
from aforesaid.trace.parquet import open_trace
from support.commands import Run, command
from support.compiling import compile_once

FLEET = """
engine = "fleet"
processes = 40
minutes = 4
speak_from = 1
speak_until = 3
delay_ms = 300
"""


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    compile_once()


@pytest.fixture
def aforesaid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `aforesaid ARGUMENTS` in an empty directory; gives the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.toml").write_text(FLEET)

    return command(monkeypatch, capsys)


def test_simulate_then_check_says_kept(aforesaid: Run) -> None:
    code, out, _ = aforesaid("simulate", "fleet.toml")
    assert code == 0
    assert "prc_spray on the fleet, 40 processes, seed 1" in out
    assert "1,200 broadcast, 48,000 deliveries" in out
    code, out, _ = aforesaid("check", "traces")
    assert (code, "fleet-n40-s1: kept" in out) == (0, True)
    assert {"expected", "buffered", "control_sent"} < set(
        open_trace("traces/run=fleet-n40-s1").samples.metric
    )


def test_preventive_broadcast_holds_counters_for_ever(aforesaid: Run) -> None:
    code, out, _ = aforesaid("simulate", "fleet.toml", "--algorithm", "preventive_spray")
    assert (code, "1,200 broadcast, 48,000 deliveries" in out, "none but counters" in out) == (0, True, True)
    trace = open_trace("traces/run=fleet-preventive_spray-n40-s1")
    assert trace.run.algorithm == "preventive_spray"
    samples = trace.samples
    held = {
        metric: samples.value[np.array(samples.metric) == metric]
        for metric in ("entries", "buffered", "expected")
    }
    # Everybody has spoken: 40 counters at each of 40, and what is buffered besides.
    assert held["entries"][-1] == 40 * 40
    assert held["buffered"].max() > 0 == held["expected"].max()
    assert aforesaid("check", "traces")[0] == 0


def test_the_shipped_scenario_is_what_a_trace_can_be_run_from_again(aforesaid: Run) -> None:
    shipped = Path(__file__).parents[2] / "scenarios" / "fleet.toml"
    code, out, _ = aforesaid("simulate", str(shipped), "--json")
    facts = json.loads(out)
    assert (code, facts["ended"], facts["held_at_end"], facts["isolated"]) == (0, "drained", 0, 0)
    assert facts["traced"]["processes"] == 30
    Path("again.json").write_text(open_trace(facts["trace"]).run.scenario)
    assert read_experiment(Path("again.json")) == read_experiment(shipped)
    code, out, _ = aforesaid("simulate", "again.json", "--json", "--run", "again")
    assert (code, json.loads(out)["digest"]) == (0, facts["digest"])


def test_seeds_are_judged_in_memory(aforesaid: Run) -> None:
    code, out, _ = aforesaid("simulate", "fleet.toml", "--seeds", "3", "--seed", "7")
    assert (code, "fleet: 3 seeds from 7" in out, "3 kept, 0 violated, 0 unknown" in out) == (0, True, True)
    assert not Path("traces").exists()


def test_a_run_that_is_not_at_rest_exits_3(aforesaid: Run) -> None:
    Path("cut.toml").write_text(FLEET.replace("minutes = 4", "minutes = 2"))
    code, out, _ = aforesaid("simulate", "cut.toml")
    assert (code, "cut at 2 minutes" in out) == (3, True)


def test_a_fleet_without_room_is_unknown_and_a_broken_one_violated(
    aforesaid: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No plan is known any more that does not fit: tables grow with it.
    def full(paper: Paper, *_: object) -> None:
        raise FleetFull("one step needed more room than a table may have")

    monkeypatch.setattr("aforesaid.cli.simulate_fleet.trace_fleet", full)
    code, _, err = aforesaid("simulate", "fleet.toml")
    assert (code, "one step needed more room than a table may have" in " ".join(err.split())) == (3, True)
    assert list(Path("traces").iterdir()) == []
    code, out, _ = aforesaid("simulate", "fleet.toml", "--seeds", "2", "--json")
    told = json.loads(out)
    assert (code, told["unknown"], told["failures"][1]["replay"].endswith("--seed 2")) == (3, 2, True)

    def broken(paper: Paper, *_: object) -> None:
        raise FleetBroken("p3 received message 7 where it was not expected")

    monkeypatch.setattr("aforesaid.cli.simulate_fleet.trace_fleet", broken)
    assert aforesaid("simulate", "fleet.toml")[0] == 1
    assert aforesaid("simulate", "fleet.toml", "--seeds", "1")[0] == 1


@pytest.mark.parametrize(
    ("line", "arguments", "says"),
    [
        (
            "",
            ("--algorithm", "waiting"),
            "algorithm: the fleet runs prc_spray and preventive_spray, not waiting",
        ),
        ('algorithm = "prc"', (), "algorithm: the fleet runs prc_spray and preventive_spray, not prc"),
        ("vectors = true", ("--algorithm", "preventive_spray"), "vectors are measured over prc_spray, not"),
        ('traced = "some"', (), "traced: invalid enum value 'some'; allowed: a number of processes, all"),
        ("sample_ms = 1", (), "fleet.toml: sample_ms: expected `float` >= 10"),
        ("sweep = 3", (), "fleet.toml: unknown key `sweep`"),
    ],
)
def test_bad_input_is_one_clear_line(
    aforesaid: Run, line: str, arguments: tuple[str, ...], says: str
) -> None:
    Path("fleet.toml").write_text(f"{line}\n{FLEET}")
    code, out, err = aforesaid("simulate", "fleet.toml", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert not Path("traces").exists()


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(FLEET)
    code = "import sys; sys.modules['numba'] = None\nfrom aforesaid.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "simulate", "fleet.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "aforesaid: this command needs numba: pip install 'aforesaid[fleet]'\n"
