"""What many tests share: the effects sinks, and a run with its verdict."""

from collections.abc import Callable
from typing import Any

from aforesaid.check import Report, check
from aforesaid.protocols.catalog import Setup
from aforesaid.sim import Outcome, Scenario, simulate
from aforesaid.trace import MemoryTrace
from support.recorder import Passing, Recorder

__all__ = ["Passing", "Recorder", "command", "judged", "scenario"]


def scenario(algorithm: str = "waiting", **parts: Any) -> Scenario:
    """A small scenario; every part may be replaced."""
    return Scenario.of({"algorithm": algorithm, "processes": 4, "duration_ms": 400, **parts})


def judged(run: Scenario, build: Callable[[Setup], Any] | None = None) -> tuple[Outcome, MemoryTrace, Report]:
    """Run a scenario and judge its trace."""
    outcome, trace = simulate(run, build=build)
    return outcome, trace, check(trace)


def command(run: Scenario) -> str:
    """How to run a failing scenario again; part of every campaign's assertion message."""
    return f"seed {run.seed}: Scenario.of(json.loads({run.to_json()!r}))"
