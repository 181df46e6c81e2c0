"""Adaptive hybrid buffering beside its parents and the baselines: latency above the optimum against bytes.

Virtual time, no loss, one delay for each link. Loads, all but `uniform` closed loops:
- `ping-pong`: two players and a ball; before each hit a player tells a third party of its own something;
- `token`: it goes round among all; whoever has it tells a random process something, and passes it on;
- `calls 4`, `calls 19`: so many clients call a random process, which tells a random one something and calls
  two others, each of which tells a random one something and answers; then it replies, and the client calls
  again;
- `topics`: multicasts to the five subscribers of a topic, twice a second by each process; a subscriber
  answers three in ten on another topic;
- `uniform`: each process says something to a random one, five times a second.
All but the ping-pong (10 ms each way) go over round trips between regions: those of a file given by
`--round-trips` (first line the regions, then a line of ms for each), or else by the distances between 20
cities, at two thirds of the speed of light and with two fifths of detour.

The optimum of a message is the latest direct arrival at its receiver of the message and of all that happened
before it in that run: nothing causal is earlier. Bytes are those of MessagePack that a frame adds to its
payload; control frames (acks, permits, news) are counted apart, in bytes for each message.

    python benchmarks/bench_adaptive.py [load ...] [--seconds 60] [--round-trips FILE] [--figure FILE]
"""

import argparse
import csv
import heapq
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import asin, cos, radians, sin, sqrt
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from aforesaid.core import MILLISECOND, SECOND, saying
from aforesaid.core.fields import PAYLOAD, marked
from aforesaid.protocols.catalog import Setup, algorithm

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.recorder import Recorder

UNICAST = ("hybrid_basic", "hybrid_sps", "hybrid_in_order", "mf", "cykas", "rst", "ks")
MULTICAST = ("hybrid_multicast", "hybrid_multicast_sps", "hybrid_multicast_in_order", "rst", "ks")
BOUNDS = (0, 1, 2, 4, 8, 16)
PROCESSES = 20
KM_PER_MS = 200 / 1.4

CITIES = {
    "cape town": (-34, 18), "hong kong": (22, 114), "tokyo": (36, 140), "seoul": (38, 127),
    "mumbai": (19, 73), "singapore": (1, 104), "sydney": (-34, 151), "montreal": (46, -74),
    "frankfurt": (50, 9), "stockholm": (59, 18), "milan": (45, 9), "dublin": (53, -6), "london": (51, 0),
    "paris": (49, 2), "bahrain": (26, 51), "sao paulo": (-24, -47), "virginia": (39, -77),
    "ohio": (40, -83), "california": (37, -122), "oregon": (46, -120),
}  # fmt: skip

Say = tuple[tuple[str, ...], str]
"""Whom to tell what."""


@dataclass(frozen=True)
class Load:
    """Who is in it, what is said at given times by whom, and how everyone answers what it hears."""

    names: tuple[str, ...]
    begin: Sequence[tuple[int, str, Say]]
    play: Callable[[str, str, str], Iterator[Say]]
    round: str = ""
    """What counts as a round begins with this."""
    near: bool = False
    """Every link takes 10 ms."""
    multicast: bool = False


def silent(me: str, source: str, what: str) -> Iterator[Say]:
    return iter(())


def regions(number: int = PROCESSES) -> tuple[str, ...]:
    return tuple(f"p{index:02}" for index in range(number))


def ping_pong(seconds: float) -> Load:
    third, other = {"a": "x", "b": "y"}, {"a": "b", "b": "a"}

    def play(me: str, source: str, what: str) -> Iterator[Say]:
        if me in third:
            yield (third[me],), "note"
            yield (other[me],), "ball"

    return Load(("a", "b", "x", "y"), [(0, "a", (("b",), "ball"))], play, "ball", near=True)


def token(seconds: float) -> Load:
    names, chance = regions(), random.Random(1)
    following = dict(zip(names, (*names[1:], names[0]), strict=True))

    def play(me: str, source: str, what: str) -> Iterator[Say]:
        if what == "token":
            yield (another(chance, names, me),), "note"
            yield (following[me],), "token"

    return Load(names, [(0, names[0], ((names[1],), "token"))], play, "token")


def calls(clients: int) -> Callable[[float], Load]:
    def load(seconds: float) -> Load:
        names, chance, ids = regions(), random.Random(1), count()
        callers: dict[int, tuple[str, list[int]]] = {}

        def call(me: str) -> Say:
            return (another(chance, names, me),), f"call {next(ids)}"

        def play(me: str, source: str, what: str) -> Iterator[Say]:
            kind, _, number = what.partition(" ")
            if kind == "note":
                return
            if kind in ("call", "ask"):
                yield (another(chance, names, me),), "note"
            if kind == "call":
                callers[int(number)] = source, [2]
                for other in chance.sample([name for name in names if name not in (me, source)], 2):
                    yield (other,), f"ask {number}"
            elif kind == "ask":
                yield (source,), f"answer {number}"
            elif kind == "answer":
                caller, left = callers[int(number)]
                left[0] -= 1
                if not left[0]:
                    yield (caller,), f"reply {number}"
            else:
                yield call(me)

        return Load(names, [(0, name, call(name)) for name in names[:clients]], play, "reply")

    return load


