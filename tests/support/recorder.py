"""The effects sinks of tests and benchmarks: one that remembers, and one that hands on.

Every other sink is one of these with something overridden. This module imports the ports and nothing else, so
that a benchmark which uses it measures its protocol and not what a test harness brings along.
"""

from collections.abc import Sequence
from typing import Any

from aforesaid.core import Effects, MessageId


class Recorder:
    """An effects sink that remembers everything it was told."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.delivered: list[tuple[MessageId, Any]] = []
        self.own: list[MessageId] = []
        """What the protocol said on its own account."""
        self.stabilised: list[MessageId] = []
        self.admitted: list[str] = []
        self.isolations = 0
        self.timers: dict[Any, int] = {}

    def send(self, targets: Sequence[str], message: Any) -> None:
        self.sent += [(target, message) for target in targets]

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.delivered.append((message_id, payload))

    def numbered(self, message_id: MessageId) -> None:
        self.own.append(message_id)

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


class Outbox(Recorder):
    """Remembers what is sent, and nothing else: for benchmarks, whose sink must cost nothing."""

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        pass

    def arm(self, timer: Any, deadline: int) -> None:
        pass

    def disarm(self, timer: Any) -> None:
        pass


class Passing:
    """An effects sink that hands everything on to another; mutants and eavesdroppers override some of it."""

    def __init__(self, out: Effects) -> None:
        self.out = out

    def send(self, targets: Sequence[str], message: Any) -> None:
        self.out.send(targets, message)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.out.deliver(message_id, payload)

    def numbered(self, message_id: MessageId) -> None:
        self.out.numbered(message_id)

    def stable(self, message_id: MessageId) -> None:
        self.out.stable(message_id)

    def admit(self, peer: str, incarnation: int | None = None) -> None:
        self.out.admit(peer, incarnation)

    def isolated(self) -> None:
        self.out.isolated()

    def arm(self, timer: Any, deadline: int) -> None:
        self.out.arm(timer, deadline)

    def disarm(self, timer: Any) -> None:
        self.out.disarm(timer)

    def choose(self, label: str, count: int) -> int:
        return self.out.choose(label, count)
