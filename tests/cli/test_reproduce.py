"""`aforesaid reproduce`, as its users meet it, on small fleets and short scenarios."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from aforesaid.fleet import FleetBroken
from support.commands import Run, command
from support.compiling import compile_once

OWN = """
algorithm = "reliable"
processes = 3
duration_ms = 300
sample_ms = 7

[sweep]
"workload[0].per_second" = [5, 50]

[[workload]]
kind = "rate"
per_second = 10
"""

SHORT = ["--set", "duration_ms=30000", "--set", "workload[0].from_ms=0"]
SHORT += ["--set", "network.delay.points=[[0, 300]]"]


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    compile_once()


@pytest.fixture
def reproduce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a directory of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    return command(monkeypatch, capsys, "reproduce")


@pytest.fixture
def no_more_runs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """From its call on nothing is simulated any more."""

    def refuse(*_: object) -> None:
        raise AssertionError("a run is made that was there")

    return lambda: monkeypatch.setattr("aforesaid.reproduce.running.simulate_to", refuse)


def rows_of(told: str, figure: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(told)[figure]["rows"]
    return rows


def test_figure_5_over_two_seeds_with_its_data_and_versions(reproduce: Run) -> None:
    code, told, _ = reproduce(
        "figure5", "--processes", "30", "--out", "made", "--seed", "3", "--seeds", "2", "--jobs", "1"
    )
    assert code == 0
    assert "control  41 to 50" in told
    made = Path("made")
    facts = json.loads((made / "figure5.json").read_text())
    assert facts["seeds"] == [3, 4]
    assert facts["versions"].keys() == {"aforesaid", "python", "numba", "numpy", "matplotlib", "pyarrow"}
    assert [row["minutes"] for row in facts["rows"]] == [
        *("18", "20", "25", "30", "35", "41 to 50"),
        *("2 to 15", "41 to 50"),
    ]
    late = facts["rows"][5]
    assert late["least"] < late["mean"] < late["most"]
    assert late["± 95 %"] == pytest.approx(12.706 * (late["most"] - late["least"]) / 2, rel=0.01)
    for figure in ("figure5a", "figure5b"):
        assert (made / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (made / f"{figure}.svg").read_text()
    with (made / "figure5-series.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3600
    space = [float(row["space"]) for row in rows if 41 * 60 < float(row["time_s"]) <= 50 * 60]
    assert sum(space) / len(space) == pytest.approx(late["mean"], rel=0.001)
    assert all(float(row["space_half"]) >= 0 for row in rows)


def test_the_papers_points_stand_beside_its_experiment_and_no_other(reproduce: Run) -> None:
    _, told, _ = reproduce("figure5", "--processes", "100", "--json")
    rows = rows_of(told, "figure5")
    assert [row["paper"] for row in rows] == [31.4, 60.5, 118, 205, 271, 346, 0.453, 0.354]
    last = rows[5]
    assert last["deviation %"] == pytest.approx(100 * (last["mean"] / 346 - 1), abs=0.06)
    assert last["± 95 %"] is None
    assert "read off the paper" in Path("figures/figure5a.svg").read_text()
    _, told, _ = reproduce("figure5", "--processes", "100", "--set", "broadcasts_per_second=5", "--json")
    space, control = rows_of(told, "figure5")
    assert (space["minutes"], space["quantity"], control["quantity"]) == ("42 to 50", "space", "control")
    assert space["mean"] == pytest.approx(last["mean"] / 2, rel=0.1)
    assert "read off the paper" not in Path("figures/figure5a.svg").read_text()


def test_what_was_run_is_drawn_anew_without_a_run(reproduce: Run, no_more_runs: Any) -> None:
    assert reproduce("figure5", "--processes", "10", "--format", "svg")[0] == 0
    first = Path("figures/figure5b.svg").read_bytes()
    assert b"Traffic of PRC-broadcast" in first
    assert len(first) < 100_000
    no_more_runs()
    assert reproduce("figure5", "--processes", "10", "--format", "svg")[0] == 0
    assert Path("figures/figure5b.svg").read_bytes() == first
    again = ["--no-title", "--format", "pdf", "--format", "svg"]
    assert reproduce("figure5", "--processes", "10", *again)[0] == 0
    assert b"Traffic of PRC-broadcast" not in Path("figures/figure5b.svg").read_bytes()
    assert Path("figures/figure5a.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(AssertionError, match="a run is made that was there"):
        reproduce("figure5", "--processes", "10", "--force")


def test_churn_draws_both_axes(reproduce: Run) -> None:
    code, told, _ = reproduce("churn", "--processes", "20", "--jobs", "1", "--json")
    flooded = [row["mean"] for row in rows_of(told, "churn") if row["quantity"] == "flooded"]
    assert (code, flooded[0]) == (0, 0.0)
    assert flooded[2] > 0
    for made in ("churn-space-20.svg", "churn-control-20.svg", "churn-20-series.csv", "churn.csv"):
        assert Path("figures", made).exists()


def test_the_crossover_is_a_tenth_of_the_delay_at_ten_times_the_rate(reproduce: Run) -> None:
    _, told, _ = reproduce("crossover", "--processes", "30", "--jobs", "1", "--json")
    slow, fast = rows_of(told, "crossover")
    assert fast["entries at 1000 ms"] == pytest.approx(10 * slow["entries at 1000 ms"], rel=0.15)
    from_slow, from_fast = (
        float(row["a vector is smaller"].removeprefix("from ").removesuffix(" ms")) for row in (slow, fast)
    )
    assert from_fast == pytest.approx(from_slow / 10, rel=0.3)
    assert slow["entries of a vector"] == fast["entries of a vector"] == 30
    assert "vector clocks, 30 processes, 10/s" in Path("figures/crossover.svg").read_text()


def test_vector_clocks_are_measured_on_the_fleet(reproduce: Run) -> None:
    """An entry for each process that has said something, for ever; link memory is empty at the end."""
    short = ["--set", "minutes=6", "--set", "speak_until=4", "--set", "broadcasts_per_second=1"]
    code, told, _ = reproduce("vectors", "--processes", "200", "--jobs", "1", *short, "--json")
    space, preventive, vectors, *control = rows_of(told, "vectors")
    # 120 messages of 200 processes: 200 (1 - e^-0.6) of them have said something; fewer so far, in the mean.
    assert (code, space["quantity"], vectors["quantity"]) == (0, "space", "vectors")
    assert 70 < vectors["mean"] < 95
    # Preventive broadcast has as many counters, and buffers while links open, by half the control messages.
    assert vectors["mean"] <= preventive["mean"] < vectors["mean"] + 5
    assert 0 < control[1]["mean"] < 0.8 * control[0]["mean"]
    with Path("figures/vectors-series.csv").open() as file:
        rows = {row["runs"]: row for row in csv.DictReader(file)}
    last, other = rows["PRC-broadcast, 200 processes"], rows["preventive broadcast, 200 processes"]
    assert (float(last["space"]), float(last["vectors"]) > vectors["mean"]) == (0, True)
    assert float(other["space"]) == float(last["vectors"])
    assert "vector clocks, 200 processes" in Path("figures/vectors.svg").read_text()


def test_baselines_are_measured(reproduce: Run) -> None:
    """Vector clocks hold a vector, and below them a counter for each process that ever spoke."""
    code, told, _ = reproduce("baselines", "--processes", "8", "--jobs", "1", *SHORT, "--json")
    prc, preventive, vectors = rows_of(told, "baselines")
    assert (code, vectors["mean"], vectors["at rest"]) == (0, 16.0, True)
    assert preventive["mean"] >= 8
    # Little's law: 8 messages a second, 0.3 s, on each of about 4 links; besides, buffers of handshakes.
    assert 5 < prc["mean"] < 60
    assert "vector clocks, 8 processes" in Path("figures/baselines.svg").read_text()


def test_a_flood(reproduce: Run) -> None:
    code, told, _ = reproduce("flood", "--processes", "5000", "--json")
    (row,) = rows_of(told, "flood")
    assert (code, row["deliveries"], row["receipts"], row["degree"]) == (0, 5000, 100_000, 20)


def test_table_1(reproduce: Run) -> None:
    """PRC-broadcast: 8 control messages per link past a mediator, and nothing held at rest."""
    code, told, _ = reproduce("table1", "--processes", "10")
    assert code == 0
    assert "preventive 3, prc 6 messages" in told
    with Path("figures/table1.csv").open() as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file)}
    assert (rows["prc"]["control_mediated"], rows["prc"]["entries_at_rest"]) == ("8", "0.0")
    assert float(rows["waiting"]["overhead_bytes"]) > float(rows["prc"]["overhead_bytes"]) > 0


def test_a_figure_of_ones_own(reproduce: Run, no_more_runs: Any) -> None:
    """A curve for each combination of a grid file, over the cores of this machine."""
    Path("own.toml").write_text(OWN)
    arguments = ("own.toml", "--seeds", "3", "--set", "network.loss=0", "--json")
    code, told, _ = reproduce(*arguments, "--jobs", "2")
    rows = rows_of(told, "own")
    assert code == 0
    assert [(row["runs"], row["quantity"]) for row in rows] == [
        ("per_second 5", "space"),
        ("per_second 50", "space"),
    ]
    assert rows[0]["mean"] < 3 <= rows[1]["mean"] < 3.5, "a counter of each that spoke, and a few exceptions"
    assert len(list(Path("figures/runs").glob("run=reliable-n3-per_second5*"))) == 6
    assert "per_second 50" in Path("figures/own-space.svg").read_text()
    assert not list(Path("figures").glob("own-control*"))
    no_more_runs()
    assert reproduce(*arguments)[1] == told


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["fig6"],
            "no figure 'fig6'; there are figure5, vectors, baselines, churn, crossover, table1, flood, "
            "or a grid file of your own",
        ),
        (["figure5", "--processes", "1"], "figure5 needs at least 2 processes, not 1"),
        (["flood", "--processes", "-5"], "flood needs at least 3 processes, not -5"),
        (["table1", "--processes", "30", "--processes", "5"], "table1 needs at least 8 processes, not 5"),
        (["flood", "--out", "file/there"], "cannot write to file/there: Not a directory"),
        (["figure5", "--seeds", "0"], "--seeds 0 --seed 1: at least one seed, from 0 on"),
        (["figure5", "--seed", "-1"], "--seeds 1 --seed -1: at least one seed, from 0 on"),
        (["table1", "--seeds", "2"], "table1 is one measurement: it takes no --seeds and no --set"),
        (["figure5", "--format", "jpg"], "--format jpg: there are png, svg, pdf"),
        (["figure5", "--jobs", "0"], "--jobs 0: at least one run at a time"),
        (
            ["figure5", "--jobs", "2", "--spark"],
            "--jobs is for runs without Spark; --master local[2] has Spark make two at a time",
        ),
        (["figure5", "--set", "period_ms"], "--set period_ms: write KEY=VALUE, as in --set network.loss=0.1"),
        (["figure5", "--set", "processes=5"], "--set processes: this figure varies it itself"),
        (
            ["churn", "--set", "crashes_per_minute=5"],
            "--set crashes_per_minute: this figure varies it itself",
        ),
        (["vectors", "--set", "vectors=false"], "--set vectors: this figure measures them itself"),
        (["gone.toml"], "cannot read grid gone.toml: No such file or directory"),
        (
            ["figure5", "--processes", "9", "--set", "network.delay.kind=per_link"],
            "processes = 9, seed = 1: network: on the fleet delay_ms is a number or points, and delay_spread "
            'says how far links differ from it; without engine = "fleet" the simulator takes '
            'network.delay = {kind = "per_link", ...}',
        ),
    ],
)
def test_misuse_is_one_line(reproduce: Run, arguments: list[str], line: str) -> None:
    Path("file").touch()
    assert reproduce(*arguments) == (2, "", f"aforesaid: {line}\n")
    assert not Path("figures/runs").exists() or not any(Path("figures/runs").iterdir())


def test_an_unknown_key_and_a_file_without_samples_are_one_line_each(reproduce: Run) -> None:
    code, _, told = reproduce("figure5", "--processes", "9", "--set", "perod_ms=5")
    assert (code, told.count("\n")) == (2, 1)
    assert told.startswith(
        "aforesaid: processes = 9, seed = 1: unknown key `perod_ms`, did you mean period_ms? known keys: "
    )
    Path("own.toml").write_text(OWN.replace("sample_ms = 7\n", ""))
    code, _, told = reproduce("own.toml", "--jobs", "1")
    assert (code, told.count("\n")) == (2, 1)
    assert "own.toml: no sample_ms: a figure is drawn from samples" in told


def test_a_violation_is_told_and_exits_1(reproduce: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise FleetBroken("p3 received message 7 where it was not expected")

    monkeypatch.setattr("aforesaid.reproduce.running.simulate_to", broken)
    code, _, told = reproduce("figure5", "--processes", "11")
    assert (code, told) == (1, "p3 received message 7 where it was not expected\n")


def test_a_worker_that_dies_is_told(reproduce: Run) -> None:
    Path("mortal.py").write_text(
        "import os\n"
        "from dataclasses import replace\n"
        "from aforesaid.protocols.catalog import CATALOG\n"
        "ENTRY = replace(CATALOG['reliable'], name='mortal', version='1', make=lambda *_: os._exit(9))\n"
    )
    Path("own.toml").write_text(OWN.replace('"reliable"', '"mortal.py:ENTRY"'))
    line = "a run was killed, perhaps for want of memory; --jobs 1 needs less of it"
    assert reproduce("own.toml", "--jobs", "2") == (2, "", f"aforesaid: {line}\n")


def test_an_interrupted_figure_keeps_what_was_finished_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    """Ctrl-C as a terminal sends it, to every process, while one run of two is not finished."""
    arguments = ["--processes", "10", "--processes", "3000", "--jobs", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "aforesaid", "reproduce", "figure5", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    runs = tmp_path / "out" / "runs"
    deadline = time.monotonic() + 120
    while not (runs / "run=fleet-n10-s1").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert told == f"interrupted: 1 of 2 runs are kept in {runs}; the same command goes on from there\n"
    assert [path.name for path in runs.iterdir()] == ["run=fleet-n10-s1"]
