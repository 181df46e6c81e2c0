"""A counterexample of the explorer, looked at step by step."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.conftest import Open
from support.commands import command
from support.own_algorithm import write


def test_a_saved_schedule_is_stepped_through(
    open_page: Open,
    keep_picture: Callable[[Page, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    aforesaid = command(monkeypatch, capsys)
    write(tmp_path, "own_seen", **{"for cause in causes)": "for cause in ())"})
    assert aforesaid("explore", "own_seen.py:ENTRY", "--messages", "1", "--save", "bug.json")[0] == 1
    assert aforesaid("view", "bug.json", "--out", "bug.html")[0] == 0
    shown = open_page(tmp_path / "bug.html")
    # It opens at its end: four steps, of which the last breaks the order.
    assert "broken: causal" in shown.inner_text("#verdict")
    assert "Step 4 of 4" in shown.inner_text("#stepping")
    assert said_and_delivered(shown) == [[1, 1], [1, 2], [0, 1]]
    keep_picture(shown, "schedule")
    shown.keyboard.press(",")
    assert shown.inner_text("#stepping [aria-current=true]") == "p1 broadcasts p1#1"
    assert said_and_delivered(shown) == [[1, 1], [1, 2], [0, 0]]
    shown.click("#stepping li:first-child button")
    assert said_and_delivered(shown) == [[1, 1], [0, 0], [0, 0]]


def said_and_delivered(shown: Page) -> list[list[int]]:
    """What each process had, as the table beside the picture has it."""
    rows: list[list[int]] = shown.eval_on_selector_all(
        "#stepping tbody tr",
        "rows => rows.map((row) => Array.from(row.cells).slice(1, 3).map((cell) => +cell.textContent))",
    )
    return rows
