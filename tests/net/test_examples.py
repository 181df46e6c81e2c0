"""The examples run as they are printed, and say what they promise to say."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

FRIDGE_NOTE = ("buy bread / buy eggs", "buy bread and eggs")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("chat", {"alice: Is it Friday?", "bob: Yes."}),
        ("shopping_list", set()),
        (
            "fridge_note",
            {f"{name} reads: {text}" for name in ("ann", "ben", "cem") for text in FRIDGE_NOTE},
        ),
        ("run_events", {"publish began", "publish ended"}),
        ("change_feed", {"line: 600 of 600 rows", "no row came before what it refers to"}),
        (
            "kitchen",
            {
                "waiter: 10 tables have paid for all they had",
                "till: nothing was served before it was ordered",
            },
        ),
        ("pipeline", {"auditor: 20 orders, each heard of as intake -> pricing -> shipping"}),
    ],
)
def test_an_example(name: str, lines: set[str]) -> None:
    ran = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, timeout=180, check=False
    )
    assert ran.returncode == 0, ran.stderr
    said = {line.strip() for line in ran.stdout.splitlines()}
    assert lines <= said
    if name == "shopping_list":
        copies = {line.partition(": ")[2] for line in said}
        assert len(said) == 3
        assert len(copies) == 1, "every phone has the same list"
        assert {"jam", "tea"} <= set(copies.pop().split(", "))
