"""Table 1 of Nédelec, Molli and Mostéfaoui (2018b), measured: what each broadcast costs as groups grow.

n protocol objects and one agenda; a frame takes 1 to 20 ms, at random, and keeps its place on its link where
the algorithm needs that. Reliable broadcast (one counter per origin) and vector clocks send everything to
everyone. The other two run on an overlay in which each process has links with the next ln n ones (n / 4 if
that is less): both ways for PRC-broadcast, one way and twice as many for preventive broadcast, so that views
are of the same size. A message every 5 ms; every process speaks; nothing fails.

Overhead: MessagePack bytes of a frame with a payload, less the payload's. Delivery: lines of protocol code
that a receipt executes, of the first copy of a message and of a later one; the forwarding of the first is
included, a line or two for each process it goes to, and so reliable broadcast's figure grows. Space: entries
held by a process for telling copies apart and for order (counters, vector components, expected messages), on
average while the processes speak, and at rest. Control messages per added link: through one mediator, and
flooded, for want of a route. A handshake of PRC-broadcast opens both directions, and is as printed: all four
messages over safe links. A pong of preventive broadcast goes directly, so that only its ping is flooded.
"""

import heapq
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log
from types import FrameType
from typing import Any

import msgspec

from aforesaid.core import MILLISECOND, Misuse, declaration_of, link_of
from aforesaid.protocols.catalog import Setup, algorithm

SIZES = (10, 30, 100)
SIZE_MIN = 8
"""With fewer, everyone is everyone's neighbour, and no link is left to be added."""
PAYLOAD = b"\x00" * 100
MESSAGES_MIN = 60
EVERY_MS = 5
SAMPLE_MS = 10
TRACED = 97
"""One receipt in so many is counted line by line."""
WEIGHED = 53
"""One frame in so many is weighed."""

TERMS = {
    "reliable": ("O(1)", "O(1)", "O(N)", "0"),
    "waiting": ("O(N)", "O(W N)", "O(N + W N)", "0"),
    "preventive": ("O(1)", "O(1)", "O(N)", "3 to 2 P^2"),
    "prc": ("O(1)", "O(Qi)", "O(Qi M)", "6 to 4 P^2"),
}
"""The paper's: message overhead, delivery execution time, local space, control messages per added link."""
OVERLAYS = ("preventive", "prc")


@dataclass(frozen=True)
class Row:
    """What one algorithm costs in a group of one size."""

    algorithm: str
    processes: int
    overhead_bytes: float
    lines_first: float
    lines_later: float
    entries_speaking: float
    entries_at_rest: float
    control_mediated: int | None = None
    """None: the algorithm adds no links."""
    control_flooded: int | None = None


def measure(name: str, n: int) -> Row:
    """One algorithm at one size."""
    if n < SIZE_MIN:
        raise Misuse(f"table 1 needs at least {SIZE_MIN} processes, not {n}")
    world = World(name, n, settings(name, n))
    messages = max(n, MESSAGES_MIN)
    world.speak(messages)
    if world.delivered != messages * n or not (world.fifo or world.overtaken):
        raise RuntimeError(f"{name}, n = {n}: {world.delivered} deliveries, {world.overtaken} overtaken")
    costs: list[int | None] = [None, None]
    if name in OVERLAYS:
        costs = [control_of_a_link(name, n, mediated, **settings(name, n)) for mediated in (True, False)]
    return Row(
        name,
        n,
        mean(world.overheads),
        mean(world.lines[True]),
        mean(world.lines[False]),
        mean(world.entries),
        mean([machine.entries() for machine in world.machines.values()]),
        *costs,
    )


def best_case() -> dict[str, int]:
    """Control messages per added link in a ring of three one-way links, the paper's best case."""
    return {
        "preventive": control_of_a_link("preventive", 3, True, degree=1),
        "prc": control_of_a_link("prc", 3, True, degree=1, both_ways=False, alpha="routed"),
    }


