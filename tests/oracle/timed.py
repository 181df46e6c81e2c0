"""A world with a clock: when each message leaves and is delivered, by one algorithm and by another.

What a frame is called and what it carries differ from algorithm to algorithm; so a frame takes as long as its
link is long, and a message as long again by its number. Two algorithms that decide alike then do everything
in the same instants. Who delivers something may answer at once: whether, and to whom, is drawn by message.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

from aforesaid.core import MessageId
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Told
from aforesaid.protocols.delivery.hybrid_frames import Msg
from oracle.world import Build
from support.harness import Recorder

SECOND = 1_000_000_000


@dataclass(frozen=True)
class Timed:
    """One world."""

    seed: int
    processes: int = 4
    messages: int = 20
    multicast: bool = False
    answers: float = 0.4


class Clocked:
    """Plays it with one algorithm; nothing is lost."""

    def __init__(self, build: Build, plan: Timed) -> None:
        self.plan = plan
        self.names = [f"p{i}" for i in range(plan.processes)]
        self.machines = {name: build(name, retransmit=False) for name in self.names}
        self.sinks = {name: Recorder() for name in self.names}
        self.events: list[tuple[int, int, str, str, Any]] = []
        self.left: list[tuple[int, str, str, int, bool]] = []
        """When which message left for whom, and whether its receiver needs a permit."""
        self.delivered: list[tuple[int, str, MessageId]] = []
        self.now = 0
        self.counted = count()

    def run(self) -> "Clocked":
        chance = self._drawn("script")
        for _ in range(self.plan.messages):
            self._at(chance.randrange(SECOND), chance.choice(self.names), "", None)
        while self.events:
            self.now, _, name, source, message = heappop(self.events)
            if message is None:
                self._speak(name, self._drawn("said", self.now))
            else:
                self.machines[name].receive(source, message, self.now, self.sinks[name])
                self._over(name)
        return self

    def _speak(self, name: str, chance: random.Random) -> None:
        others = [other for other in self.names if other != name]
        several = chance.randint(1, len(others)) if self.plan.multicast and chance.random() < 0.5 else 1
        self.machines[name].send(chance.sample(others, several), None, self.now, self.sinks[name])
        self._over(name)

    def _over(self, name: str) -> None:
        """The step is over: send what it sends, and let the process answer what it delivered."""
        sink = self.sinks[name]
        for target, message in sink.take_sent():
            self._fly(name, target, message)
        answered: Sequence[tuple[MessageId, Any]] = sink.delivered[:]
        sink.delivered.clear()
        for message_id, _ in answered:
            self.delivered.append((self.now, name, message_id))
            chance = self._drawn("answer", name, *message_id)
            if message_id.number < 20 and chance.random() < self.plan.answers:
                self._speak(name, chance)

    def _fly(self, name: str, target: str, message: Any) -> None:
        takes = self._drawn("link", name, target).randrange(SECOND // 2)
        if isinstance(message, Msg | Told):
            needs_permit = message.flagged if isinstance(message, Msg) else message.opaque
            self.left.append((self.now, name, target, message.number, needs_permit))
            takes += self._drawn("message", name, target, message.number).randrange(SECOND // 2)
        self._at(self.now + takes, target, name, message)

    def _at(self, when: int, name: str, source: str, message: Any) -> None:
        heappush(self.events, (when, next(self.counted), name, source, message))

    def _drawn(self, *what: Any) -> random.Random:
        return random.Random(repr((self.plan.seed, *what)))