def topics(seconds: float) -> Load:
    names, chance = regions(), random.Random(1)
    subscribers = [tuple(chance.sample(names, 5)) for _ in range(10)]

    def publish(me: str, what: str) -> Say:
        return tuple(name for name in chance.choice(subscribers) if name != me), what

    def play(me: str, source: str, what: str) -> Iterator[Say]:
        if what == "item" and chance.random() < 0.3:
            yield publish(me, "answer")

    begin = [(at, name, publish(name, "item")) for name in names for at in poisson(chance, 2, seconds)]
    return Load(names, begin, play, "item", multicast=True)


def uniform(seconds: float) -> Load:
    names, chance = regions(), random.Random(1)
    begin = [
        (at, name, ((another(chance, names, name),), "item"))
        for name in names
        for at in poisson(chance, 5, seconds)
    ]
    return Load(names, begin, silent, "item")


def another(chance: random.Random, names: Sequence[str], me: str) -> str:
    while (name := chance.choice(names)) == me:
        pass
    return name


def poisson(chance: random.Random, rate: float, seconds: float) -> Iterator[int]:
    now = 0.0
    while (now := now + chance.expovariate(rate)) < seconds:
        yield round(now * SECOND)


LOADS: dict[str, Callable[[float], Load]] = {
    "ping-pong": ping_pong,
    "token": token,
    "calls 4": calls(4),
    "calls 19": calls(19),
    "topics": topics,
    "uniform": uniform,
}


@dataclass
class Outcome:
    """What a run showed."""

    rounds: int = 0
    late_ms: list[float] = field(default_factory=list)
    """How much later than its optimum each copy was delivered."""
    sizes: list[int] = field(default_factory=list)
    control_bytes: int = 0
    messages: int = 0


class World:
    """One algorithm under one load."""

    def __init__(self, name: str, options: dict[str, Any], load: Load, delay: Any, seconds: float) -> None:
        entry = algorithm(name)
        if "retransmit" in entry.options.__struct_fields__:
            options = {**options, "retransmit": False}
        self.load, self.delay, self.end = load, delay, round(seconds * SECOND)
        self.index = {me: place for place, me in enumerate(load.names)}
        self.machines = {me: entry.build(Setup(me, load.names, 0, options)) for me in load.names}
        self.agenda: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.order = count()
        self.past = np.zeros((len(load.names), len(load.names)), np.int64)
        """By process and receiver: the latest direct arrival there of anything that happened before."""
        self.pasts: dict[Any, Any] = {}
        self.said: dict[Any, int] = {}
        self.outcome = Outcome()
        self.now = 0

    def run(self) -> Outcome:
        for at, me, told in self.load.begin:
            self.put(at, self.say, me, told)
        while self.agenda and self.agenda[0][0] <= self.end:
            self.now, _, action, arguments = heapq.heappop(self.agenda)
            action(*arguments)
        assert min(self.outcome.late_ms) >= 0, "not causal"
        return self.outcome

    def put(self, at: int, action: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.agenda, (at, next(self.order), action, arguments))

    def say(self, me: str, told: Say) -> None:
        seat, (targets, what) = Recorder(), told
        place = self.index[me]
        message_id = saying(self.machines[me])(targets, what, self.now, seat)
        for target in targets:
            other = self.index[target]
            self.past[place, other] = max(self.past[place, other], self.now + self.delay[place][other])
        self.pasts[message_id] = self.past[place].copy()
        self.said[message_id] = self.now
        self.outcome.messages += 1
        self.act(me, seat)

    def arrive(self, me: str, source: str, frame: Any) -> None:
        seat = Recorder()
        self.machines[me].receive(source, frame, self.now, seat)
        self.act(me, seat)

    def act(self, me: str, seat: Recorder) -> None:
        for target, frame in seat.sent:
            payloads = marked(frame, PAYLOAD)
            size = len(msgspec.msgpack.encode(frame))
            if payloads:
                self.outcome.sizes.append(size - len(msgspec.msgpack.encode(payloads[0])))
            else:
                self.outcome.control_bytes += size
            due = self.now + self.delay[self.index[me]][self.index[target]]
            self.put(due, self.arrive, target, me, frame)
        place, outcome = self.index[me], self.outcome
        for message_id, what in seat.delivered:
            past = self.pasts[message_id]
            outcome.late_ms.append((self.now - past[place]) / MILLISECOND)
            np.maximum(self.past[place], past, out=self.past[place])
            outcome.rounds += what.startswith(self.load.round)
        for message_id, what in seat.delivered:
            for told in self.load.play(me, message_id.origin, what):
                self.say(me, told)


