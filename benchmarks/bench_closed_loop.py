"""Waits in closed loops: who answers what it hears, and tells others on the way. Virtual time, no loss.

Table 1 (bench_table1.py) says things at given times, whatever was heard. Here all but the first message is
said because another was delivered, as in requests and replies:
- `ping-pong`: two players and a ball; before each hit a player tells a third party of its own something;
- `calls`: clients call a front, which asks three stores, notes each answer in a log and replies; a client
  tells its own log and calls again;
- `pipeline`: items pass through five stages, each of which tells a common monitor before it passes one on;
  the last one asks the first for more.
Links have one delay each, of 10 ms or drawn from 1 to 20 ms; r is the longest round trip. A message is *held*
from when it is said until it is network-sent; how long at most, in r, is told for each sixth of the time, so
that growth can be seen. Rounds are what the loop got done.

    python benchmarks/bench_closed_loop.py [seconds of play, 60 unless told] [--figure waits.svg]
"""

import argparse
import heapq
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from aforesaid.core import MILLISECOND, SECOND, saying
from aforesaid.protocols.catalog import Setup, algorithm
from aforesaid.protocols.delivery.hybrid_frames import Msg, News

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.recorder import Recorder

ALGORITHMS = (
    "hybrid_basic",
    "hybrid_sps",
    "hybrid_in_order",
    "hybrid_multicast",
    "hybrid_multicast_sps",
    "hybrid_multicast_in_order",
)
SIXTHS = 6

Say = tuple[str, str]
"""Whom to tell what."""
Play = Callable[[str, str, str], Iterator[Say]]
"""(who hears, from whom, what): what it then says, in order."""


@dataclass(frozen=True)
class Loop:
    """A closed loop: who is in it, who begins with what, how everyone answers, what counts as a round."""

    names: tuple[str, ...]
    begin: tuple[tuple[str, Say], ...]
    play: Play
    round: str


def ping_pong() -> Loop:
    third, other = {"a": "x", "b": "y"}, {"a": "b", "b": "a"}

    def play(me: str, source: str, what: str) -> Iterator[Say]:
        if me in third:
            yield third[me], "note"
            yield other[me], "ball"

    return Loop(("a", "b", "x", "y"), (("a", ("b", "ball")),), play, "ball")


def calls(clients: int = 4) -> Loop:
    stores = ("s1", "s2", "s3")
    names = tuple(f"c{number}" for number in range(clients))
    open_calls: dict[str, int] = {}

    def play(me: str, source: str, what: str) -> Iterator[Say]:
        kind, _, client = what.partition(" ")
        if me == "front" and kind == "call":
            open_calls[client] = len(stores)
            yield from ((store, f"ask {client}") for store in stores)
        elif me in stores:
            yield "front", f"answer {client}"
        elif me == "front" and kind == "answer":
            open_calls[client] -= 1
            yield "log", "note"
            if not open_calls[client]:
                yield client, f"reply {client}"
        elif me in names:
            yield f"log of {me}", "note"
            yield "front", f"call {me}"

    begin = tuple((name, ("front", f"call {name}")) for name in names)
    logs = tuple(f"log of {name}" for name in names)
    return Loop(("front", "log", *stores, *names, *logs), begin, play, "reply")


def pipeline(stages: int = 5) -> Loop:
    names = tuple(f"stage {number}" for number in range(stages))
    following = dict(zip(names, (*names[1:], names[0]), strict=True))

    def play(me: str, source: str, what: str) -> Iterator[Say]:
        if me in following:
            yield "monitor", "note"
            yield following[me], "more" if me == names[-1] else "item"

    begin = tuple((names[0], (names[1], "item")) for _ in range(4))
    return Loop((*names, "monitor"), begin, play, "more")


LOOPS: dict[str, Callable[[], Loop]] = {"ping-pong": ping_pong, "calls": calls, "pipeline": pipeline}


@dataclass
class Played:
    """What a run showed."""

    rounds: int = 0
    longest: list[float] = field(default_factory=lambda: [0.0] * SIXTHS)
    """In round trips, by sixths of the time."""
    held: list[tuple[float, float]] = field(default_factory=list)
    """When each message was said, and how long it was held, in seconds."""


