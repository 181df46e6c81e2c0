"""`aforesaid reproduce`, as its users meet it, on small fleets."""

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aforesaid.fleet import FleetStopped
from support.commands import Run, command
from support.compiling import compile_once


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    compile_once()


@pytest.fixture
def reproduce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a directory of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    return command(monkeypatch, capsys, "reproduce")


def test_figure_5_with_its_data_and_versions(reproduce: Run) -> None:
    code, told, _ = reproduce("fig5a", "fig5b", "--processes", "30", "--out", "made", "--seed", "3")
    assert code == 0
    assert "entries at 2.5 s delay" in told
    assert "control/s at 1 ms delay" in told
    made = Path("made")
    facts = json.loads((made / "fig5a.json").read_text())
    assert facts["seed"] == 3
    assert facts["versions"].keys() == {"aforesaid", "python", "numba", "numpy", "matplotlib"}
    (summary,) = facts["rows"]
    assert summary["broadcasts"] == 48 * 60 * 10
    assert summary["deliveries"] == 30 * summary["broadcasts"]
    assert summary["held at the end"] == 0
    for figure in ("fig5a", "fig5b"):
        assert (made / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (made / f"{figure}.svg").read_text()
    with (made / "fig5-30.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3600
    late = [float(row["expected"]) + float(row["buffered"]) for row in rows[2520:3000]]
    assert sum(late) / len(late) == pytest.approx(summary["entries at 2.5 s delay"], rel=0.01)


def test_a_figure_is_the_same_every_time(reproduce: Run) -> None:
    for out in ("one", "two"):
        assert reproduce("fig5b", "--processes", "10", "--out", out)[0] == 0
    picture = Path("one/fig5b.svg").read_bytes()
    assert picture == Path("two/fig5b.svg").read_bytes()
    assert len(picture) < 100_000


def test_churn_tells_what_crashed_and_draws_both_axes(reproduce: Run) -> None:
    code, told, _ = reproduce("churn", "--processes", "20", "--json")
    calm, _, rough = json.loads(told)["churn"]["rows"]
    assert (code, calm["crashed"], calm["flooded, of these"]) == (0, 0, 0.0)
    assert rough["crashed"] > 20
    for made in ("churn-space-20.svg", "churn-control-20.svg", "churn-20-5.csv", "churn.csv"):
        assert Path("figures", made).exists()


def test_the_crossover_is_a_tenth_of_the_delay_at_ten_times_the_rate(reproduce: Run) -> None:
    _, told, _ = reproduce("crossover", "--processes", "30", "--json")
    slow, fast = json.loads(told)["crossover"]["rows"]
    assert fast["entries at 1000 ms"] == pytest.approx(10 * slow["entries at 1000 ms"], rel=0.15)
    from_slow, from_fast = (
        float(row["a vector is smaller"].removeprefix("from ").removesuffix(" ms")) for row in (slow, fast)
    )
    assert from_fast == pytest.approx(from_slow / 10, rel=0.3)


def test_a_flood(reproduce: Run) -> None:
    code, told, _ = reproduce("flood", "--processes", "5000", "--json")
    (row,) = json.loads(told)["flood"]["rows"]
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


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["fig6"], "no figure 'fig6'; there are fig5a, fig5b, table1, churn, crossover, flood"),
        (["fig5a", "--processes", "1"], "fig5a needs at least 2 processes, not 1"),
        (["flood", "--processes", "-5"], "flood needs at least 3 processes, not -5"),
        (["table1", "--processes", "30", "--processes", "5"], "table1 needs at least 8 processes, not 5"),
        (["flood", "--out", "file/there"], "cannot write to file/there: Not a directory"),
    ],
)
def test_misuse_is_one_line(reproduce: Run, arguments: list[str], line: str) -> None:
    Path("file").touch()
    assert reproduce(*arguments) == (2, "", f"aforesaid: {line}\n")


def test_a_violation_is_told_and_exits_1(reproduce: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise FleetStopped("p3 received message 7 where it was not expected")

    monkeypatch.setattr("aforesaid.reproduce.figures.simulate_fleet", broken)
    code, _, told = reproduce("fig5a", "--processes", "11")
    assert (code, told) == (1, "p3 received message 7 where it was not expected\n")


def test_an_interrupted_run_stops_at_once(tmp_path: Path) -> None:
    """Between two slices of a run that would take a minute."""
    # A shell that runs tests in the background has them ignore SIGINT; a user's terminal does not.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import aforesaid.reproduce.figures as figures\n"
        "run = figures.simulate_fleet\n"
        "figures.simulate_fleet = lambda plan, tell: (print('running', flush=True), run(plan, tell))[1]\n"
        "sys.argv = ['aforesaid', 'reproduce', 'fig5a', '--processes', '2000', '--out', sys.argv[1]]\n"
        "from aforesaid.cli import main; main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in told
