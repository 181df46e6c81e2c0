"""Table 1 of the PRC-broadcast paper, measured: each broadcast's terms beside figures for growing groups.

    python benchmarks/bench_table1_overlay.py

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
from collections.abc import Callable
from math import ceil, log
from time import perf_counter
from types import FrameType
from typing import Any

import msgspec

from aforesaid.core import MILLISECOND
from aforesaid.protocols.catalog import Setup, algorithm

SIZES = (10, 30, 100)
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


def main() -> None:
    began = perf_counter()
    print(f"{'':20}{'overhead':>12}{'lines per receipt':>24}{'entries of a process':>24}{'control/link':>22}")
    print(f"{'':12}{'n':>8}{'bytes':>12}{'first':>12}{'later':>12}{'speaking':>12}{'at rest':>12}", end="")
    print(f"{'mediated':>12}{'flooded':>10}")
    for name, (overhead, delivery, space, control) in TERMS.items():
        print(f"{name:12}{'paper':>8}{overhead:>12}{delivery:>24}{space:>24}{control:>22}")
        for n in SIZES:
            print(f"{'':12}{n:8}" + row(name, n), flush=True)
    ring = {"degree": 1}
    preventive = control_of_a_link("preventive", 3, True, **ring)
    prc = control_of_a_link("prc", 3, True, both_ways=False, alpha="routed", **ring)
    print(
        f"The paper's best case, a ring of three one-way links: preventive {preventive}, prc {prc} messages"
    )
    print(f"\n{perf_counter() - began:.0f} s")


def row(name: str, n: int) -> str:
    world = World(name, n, settings(name, n))
    world.speak(max(n, MESSAGES_MIN))
    assert world.delivered == max(n, MESSAGES_MIN) * n, f"{name}, n = {n}: {world.delivered} deliveries"
    assert world.fifo or world.overtaken, "nothing was out of order"
    cells = (
        f"{mean(world.overheads):12.0f}{mean(world.lines[True]):12.0f}{mean(world.lines[False]):12.0f}"
        f"{mean(world.entries):12.1f}{mean(list(map(ENTRIES[name], world.machines.values()))):12.1f}"
    )
    if name not in OVERLAYS:
        return cells + f"{'-':>12}{'-':>10}"
    costs = [control_of_a_link(name, n, mediated, **settings(name, n)) for mediated in (True, False)]
    return cells + f"{costs[0]:12}{costs[1]:10}"


def settings(name: str, n: int) -> dict[str, Any]:
    degree = min(ceil(log(n)), n // 4)
    return {"prc": {"degree": degree, "alpha": "routed"}, "preventive": {"degree": 2 * degree}}.get(name, {})


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
    assert target in [peer for peer, _ in opener.links()], f"{name}: no link from p0 to {target}"
    return world.control


class World:
    """n protocol objects, an agenda, and what is measured on the way."""

    def __init__(self, name: str, n: int, options: dict[str, Any]) -> None:
        self.name = name
        self.chance = random.Random(n)
        self.fifo = name in OVERLAYS
        names = tuple(f"p{number}" for number in range(n))
        self.machines = {me: algorithm(name).build(Setup(me, names, 0, options)) for me in names}
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
        self.entries.append(ENTRIES[self.name](self.machines[name]))

    def at(self, time: int, action: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.agenda, (time, self.order, lambda: action(*arguments)))
        self.order += 1

    def run(self) -> None:
        while self.agenda:
            self.now, _, action = heapq.heappop(self.agenda)
            action()

    def carry(self, source: str, target: str, frame: Any) -> None:
        self.frames += 1
        self.control += getattr(type(frame), "control", False)
        if self.frames % WEIGHED == 0:
            size = len(msgspec.msgpack.encode(frame)) - len(PAYLOAD)
            if size > 0:
                self.overheads.append(size)
        channel = (source, target, getattr(frame, "link", None))
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


def lines_of(call: Callable[[], None]) -> int:
    """How many lines of protocols and structures a call executes."""
    lines = 0

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return local

    def tracer(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        return local if "protocols" in file or "structures" in file else None

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


def counters(received: Any) -> int:
    return len(received.frozen()) + int(received.exceptions)


def vectors(machine: Any) -> int:
    """The vector, those of the messages that wait, and the reliable broadcast below."""
    waiting: int = machine.gauges()["pending"]
    return (1 + waiting) * len(machine.vector) + counters(machine.below.received)


def expected(machine: Any) -> int:
    gauges = machine.gauges()
    return int(gauges["expected"] + gauges["buffered"])


ENTRIES: dict[str, Callable[[Any], int]] = {
    "reliable": lambda machine: counters(machine.below.received),
    "waiting": vectors,
    "preventive": lambda machine: counters(machine.received) + int(machine.gauges()["buffered"]),
    "prc": expected,
}


def mean(figures: list[int]) -> float:
    return sum(figures) / len(figures)


if __name__ == "__main__":
    main()
