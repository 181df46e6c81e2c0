"""A network of its own for protocols with links, made to hurt: what `aforesaid.sim` has no fault for.

Frames of one direction of a link keep their order; others keep none. Until `heal`, what may be lost is lost
often. Connections break with a suffix of what is on them, and each end hears of it in its time. Whoever is
isolated begins again through anyone who is inside. Each incarnation keeps a log of what it said and heard, in
order; `links_campaign` judges them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, NamedTuple

from aforesaid.core import MILLISECOND, MessageId, declaration_of, link_of
from aforesaid.protocols.algorithm import Setup
from aforesaid.protocols.overlay.frames import Lid
from support.harness import Passing

DETECTOR = 40 * MILLISECOND
MEMBERS_MAX = 16
EVENTS_MAX = 60_000

Build = Callable[[Setup], Any]


@dataclass
class Log:
    """One incarnation: what it said and delivered, and what is older than itself."""

    name: str
    incarnation: int
    heard: list[MessageId] = field(default_factory=list)
    said: dict[MessageId, frozenset[MessageId]] = field(default_factory=dict)
    """What it said, with all that it had delivered or said before."""
    base: frozenset[MessageId] = frozenset()
    """What its contact had when it let it in."""


class Event(NamedTuple):
    time: int
    order: int
    act: Callable[[], None]
    frame: tuple[str, str, Any] | None = None
    """Source, target and link of a frame on its way."""


class Seat(Passing):
    """A process, and the effects sink of its protocol."""

    def __init__(self, world: "World", name: str, group: tuple[str, ...]) -> None:
        self.world = world
        self.name = name
        self.up = True
        self.alone = False
        self.logs: list[Log] = []
        self.begin(group)

    def begin(self, group: tuple[str, ...]) -> None:
        self.timers: dict[Any, int] = {}
        incarnation = len(self.logs)
        self.logs.append(Log(self.name, incarnation))
        self.machine = self.world.build(Setup(self.name, group, incarnation, self.world.options))

    @property
    def log(self) -> Log:
        return self.logs[-1]

    def call(self, method: str, *arguments: Any) -> Any:
        """Call the protocol; if that left it isolated, it begins again."""
        if not self.up:
            return None
        result = getattr(self.machine, method)(*arguments, self.world.now, self)
        if self.alone:
            self.alone = False
            self.world.begin_again(self)
        return result

    def say(self) -> None:
        if self.up:
            past = frozenset((*self.log.base, *self.log.heard, *self.log.said))
            message_id = self.call("broadcast", f"{self.name} says")
            self.logs[message_id.incarnation].said[message_id] = past

    def send(self, targets: Sequence[str], message: Any) -> None:
        for target in targets:
            self.world.carry(self.name, target, message)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.log.heard.append(message_id)

    def stable(self, message_id: MessageId) -> None:
        raise AssertionError("nobody asked")

    def admit(self, peer: str, incarnation: int | None = None) -> None:
        newcomer = self.world.seats[peer].log
        if incarnation in (None, newcomer.incarnation):
            newcomer.base = frozenset((*self.log.base, *self.log.heard))

    def isolated(self) -> None:
        self.alone = True

    def arm(self, timer: Any, deadline: int) -> None:
        armed = self.timers[timer] = next(self.world.orders)
        self.world.at(deadline, lambda: self.expire(timer, armed))

    def disarm(self, timer: Any) -> None:
        self.timers.pop(timer, None)

    def expire(self, timer: Any, armed: int) -> None:
        if self.timers.get(timer) == armed:
            del self.timers[timer]
            self.call("expire", timer)

    def choose(self, label: str, count: int) -> int:
        return self.world.random.randrange(count)


class World:
    """Processes, what is on its way between them, and what befalls them."""

    def __init__(
        self,
        build: Build,
        options: dict[str, Any],
        random: Random,
        founders: int,
        delay_max: int,
        loss: float,
    ) -> None:
        self.build = build
        self.options = options
        self.random = random
        self.delay_max = delay_max
        self.loss = loss
        self.now = 0
        self.healed = False
        self.looks = 200
        """How often those outside may look in vain for somebody inside."""
        self.orders: Iterator[int] = count()
        self.agenda: list[Event] = []
        self.latest: dict[tuple[str, str, Any], int] = {}
        self.broken: set[Any] = set()
        group = tuple(f"p{number}" for number in range(founders))
        self.seats: dict[str, Seat] = {}
        for name in group:
            self.seats[name] = Seat(self, name, group)
        for seat in list(self.seats.values()):
            seat.call("begin")

    # ------------------------------------------------------------------------------------------ time

    def at(self, time: int, act: Callable[[], None], frame: tuple[str, str, Any] | None = None) -> None:
        heappush(self.agenda, Event(max(time, self.now), next(self.orders), act, frame))

    def later(self, within: int, act: Callable[[], None]) -> None:
        self.at(self.now + self.random.randint(0, within), act)

    def run(self) -> bool:
        """Until nothing is left to happen; False: it does not end."""
        for _ in range(EVENTS_MAX):
            if not self.agenda:
                return True
            event = heappop(self.agenda)
            self.now = event.time
            event.act()
        return False

    def heal(self) -> None:
        """From here on nothing is lost, and nothing new begins."""
        self.healed = True
        for seat in self.up():
            seat.call("settle")

    # --------------------------------------------------------------------------------------- network

    def carry(self, source: str, target: str, message: Any) -> None:
        link = link_of(message)
        lossy = declaration_of(type(message)).droppable and not self.healed
        if link in self.broken or (lossy and self.random.random() < self.loss):
            return
        arrival = self.now + self.random.randint(1, self.delay_max)
        if link is not None:
            arrival = max(arrival, self.latest.get((source, target, link), 0) + 1)
            self.latest[source, target, link] = arrival
        seat = self.seats[target]
        self.at(arrival, lambda: seat.call("receive", source, message), (source, target, link))

    def lose_suffixes(self, breaks: Callable[[tuple[str, str, Any]], bool]) -> None:
        """Of what is on its way on these channels, a prefix arrives."""
        flying: dict[Any, list[Event]] = {}
        for event in sorted(self.agenda):
            if event.frame is not None and breaks(event.frame):
                flying.setdefault(event.frame, []).append(event)
        lost = {
            event.order
            for events in flying.values()
            for event in events[self.random.randint(0, len(events)) :]
        }
        self.agenda = [event for event in sorted(self.agenda) if event.order not in lost]

    # ------------------------------------------------------------------------------------- processes

    def up(self) -> list[Seat]:
        return [seat for seat in self.seats.values() if seat.up]

    def inside(self) -> list[Seat]:
        return [seat for seat in self.up() if seat.machine.inside]

    def neighbours(self, seat: Seat) -> list[str]:
        return list(dict.fromkeys(peer for peer, _ in seat.machine.links()))

    def begin_again(self, seat: Seat) -> None:
        """Through anyone inside; where there is nobody, who was inside founds the group anew."""
        contacts = [other.name for other in self.inside() if other is not seat]
        if contacts:
            seat.begin((seat.name,))
            seat.call("join", self.random.choice(contacts))
        elif seat.machine.inside:
            seat.begin((seat.name,))
            seat.call("begin")
        elif self.looks:
            self.looks -= 1
            self.later(DETECTOR, lambda: self.begin_again(seat) if seat.up else None)
            return
        if self.healed:
            seat.call("settle")

    def join(self) -> None:
        contacts = self.inside()
        if contacts and len(self.up()) < MEMBERS_MAX:
            name = f"p{len(self.seats)}"
            self.seats[name] = Seat(self, name, (name,))
            self.seats[name].call("join", self.random.choice(contacts).name)

    def take_down(self, seat: Seat, crashed: bool) -> None:
        """It is gone, and in time everyone hears of it."""
        if not seat.up or len(self.up()) <= 3:
            return
        if not crashed:
            seat.call("leave")
        seat.up = False
        if crashed:
            self.lose_suffixes(lambda frame: frame[0] == seat.name)
        for other in self.up():
            self.at(self.now + DETECTOR, lambda other=other: other.call("peer_down", seat.name))  # type: ignore[misc]

    def break_connection(self, one: str, other: str, link: Lid) -> None:
        """Both ends hear of it, each in its time, and after what still arrives there."""
        self.broken.add(link)
        self.lose_suffixes(lambda frame: frame[2] == link)
        for end, far in ((one, other), (other, one)):
            last = max((event.time for event in self.agenda if event.frame == (far, end, link)), default=0)
            told = max(last + 1, self.now + self.random.randint(0, DETECTOR))
            self.at(told, lambda seat=self.seats[end]: seat.call("link_down", link))  # type: ignore[misc]
