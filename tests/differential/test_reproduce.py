"""`aforesaid reproduce`, as its users meet it, on small fleets."""

import csv
import json
import sys
from pathlib import Path

import pytest

from aforesaid.cli import main


def reproduce(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["aforesaid", "reproduce", *arguments])
    with pytest.raises(SystemExit) as exited:
        main()
    return int(exited.value.code or 0)


def test_figure_5_with_its_data_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = reproduce(
        monkeypatch, "fig5a", "fig5b", "--processes", "30", "--out", str(tmp_path), "--seed", "3"
    )
    assert code == 0
    facts = json.loads((tmp_path / "reproduce.json").read_text())
    assert facts["seed"] == 3
    assert facts["versions"].keys() == {"aforesaid", "numba", "numpy", "matplotlib"}
    (summary,) = facts["figures"]["fig5a"]
    assert summary["broadcasts"] == 48 * 60 * 10
    assert summary["deliveries"] == 30 * summary["broadcasts"]
    assert summary["held at the end"] == 0
    for figure in ("fig5a", "fig5b"):
        assert (tmp_path / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{figure}.svg").read_text()
    with (tmp_path / "fig5a-30.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3600
    late = [float(row["expected"]) + float(row["buffered"]) for row in rows[2520:3000]]
    assert sum(late) / len(late) == pytest.approx(summary["space at 2.5 s delay"], rel=0.01)


def test_a_figure_is_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = []
    for name in ("one", "two"):
        reproduce(monkeypatch, "fig5b", "--processes", "10", "--out", str(tmp_path / name))
        pictures.append((tmp_path / name / "fig5b.svg").read_bytes())
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) < 100_000


def test_a_flood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = reproduce(monkeypatch, "flood", "--processes", "5000", "--out", str(tmp_path), "--json")
    (row,) = json.loads(capsys.readouterr().out)["figures"]["flood"]
    assert (code, row["deliveries"], row["receipts"], row["degree"]) == (0, 5000, 100_000, 20)


def test_no_such_figure_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(monkeypatch, "fig6", "--out", str(tmp_path)) == 2
    assert capsys.readouterr().err == (
        "aforesaid: no figure 'fig6'; there are fig5a, fig5b, churn, crossover, flood\n"
    )


def test_one_process_is_no_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(monkeypatch, "fig5a", "--processes", "1", "--out", str(tmp_path)) == 2
    assert "at least 2 processes" in capsys.readouterr().err