def settings(name: str, n: int) -> dict[str, Any]:
    degree = min(ceil(log(n)), n // 4)
    options: dict[str, dict[str, Any]] = {
        "prc": {"degree": degree, "alpha": "routed"},
        "preventive": {"degree": 2 * degree},
    }
    return options.get(name, {})


def control_of_a_link(name: str, n: int, mediated: bool, **options: Any) -> int:
    """How many control messages travel until a link that p0 opens is there."""
    world = World(name, n, options)
    opener = world.machines["p0"]
    reach = [peer for peer, _ in opener.links()]
    mediator, target = next(
        (peer, other)
        for peer in reach
        for other, _ in world.machines[peer].links()
        if other not in (*reach, "p0")
    )
    opener.open(target, (mediator,) if mediated else None, 0, world.seats["p0"])
    world.run()
    if target not in [peer for peer, _ in opener.links()]:
        raise RuntimeError(f"{name}: no link from p0 to {target}")
    return world.control


class World:
    """n protocol objects, an agenda, and what is measured on the way."""

    def __init__(self, name: str, n: int, options: dict[str, Any]) -> None:
        self.name = name
        self.chance = random.Random(n)
        self.fifo = name in OVERLAYS
        names = tuple(f"p{number}" for number in range(n))
        self.machines: dict[str, Any] = {
            me: algorithm(name).build(Setup(me, names, 0, options)) for me in names
        }
        self.seats = {me: Seat(self, me) for me in names}
        self.now = self.order = self.frames = self.receipts = 0
        self.delivered = self.overtaken = self.control = 0
        self.agenda: list[tuple[int, int, Callable[[], None]]] = []
        self.latest: dict[Any, int] = {}
        self.overheads: list[int] = []
        self.lines: dict[bool, list[int]] = {True: [], False: []}
        self.entries: list[int] = []

    def speak(self, messages: int) -> None:
        """Everyone in turn, in a random order; then until nothing moves."""
        names = list(self.machines)
        self.chance.shuffle(names)
        for number in range(messages):
            self.at(number * EVERY_MS * MILLISECOND, self.say, names[number % len(names)])
        for sample in range(messages * EVERY_MS // SAMPLE_MS):
            self.at(sample * SAMPLE_MS * MILLISECOND, self.look, names[sample % len(names)])
        self.run()

    def say(self, name: str) -> None:
        self.machines[name].broadcast(PAYLOAD, self.now, self.seats[name])

    def look(self, name: str) -> None:
        self.entries.append(self.machines[name].entries())

    def at(self, time: int, action: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.agenda, (time, self.order, lambda: action(*arguments)))
        self.order += 1

    def run(self) -> None:
        while self.agenda:
            self.now, _, action = heapq.heappop(self.agenda)
            action()

    def carry(self, source: str, target: str, frame: Any) -> None:
        self.frames += 1
        self.control += declaration_of(type(frame)).control
        if self.frames % WEIGHED == 0:
            size = len(msgspec.msgpack.encode(frame)) - len(PAYLOAD)
            if size > 0:
                self.overheads.append(size)
        channel = (source, target, link_of(frame))
        arrival = self.now + self.chance.randint(MILLISECOND, 20 * MILLISECOND)
        latest = self.latest.get(channel, 0)
        self.overtaken += arrival < latest
        if self.fifo:
            arrival = max(arrival, latest + 1)
        self.latest[channel] = max(arrival, latest)
        self.at(arrival, self.receive, source, target, frame)

    def receive(self, source: str, target: str, frame: Any) -> None:
        machine, seat = self.machines[target], self.seats[target]
        self.receipts += 1
        if self.receipts % TRACED:
            machine.receive(source, frame, self.now, seat)
            return
        before = self.frames + self.delivered
        count = lines_of(lambda: machine.receive(source, frame, self.now, seat))
        self.lines[self.frames + self.delivered > before].append(count)


def lines_of(call: Callable[[], object], rooms: Sequence[str] = ("protocols", "structures")) -> int:
    """How many lines of these rooms a call executes: a cost that no other load of the machine changes."""
    lines = 0

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return local

    def tracer(frame: FrameType, event: str, _: Any) -> Any:
        return local if any(room in frame.f_code.co_filename for room in rooms) else None

    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(None)
    return lines


class Seat:
    """The effects sink of one process."""

    def __init__(self, world: World, me: str) -> None:
        self.world, self.me = world, me
        self.timers: dict[Any, int] = {}

    def send(self, targets: Any, message: Any) -> None:
        for target in targets:
            self.world.carry(self.me, target, message)

    def deliver(self, message_id: Any, payload: Any) -> None:
        self.world.delivered += 1

    def arm(self, timer: Any, deadline: int) -> None:
        self.timers[timer] = deadline
        self.world.at(deadline, self._expire, timer, deadline)

    def disarm(self, timer: Any) -> None:
        self.timers.pop(timer, None)

    def _expire(self, timer: Any, deadline: int) -> None:
        if self.timers.get(timer) == deadline:
            del self.timers[timer]
            self.world.machines[self.me].expire(timer, deadline, self)


def mean(figures: list[int]) -> float:
    return sum(figures) / len(figures)
