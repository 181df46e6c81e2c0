"""What many tests share: an effects sink that remembers, and a run with its verdict."""

from collections.abc import Callable
from typing import Any

from aforesaid.check import Report, check
from aforesaid.core import MessageId
from aforesaid.protocols.catalog import Setup
from aforesaid.sim import Outcome, Scenario, simulate
from aforesaid.trace import MemoryTrace


class Recorder:
    """An effects sink that remembers everything it was told."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.delivered: list[tuple[MessageId, Any]] = []
        self.stabilised: list[MessageId] = []
        self.admitted: list[str] = []
        self.isolations = 0
        self.timers: dict[Any, int] = {}

    def send(self, targets: Any, message: Any) -> None:
        self.sent += [(target, message) for target in targets]

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.delivered.append((message_id, payload))

    def stable(self, message_id: MessageId) -> None:
        self.stabilised.append(message_id)

    def admit(self, peer: str, incarnation: int | None = None) -> None:
        self.admitted.append(peer)

    def isolated(self) -> None:
        self.isolations += 1

    def arm(self, timer: Any, deadline: int) -> None:
        self.timers[timer] = deadline

    def disarm(self, timer: Any) -> None:
        self.timers.pop(timer, None)

    def choose(self, label: str, count: int) -> int:
        return 0

    @property
    def payloads(self) -> list[Any]:
        return [payload for _, payload in self.delivered]

    def take_sent(self) -> list[tuple[str, Any]]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent


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
