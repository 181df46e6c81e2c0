"""Spray by itself: a sink for schedules written by hand, and a whole overlay in memory.

The overlay is an ideal broadcast layer: a link stands a handshake's time after one end has asked for it, and
goes when neither end wants it. Messages of the samplers are delayed, reordered and lost.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from random import Random
from typing import Any

from aforesaid.core import MILLISECOND, SECOND
from aforesaid.protocols.overlay.spray import PERIOD, Arc, Spray

EVERY = 60 * SECOND
LATENCY = 1 * MILLISECOND


class Sink:
    """The port `Links` for one process: remembers everything, and answers choices from a list."""

    def __init__(self, *choices: int, unusable: Iterable[str] = ()) -> None:
        self.choices = list(choices)
        self.asked: list[tuple[str, int]] = []
        self.unusable = set(unusable)
        self.connected: list[tuple[str, str]] = []
        self.released: list[tuple[str, str | None]] = []
        self.sent: list[tuple[str, Any]] = []
        self.timers: dict[Any, int] = {}

    def connect(self, peer: str, mediator: str) -> None:
        self.connected.append((peer, mediator))

    def release(self, peer: str, partner: str | None = None) -> None:
        self.released.append((peer, partner))

    def send(self, peer: str, message: Any) -> None:
        self.sent.append((peer, message))

    def usable(self, peer: str) -> bool:
        return peer not in self.unusable

    def arm(self, timer: Any, deadline: int) -> None:
        self.timers[timer] = deadline

    def disarm(self, timer: Any) -> None:
        self.timers.pop(timer, None)

    def choose(self, label: str, count: int) -> int:
        self.asked.append((label, count))
        return self.choices.pop(0) if self.choices else 0


def spray(kind: type[Spray], view: str | Iterable[tuple[str, int]], me: str = "p") -> Spray:
    """A process with these arcs, all new if only their peers are named."""
    machine = kind(me, EVERY)
    machine.free = [Arc(*arc) for arc in view]
    return machine


def peers(arcs: Iterable[Arc]) -> list[str]:
    return sorted(arc.peer for arc in arcs)


def arcs_of(machines: Mapping[str, Spray]) -> int:
    """How many arcs there are: once what the partner has taken, and the asker, unanswered, still lends."""
    count = 0
    for name, machine in machines.items():
        count += len(machine.view)
        if machine.pending and machine.pending.partner in machines:
            answer = machines[machine.pending.partner].answers.get(name)
            if answer and answer.exchange == machine.pending.request.exchange:
                count += len(answer.sample) - len(machine.lent)
    return count


class Overlay:
    """Many samplers, their links and their messages."""

    def __init__(
        self,
        kind: type[Spray] = Spray,
        seed: int = 0,
        latency: tuple[int, int] = (LATENCY, LATENCY),
        handshake: int = 0,
        loss: float = 0.0,
    ) -> None:
        self.kind = kind
        self.random = Random(seed)
        self.latency = latency
        self.handshake = handshake
        self.loss = loss
        self.now = 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.order = 0
        self.machines: dict[str, Spray] = {}
        self.standing: dict[frozenset[str], int] = {}
        """Links, and since when they are usable."""

    def begin(self, graph: dict[str, str]) -> None:
        for name, neighbours in graph.items():
            self.machines[name] = self.kind(name, EVERY)
            self.standing.update((frozenset((name, peer)), self.now) for peer in neighbours)
        for name, neighbours in graph.items():
            self.machines[name].begin(tuple(neighbours), self.now, Ends(self, name))

    def grow(self, count: int, gap: int = SECOND // 10) -> None:
        """So many processes join, one after the other, each through a random member."""
        members = list(self.machines)
        for _ in range(count):
            name = f"p{len(self.machines)}"
            if members:
                self._join(name, self.random.choice(members))
            else:
                self.machines[name] = self.kind(name, EVERY)
                self.machines[name].begin((), self.now, Ends(self, name))
            members.append(name)
            self.run(gap)

    def _join(self, name: str, contact: str) -> None:
        self.machines[name] = self.kind(name, EVERY)
        self.standing[frozenset((name, contact))] = self.now
        self.machines[name].joined(contact, self.now, Ends(self, name))
        self.machines[contact].welcomed(name, self.now, Ends(self, contact))

    def crash(self, victims: Iterable[str], detection_max: int = SECOND) -> None:
        """All at once. Whoever has a link to a victim hears of it within the time given."""
        for victim in victims:
            del self.machines[victim]
        for link in [link for link in self.standing if len(self._up(link)) < 2]:
            del self.standing[link]
            for name in self._up(link):
                (peer,) = link - {name}
                self.later(self.random.randint(0, detection_max), self._tell, name, "peer_down", peer)

    def lose_link(self, one: str, other: str) -> None:
        """Both ends are told, each at its own time."""
        del self.standing[frozenset((one, other))]
        for name, peer in ((one, other), (other, one)):
            self.later(self.random.randint(0, SECOND), self._tell, name, "arc_down", peer)

    def run(self, duration: int) -> None:
        end = self.now + duration
        while self.events and self.events[0][0] <= end:
            self.now, _, event = heappop(self.events)
            event()
        self.now = end

    def rest(self) -> None:
        """Let every exchange that has begun come to its end."""
        for machine in self.machines.values():
            machine.settle()
        while self.events:
            self.run(EVERY)

    def later(self, delay: int, call: Callable[..., None], *arguments: Any) -> None:
        self.order += 1
        heappush(self.events, (self.now + delay, self.order, lambda: call(*arguments)))

    def carry(self, source: str, target: str, message: Any) -> None:
        if not self.loss or self.random.random() >= self.loss:
            self.later(self.random.randint(*self.latency), self._arrive, source, target, message)

    def link(self, name: str, peer: str) -> None:
        assert name != peer, f"{name} took an arc to itself"
        if peer in self.machines:
            self.standing.setdefault(frozenset((name, peer)), self.now + self.handshake)
        else:
            self.later(SECOND, self._tell, name, "arc_down", peer)

    def unlink(self, name: str, peer: str) -> None:
        link = frozenset((name, peer))
        if not any(self.machines[end].wants(*link - {end}) for end in self._up(link)):
            self.standing.pop(link, None)

    def usable(self, name: str, peer: str) -> bool:
        since = self.standing.get(frozenset((name, peer)))
        return since is not None and since <= self.now

    def arcs(self) -> int:
        return arcs_of(self.machines)

    def mean_view(self) -> float:
        return self.arcs() / len(self.machines)

    def in_degrees(self) -> Counter[str]:
        degrees = Counter(dict.fromkeys(self.machines, 0))
        degrees.update(arc.peer for machine in self.machines.values() for arc in machine.view)
        return degrees

    def largest_component(self) -> int:
        """Links work both ways: how many processes they join at most."""
        near: dict[str, set[str]] = {name: set() for name in self.machines}
        for name, machine in self.machines.items():
            for peer in {arc.peer for arc in machine.view} & near.keys():
                near[name].add(peer)
                near[peer].add(name)
        sizes = [0]
        while near:
            frontier = [next(iter(near))]
            sizes.append(0)
            while frontier:
                name = frontier.pop()
                if name in near:
                    sizes[-1] += 1
                    frontier += near.pop(name)
        return max(sizes)

    def connected(self) -> bool:
        return self.largest_component() == len(self.machines)

    def _up(self, link: frozenset[str]) -> list[str]:
        return sorted(name for name in link if name in self.machines)

    def _arrive(self, source: str, target: str, message: Any) -> None:
        if target in self.machines:
            self.machines[target].receive(source, message, self.now, Ends(self, target))

    def _tell(self, name: str, event: str, peer: str) -> None:
        if name in self.machines:
            getattr(self.machines[name], event)(peer, self.now, Ends(self, name))

    def expire(self, name: str) -> None:
        if name in self.machines:
            self.machines[name].expire(PERIOD, self.now, Ends(self, name))


class Ends:
    """The port `Links` of one process of an overlay."""

    def __init__(self, overlay: Overlay, name: str) -> None:
        self.overlay = overlay
        self.name = name

    def connect(self, peer: str, mediator: str) -> None:
        self.overlay.link(self.name, peer)

    def release(self, peer: str, partner: str | None = None) -> None:
        self.overlay.unlink(self.name, peer)

    def send(self, peer: str, message: Any) -> None:
        self.overlay.carry(self.name, peer, message)

    def usable(self, peer: str) -> bool:
        return self.overlay.usable(self.name, peer)

    def arm(self, timer: Any, deadline: int) -> None:
        self.overlay.later(deadline - self.overlay.now, self.overlay.expire, self.name)

    def disarm(self, timer: Any) -> None:
        raise NotImplementedError("Spray has one timer, and lets it expire")

    def choose(self, label: str, count: int) -> int:
        return self.overlay.random.randrange(count)
