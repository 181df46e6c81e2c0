"""Links that always end: foreign shapes of trouble against every protocol whose links come and go.

    python tests/sim/links_campaign.py [runs per setting, 300 unless told] [setting ...]

Up to a third of the frames that may be lost are lost. Connections break under links that are open, being
opened or being closed; routes lead nowhere, or through the dead; mediators are killed while they mediate; two
open links to each other at once, one opens the same link again and again. In every run nothing is delivered
twice, before what precedes it, or by who came after it. At rest, when no timer is armed any more, no gauge
tells of a link being opened or closed, of mediation or of an exchange; every link has two ends, and every arc
a link. Where the links end strongly connected, everyone has everything, and remembers nothing.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.core import MILLISECOND
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.preventive import Preventive
from aforesaid.protocols.overlay.spray import Spray
from sim import prc_campaign
from sim.links_world import DETECTOR, Build, Log, Seat, World
from sim.prc_campaign import Ends, strongly_connected

PHASE = 600 * MILLISECOND
OF_MESSAGES = ("expected", "buffered")
"""The gauges that are empty at rest only where every message came."""

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "one_way": ("prc", {"both_ways": False}),
    "one_way_routed": ("prc", {"both_ways": False, "alpha": "routed"}),
    "both_ways": ("prc", {}),
    "both_ways_routed": ("prc", {"alpha": "routed"}),
    "sampled": ("prc_spray", {}),
    "sampled_routed": ("prc_spray", {"alpha": "routed"}),
    "preventive": ("preventive", {}),
    "sampled_preventive": ("preventive_spray", {}),
}


@dataclass(frozen=True)
class Played:
    """One run and what was found."""

    connected: bool
    shapes: Counter[str]
    complaints: list[str]


def play(setting: str, seed: int, build: Build | None = None) -> Played:
    algorithm, options = SETTINGS[setting]
    random = Random(f"{setting} {seed}")
    options = {
        "degree": random.choice((2, 2, 3)),
        "handshake_ms": 150.0,
        "tries": random.choice((1, 2, 4)),
        "buffer_max": random.choice((2, 10_000, 10_000)),
        **options,
    }
    samples = CATALOG[algorithm].samples
    if samples:
        options["period_ms"] = random.choice((100.0, 200.0, 400.0))
    world = World(
        build or CATALOG[algorithm].build,
        options,
        random,
        founders=random.randint(4, 10),
        delay_max=random.choice((5, 20, 60, 120, 400)) * MILLISECOND,
        loss=random.choice((0, 0.05, 0.2, 0.35)),
    )
    shapes: Counter[str] = Counter()
    trouble = Trouble(world, shapes, links=not samples)
    for _ in range(random.choice((3, 8, 20, 60))):
        world.at(random.randrange(PHASE), trouble.strike)
    # Where nobody speaks, no copy tells an end that the other one is gone.
    for _ in range(random.choice((0, 0, 5, 20, 60))):
        world.at(random.randrange(PHASE), trouble.speak)
    world.at(PHASE, world.heal)
    ended = world.run()
    connected = strongly_connected({seat.name: ends(seat.machine) for seat in world.up()})
    complaints = list(judged(world, connected)) if ended else ["it does not end"]
    return Played(connected, shapes, complaints)


class Trouble:
    """What befalls a world, a stroke at a time."""

    def __init__(self, world: World, shapes: Counter[str], links: bool) -> None:
        self.world = world
        self.random = world.random
        self.shapes = shapes
        kinds = [self.join, self.leave, self.crash, self.suspect, self.flap]
        if links:
            kinds += [self.open, self.open, self.close, self.close, self.again]
            kinds += [self.mutual, self.repeated, self.killed_mediator, self.wrong_route]
        # A few kinds at a time: who is isolated over and over has no links to speak of.
        self.kinds = self.random.sample(kinds, self.random.randint(1, 5))

    def strike(self) -> None:
        if inside := self.world.inside():
            act = self.random.choice(self.kinds)
            self.shapes[act.__name__] += 1
            act(self.random.choice(inside))

    def speak(self) -> None:
        self.random.choice(self.world.up()).say()

    def join(self, seat: Seat) -> None:
        self.world.join()

    def leave(self, seat: Seat) -> None:
        self.world.take_down(seat, crashed=False)

    def crash(self, seat: Seat) -> None:
        self.world.take_down(seat, crashed=True)

    def suspect(self, seat: Seat) -> None:
        seat.call("peer_down", self._other(seat))

    def flap(self, seat: Seat) -> None:
        """Of a link in any state."""
        sends, hears = known(seat.machine)
        if lids := sorted({*sends, *hears}):
            lid = self.random.choice(lids)
            self.world.break_connection(seat.name, lid.far_end(seat.name), lid)

    def open(self, seat: Seat) -> None:
        peer = self._other(seat)
        seat.call("open", peer, self._route(seat, peer))

    def close(self, seat: Seat) -> None:
        if neighbours := self.world.neighbours(seat):
            seat.call("close", self.random.choice(neighbours))

    def again(self, seat: Seat) -> None:
        """Closed and opened, in whichever order."""
        peer = self._other(seat)
        self.world.later(DETECTOR, lambda: seat.call("close", peer))
        self.world.later(DETECTOR, lambda: self._open_if_inside(seat, peer))

    def mutual(self, seat: Seat) -> None:
        peer = self._other(seat)
        other = self.world.seats[peer]
        self._open_if_inside(seat, peer)
        self.world.later(DETECTOR // 4, lambda: self._open_if_inside(other, seat.name))

    def repeated(self, seat: Seat) -> None:
        peer = self._other(seat)
        for _ in range(3):
            self.world.later(2 * DETECTOR, lambda: self._open_if_inside(seat, peer))

    def wrong_route(self, seat: Seat) -> None:
        """Past anyone, the dead included."""
        peer = self._other(seat)
        others = [name for name in self.world.seats if name not in (seat.name, peer)]
        route = self.random.sample(others, min(len(others), self.random.randint(1, 3)))
        seat.call("open", peer, tuple(route))

    def killed_mediator(self, seat: Seat) -> None:
        peer = self._other(seat)
        route = self._route(seat, peer)
        seat.call("open", peer, route)
        if route:
            mediator = self.world.seats[route[0]]
            self.world.later(DETECTOR, lambda: self.world.take_down(mediator, crashed=True))

    def _other(self, seat: Seat) -> str:
        return self.random.choice([other.name for other in self.world.up() if other is not seat])

    def _route(self, seat: Seat, peer: str) -> tuple[str, ...] | None:
        """Past a neighbour that has a link to the peer, if there is one; now and then none."""
        near = [
            name
            for name in self.world.neighbours(seat)
            if peer in self.world.neighbours(self.world.seats[name])
        ]
        return (self.random.choice(near),) if near and self.random.random() < 0.8 else None

    def _open_if_inside(self, seat: Seat, peer: str) -> None:
        if seat.up and seat.machine.inside:
            seat.call("open", peer, self._route(seat, peer))


def judged(world: World, connected: bool) -> Iterator[str]:
    """What is wrong with a world at rest, in sentences."""
    logs = [log for seat in world.seats.values() for log in seat.logs]
    pasts = {message_id: past for log in logs for message_id, past in log.said.items()}
    for log in logs:
        yield from misordered(log, pasts)
    machines = {seat.name: seat.machine for seat in world.up()}
    for name, machine in machines.items():
        if not machine.inside:
            if world.inside():
                yield f"{name} stays outside"
            continue
        held = {gauge: count for gauge, count in machine.gauges().items() if count}
        if waiting := {gauge: held[gauge] for gauge in held if connected or gauge not in OF_MESSAGES}:
            yield f"at rest {name} holds {waiting}"
        yield from halves(name, machines)
        yield from unlinked(name, machine)
    if connected:
        everything = {message_id for seat in world.up() for message_id in seat.log.heard}
        for seat in world.up():
            if missing := everything.difference(seat.log.heard, seat.log.base):
                yield f"{seat.name} has not delivered {min(missing)}"


def misordered(log: Log, pasts: Mapping[Any, frozenset[Any]]) -> Iterator[str]:
    """Twice, before what precedes it, or older than the process itself."""
    name, seen = f"{log.name}/{log.incarnation}", set()
    behind: set[Any] = set()
    for message_id in log.heard:
        if message_id in seen:
            yield f"{name} delivered {message_id} twice"
        if message_id in log.base:
            yield f"{name} delivered {message_id}, which is older than itself"
        if message_id in behind:
            yield f"{name} delivered {message_id} after what it precedes"
        seen.add(message_id)
        behind |= pasts[message_id] - seen


def halves(name: str, machines: Mapping[str, Any]) -> Iterator[str]:
    """Links that one end sends or hears on, and the other does not hear or send on."""
    sends, hears = known(machines[name])
    for lid in sends:
        far = machines.get(lid.far_end(name))
        if far is None or lid not in known(far)[1]:
            yield f"{name} sends on {lid}, where nobody hears"
    for lid in hears:
        far = machines.get(lid.far_end(name))
        if far is None or lid not in known(far)[0]:
            yield f"{name} hears on {lid}, where nobody sends"


def unlinked(name: str, machine: Any) -> Iterator[str]:
    """Arcs of a sampler that no link stands for."""
    if isinstance(machine, Living) and isinstance(machine.sampler, Spray):
        linked = {peer for peer, _ in machine.links()}
        for arc in machine.sampler.view:
            if arc.peer not in linked:
                yield f"{name} has an arc to {arc.peer}, and no link"


def known(machine: Any) -> tuple[Iterable[Any], Iterable[Any]]:
    """The links that a process sends on, or is to, and those on which it hears, or is to."""
    if isinstance(machine, Preventive):
        return machine.out_view, machine.in_view
    return machine.prc.state.outgoing, machine.prc.state.incoming


def ends(machine: Any) -> Ends:
    if isinstance(machine, Preventive):
        return machine.out_view, machine.in_view
    return prc_campaign.ends(machine)


def again(setting: str, seed: int) -> str:
    """How to play a run again."""
    return f'PYTHONPATH=tests python -c "from sim.links_campaign import *; print(play({setting!r}, {seed}))"'


def campaign(setting: str, seeds: Iterable[int]) -> tuple[list[Played], list[str]]:
    """The runs of one setting, and what was wrong in them."""
    runs, wrong = [], []
    for seed in seeds:
        run = play(setting, seed)
        runs.append(run)
        wrong += [f"{complaint}\n  again: {again(setting, seed)}" for complaint in run.complaints[:1]]
    return runs, wrong


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 300
    failures = 0
    for setting in arguments[1:] or SETTINGS:
        began = perf_counter()
        runs, wrong = campaign(setting, range(count))
        struck = sum((run.shapes for run in runs), Counter())
        shapes = ", ".join(f"{number:,} {shape}" for shape, number in sorted(struck.items()))
        sys.stdout.write(
            f"{setting:18}{len(runs):6,} runs, {sum(run.connected for run in runs):,} ended strongly "
            f"connected, {len(wrong)} went wrong; {shapes}; {perf_counter() - began:.1f} s\n"
            + "".join(f"  {line}\n" for line in wrong[:5])
        )
        sys.stdout.flush()
        failures += len(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
