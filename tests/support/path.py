"""Speakers and hearers, and a path between them that loses, delays, reorders, is cut, or is too narrow.

In virtual time, with the machines that nodes run: throughput and latency are facts about an algorithm.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from aforesaid.core import SECOND, Busy, MessageId, Nanoseconds, Process, Timer
from aforesaid.protocols.catalog import Setup, algorithm
from aforesaid.protocols.delivery.hybrid_frames import Msg
from support.recorder import Recorder


@dataclass(frozen=True)
class Path:
    """What lies between a speaker and its hearer."""

    delay: Nanoseconds
    """One way."""
    loss: float = 0.0
    jitter: Nanoseconds = 0
    """Each frame may take so much longer, and so be overtaken."""
    cut: tuple[Nanoseconds, Nanoseconds] = (0, 0)
    """From when to when nothing passes."""
    rate: int = 0
    """So many messages a second pass a queue that all speakers share; 0: any number."""
    room: int = 0
    """So many wait in it; the next one is dropped."""


class World:
    """Pairs of processes, s0 and h0, s1 and h1, ..: s speaks and h hears."""

    def __init__(self, name: str, path: Path, pairs: int = 1, window: int = 1 << 20) -> None:
        self.path = path
        self.now: Nanoseconds = 0
        self.agenda: list[tuple[Nanoseconds, int, Callable[..., None], tuple[Any, ...]]] = []
        self.order = count()
        self.chance = random.Random(1)
        self.machines: dict[Process, Any] = {}
        self.sinks: dict[Process, Sink] = {}
        for pair in range(pairs):
            group = (f"s{pair}", f"h{pair}")
            for me in group:
                self.machines[me] = algorithm(name).build(Setup(me, group, 0, {"buffer_max": window}))
                self.sinks[me] = Sink(self, me)
        self.full = False
        """True: a speaker says something as soon as its window lets it."""
        self.said: dict[tuple[Process, int], Nanoseconds] = {}
        self.latencies: list[Nanoseconds] = []
        self.heard = dict.fromkeys(self.machines, 0)
        self.sent = self.dropped = 0
        self.queue_ends: Nanoseconds = 0

    def at(self, when: Nanoseconds, act: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.agenda, (when, next(self.order), act, arguments))

    def run(self, until: Nanoseconds | None = None) -> "World":
        while self.agenda and (until is None or self.agenda[0][0] <= until):
            self.now, _, act, arguments = heapq.heappop(self.agenda)
            act(*arguments)
        return self

    def refill(self, me: Process) -> None:
        """A step may have made room in the window."""
        if self.full and me[0] == "s":
            self.speak(me)

    def speak(self, me: Process) -> None:
        """Say what the window lets me."""
        try:
            while True:
                self.say(me)
        except Busy:
            pass

    def say(self, me: Process) -> None:
        message_id = self.machines[me].send((f"h{me[1:]}",), None, self.now, self.sinks[me])
        self.said[me, message_id.number] = self.now

    def say_every(self, gap: Nanoseconds, me: Process, end: Nanoseconds) -> None:
        self.say(me)
        if self.now + gap < end:
            self.at(self.now + gap, self.say_every, gap, me, end)

    def carry(self, source: Process, target: Process, frame: Any) -> None:
        path, leaves = self.path, self.now
        if type(frame) is Msg:
            self.sent += 1
            if path.rate:
                leaves = self.queue_ends = max(self.queue_ends, self.now) + SECOND // path.rate
                if leaves - self.now > path.room * SECOND // path.rate:
                    self.queue_ends -= SECOND // path.rate
                    self.dropped += 1
                    return
        if self.chance.random() < path.loss or path.cut[0] <= self.now < path.cut[1]:
            return
        late = self.chance.randrange(path.jitter) if path.jitter else 0
        self.at(leaves + path.delay + late, self.arrive, source, target, frame)

    def arrive(self, source: Process, target: Process, frame: Any) -> None:
        self.machines[target].receive(source, frame, self.now, self.sinks[target])
        self.refill(target)

    def deliver(self, me: Process, message_id: MessageId) -> None:
        self.heard[me] += 1
        self.latencies.append(self.now - self.said.pop((message_id.origin, message_id.number)))

    def expire(self, me: Process, timer: Timer) -> None:
        timers = self.sinks[me].timers
        deadline = timers.get(timer)
        if deadline is not None and deadline > self.now:
            self.at(deadline, self.expire, me, timer)
        elif deadline is not None:
            del timers[timer]
            self.machines[me].expire(timer, self.now, self.sinks[me])
            self.refill(me)


class Sink(Recorder):
    """The effects of one process."""

    def __init__(self, world: World, me: Process) -> None:
        super().__init__()
        self.world, self.me = world, me

    def send(self, targets: Sequence[Process], frame: Any) -> None:
        for target in targets:
            self.world.carry(self.me, target, frame)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.world.deliver(self.me, message_id)

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        earlier = self.timers.get(timer)
        self.timers[timer] = deadline
        if earlier is None or deadline < earlier:
            self.world.at(max(deadline, self.world.now), self.world.expire, self.me, timer)