def links(load: Load, path: Path | None) -> Any:
    """The delay of each link, one way, by places."""
    size = range(len(load.names))
    if load.near:
        return [[10 * MILLISECOND] * len(size) for _ in size]
    between = read(path) if path else by_distance()
    many = len(between)
    return [[round(between[a % many][b % many] / 2 * MILLISECOND) + 1 for b in size] for a in size]


def read(path: Path) -> list[list[float]]:
    """Round trips in ms, as a table with names in the first line and column; # begins a comment."""
    try:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        table = [[float(cell) for cell in row[1:]] for row in list(csv.reader(lines))[1:]]
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: no table of round trips: {error}") from None
    if any(len(row) != len(table) for row in table):
        raise SystemExit(f"{path}: not a square table of round trips")
    return table


def by_distance() -> list[list[float]]:
    return [[2 * distance_km(a, b) / KM_PER_MS + 0.5 for b in CITIES.values()] for a in CITIES.values()]


def distance_km(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Along a great circle, by latitude and longitude."""
    (a, b), (c, d) = (map(radians, place) for place in (one, other))
    return 2 * 6371 * asin(sqrt(sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2))


def contestants(multicast: bool) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Titles, names and options."""
    for name in MULTICAST if multicast else UNICAST:
        yield name, name, {}
    adaptive = "hybrid_adaptive_multicast" if multicast else "hybrid_adaptive"
    for bound in BOUNDS:
        yield f"adaptive, B = {bound}", adaptive, {"constraints": bound}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("loads", nargs="*", metavar="load", help=f"of {', '.join(LOADS)}; all unless told")
    parser.add_argument("--seconds", type=float, default=60.0, help="of play, in virtual time")
    parser.add_argument("--round-trips", type=Path, help="a CSV file of ms between regions")
    parser.add_argument("--figure", type=Path, help="draw latency above the optimum against bytes")
    options = parser.parse_args()
    if unknown := [load for load in options.loads if load not in LOADS]:
        parser.error(f"no load is called {unknown[0]!r}; there are: {', '.join(LOADS)}")
    drawn: dict[str, dict[str, Outcome]] = {}
    for load in options.loads or LOADS:
        drawn[load] = played = {}
        print(f"\n{load}, {options.seconds:.0f} s")
        heads = ("rounds", "mean ms", "p99 ms", "max ms", "bytes", "control")
        print(f"{'':28}" + "".join(f"{head:>10}" for head in heads))
        for title, name, settings in contestants(LOADS[load](0.1).multicast):
            scene = LOADS[load](options.seconds)
            world = World(name, settings, scene, links(scene, options.round_trips), options.seconds)
            played[title] = outcome = world.run()
            late = np.array(outcome.late_ms)
            print(
                f"{title:28}{outcome.rounds:10,}{late.mean():10.1f}{np.percentile(late, 99):10.0f}"
                f"{late.max():10.0f}{np.mean(outcome.sizes):10.1f}"
                f"{outcome.control_bytes / outcome.messages:10.1f}",
                flush=True,
            )
    if options.figure:
        draw(drawn, options.figure)


COLOURS = {"basic": "C1", "sps": "C2", "in_order": "C3", "mf": "C4", "cykas": "C5", "rst": "C6", "ks": "C7"}


def family(name: str) -> str:
    """The multicast of a unicast is drawn alike; the basic multicast has no name but that."""
    return name.removeprefix("hybrid_").replace("multicast_", "").replace("multicast", "basic")


def draw(drawn: dict[str, dict[str, Outcome]], path: Path) -> None:
    from matplotlib.figure import Figure

    columns = min(3, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = Figure(figsize=(3.6 * columns, 3 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (load, played) in zip(grid.flat, drawn.items(), strict=False):
        axes.set(title=load, xlabel="bytes a message", ylabel="ms above the optimum", xscale="log")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(-0.2)
        points = {title: (np.mean(it.sizes), np.mean(it.late_ms)) for title, it in played.items()}
        adaptive = [point for title, point in points.items() if title.startswith("adaptive")]
        axes.plot(*zip(*adaptive, strict=True), "o-", color="C0", markersize=3, label="adaptive, B = 0 to 16")
        for title, point in points.items():
            if not title.startswith("adaptive"):
                axes.plot(*point, "x", color=COLOURS[family(title)], label=family(title))
    grid[0, 0].legend(fontsize=7)
    figure.savefig(path)
    print(f"drawn: {path}")


if __name__ == "__main__":
    main()
