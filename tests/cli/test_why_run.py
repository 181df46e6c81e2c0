"""`aforesaid why` of stored runs, as a user meets it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.commands import Run, command

DEMO = str(Path(__file__).parents[2] / "scenarios" / "demo.toml")
NAME = "run=waiting-n5-s7"


@pytest.fixture
def aforesaid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return command(monkeypatch, capsys)


def test_a_message_is_told_to_its_root_with_receipts_and_without(aforesaid: Run) -> None:
    """Played again, the run tells the same: the demo's longest wait is due to the partition."""
    answers = []
    for root, receipts in (("told", "--receipts"), ("untold", "--no-receipts")):
        assert aforesaid("simulate", DEMO, "--out", root, receipts)[0] == 0
        assert Path(root, NAME, "receipts.parquet").exists() == (root == "told")
        code, out, err = aforesaid("why", f"{root}/{NAME}", "p2#7", "p1")
        assert code == 0
        assert ("played again" in err) == (root == "untold")
        answers.append(out)
    assert answers[0] == answers[1]
    assert "It came to p1 at 1,593.4 ms, from p2, and waited 306.6 ms there:" in answers[0]
    assert "So the root is p3#7" in answers[0]
    assert "Meanwhile: partition p0 p1 | p2 p3 p4, at 800.0 ms." in answers[0]


def test_without_a_process_or_a_message_there_is_a_line_for_each(aforesaid: Run) -> None:
    aforesaid("simulate", DEMO)
    code, out, _ = aforesaid("why", "traces")
    assert code == 0
    assert out.splitlines()[0].startswith("p2#7 at p1: delivered after 306.6 ms")
    code, out, _ = aforesaid("why", "traces", "p2#7", "--json")
    assert code == 0
    assert [entry["process"] for entry in json.loads(out)] == ["p0", "p1", "p3", "p4"]


def test_a_run_that_cannot_be_played_again_says_so(aforesaid: Run) -> None:
    aforesaid("simulate", DEMO, "--no-receipts")
    path = Path("traces", NAME, "runs.parquet")
    runs = pq.read_table(path, partitioning=None)
    scenario = runs.schema.get_field_index("scenario")
    pq.write_table(runs.set_column(scenario, "scenario", [["{}"]]), path)
    code, out, err = aforesaid("why", "traces", "p2#7", "p1")
    assert code == 0
    assert "no scenario to play it again: only deliveries are known" in err
    assert out.splitlines()[:2] == ["p2#7 was said at 953.7 ms.", "It was delivered at p1 at 1,900.0 ms."]


def test_a_place_that_is_not_there_is_no_silent_node(aforesaid: Run) -> None:
    code, _, err = aforesaid("why", "traces/run=mistyped", "p1#17")
    assert code == 2
    assert "traces/run=mistyped does not exist" in err


def test_a_process_is_asked_of_runs_only(aforesaid: Run, tmp_path: Path) -> None:
    code, _, err = aforesaid("why", str(tmp_path), "p1#17", "p0")
    assert code == 2
    assert "holds no runs" in err
