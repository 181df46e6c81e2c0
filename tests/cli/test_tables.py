"""Tables in a terminal of 80 columns: nothing is cut off, for a name cut short is another name."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from aforesaid.cli import audit, metrics, show

NAME = "no_waiting_gc-n12-loss0.1-s2"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    text = io.StringIO()
    monkeypatch.setattr(show, "out", Console(file=text, width=80, soft_wrap=True))
    return text


def test_metrics_fit(screen: io.StringIO) -> None:
    figures = dict.fromkeys(("mean_ms", "p50_ms", "p99_ms", "max_ms"), 46.94)
    group = {"algorithm": "no_waiting_gc", "processes": 4, "setting": "loss=0.1", "deliveries": 273}
    rows = [{**group, **figures, "measure": measure} for measure in ("latency", "above_optimum")]
    metrics._print(
        {"runs": 1, "deliveries": 273, "seconds": 1.0, "tables": {}, "out": "out", "refused": []}, rows
    )
    lines = screen.getvalue().splitlines()
    row = "no_waiting_gc  4  loss=0.1         273  46.94  46.94  46.94  46.94       46.94"
    assert row in (line.rstrip() for line in lines)


def test_an_audit_shows_whole_names(screen: io.StringIO) -> None:
    broken = [SimpleNamespace(property=name, value="violated") for name in ("causal", "fifo", "agreement")]
    report = SimpleNamespace(required_verdicts=lambda: broken)
    outcome: Any = SimpleNamespace(
        run=NAME, value="violated", report=report, rows={"deliveries": 1_234_567}, refused={}
    )
    audit._print_table([outcome])
    text = screen.getvalue()
    assert "\u2026" not in text
    lines = text.splitlines()
    first = slice(lines[0].index("verdict"))
    assert "".join(line[first].strip() for line in lines[1:]) == NAME
    assert all(word in text for word in ("violated or unknown", "causal", "fifo", "agreement", "1,234,567"))