class Table:
    """One algorithm in one loop."""

    def __init__(self, name: str, loop: Loop, delays: Sequence[int], seconds: float) -> None:
        entry, chance = algorithm(name), random.Random(1)
        options = {"retransmit": False}
        self.loop, self.end = loop, round(seconds * SECOND)
        self.machines = {me: entry.build(Setup(me, loop.names, 0, options)) for me in loop.names}
        self.delay = {(a, b): chance.choice(delays) for a in loop.names for b in loop.names if a != b}
        self.round_trip = 2 * max(delays)
        self.flying: list[tuple[int, int, str, str, Any]] = []
        self.order = count()
        self.said: dict[tuple[str, int], int] = {}
        self.outcome = Played()
        self.now = 0

    def run(self) -> Played:
        for me, told in self.loop.begin:
            self.say(me, told)
        while self.flying:
            now, _, source, target, frame = heapq.heappop(self.flying)
            if now > self.end:
                break
            self.now = now
            seat = Seat()
            self.machines[target].receive(source, frame, now, seat)
            self.act(target, seat)
        # What is held now is held at least until now.
        for moment in self.said.values():
            self.note(moment, self.end)
        return self.outcome

    def say(self, me: str, told: Say) -> None:
        seat = Seat()
        message = saying(self.machines[me])((told[0],), told[1], self.now, seat)
        self.said[me, message.number] = self.now
        self.act(me, seat)

    def act(self, me: str, seat: "Seat") -> None:
        for target, frame in seat.leaving:
            message = frame.message if type(frame) is News else frame
            if type(message) is Msg:
                self.note(self.said.pop((me, message.number)), self.now)
            due = self.now + self.delay[me, target]
            heapq.heappush(self.flying, (due, next(self.order), me, target, frame))
        for source, what in seat.heard:
            self.outcome.rounds += what.startswith(self.loop.round)
            for told in self.loop.play(me, source, what):
                self.say(me, told)

    def note(self, said: int, left: int) -> None:
        longest, sixth = self.outcome.longest, min(SIXTHS - 1, said * SIXTHS // self.end)
        longest[sixth] = max(longest[sixth], (left - said) / self.round_trip)
        self.outcome.held.append((said / SECOND, (left - said) / SECOND))


class Seat(Recorder):
    """What a protocol asks for in one step."""

    def __init__(self) -> None:
        super().__init__()
        self.leaving: list[tuple[str, Any]] = []
        self.heard: list[tuple[str, str]] = []

    def send(self, targets: Sequence[str], message: Any) -> None:
        self.leaving += [(target, message) for target in targets]

    def deliver(self, message_id: Any, payload: Any) -> None:
        self.heard.append((message_id.origin, payload))


DELAYS: dict[str, Sequence[int]] = {
    "every link 10 ms": (10 * MILLISECOND,),
    "links of 1 to 20 ms": tuple(number * MILLISECOND for number in range(1, 21)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0, help="of play, in virtual time")
    parser.add_argument("--figure", type=Path, help="draw how long messages of the ping-pong are held")
    options = parser.parse_args()
    drawn: dict[str, Played] = {}
    for title, delays in DELAYS.items():
        for loop in LOOPS:
            print(f"\n{loop}, {title}, {options.seconds:.0f} s: rounds, and the longest hold in r by sixths")
            for name in ALGORITHMS:
                played = Table(name, LOOPS[loop](), delays, options.seconds).run()
                cells = "".join(f"{longest:9.2f}" for longest in played.longest)
                print(f"{name:26}{played.rounds:9,}{cells}", flush=True)
                if loop == "ping-pong" and len(delays) == 1:
                    drawn[name] = played
    if options.figure:
        draw(drawn, options.figure)


def draw(drawn: dict[str, Played], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot(xlabel="said at, s", ylabel="held back, s", yscale="log")
    for name in ("hybrid_basic", "hybrid_sps", "hybrid_in_order"):
        held = sorted((said, wait) for said, wait in drawn[name].held if wait > 0)
        axes.plot(*zip(*held[:: max(1, len(held) // 400)], strict=True), ".", markersize=3, label=name)
    axes.legend()
    axes.set_title("Ping-pong with side messages, every link 10 ms")
    figure.savefig(path)
    print(f"drawn: {path}")


if __name__ == "__main__":
    main()
