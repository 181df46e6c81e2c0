"""Causal delivery in random worlds: a driver, and an oracle.

The driver is not the simulator and the oracle is not the checker: they share no code with either. The oracle
takes the global log of sends and deliveries, and nothing of what the protocols say about themselves.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aforesaid.core import MessageId
from support.harness import Recorder


@dataclass(frozen=True)
class World:
    """What the network does and how the application talks."""

    fifo: bool = False
    slow: float = 0.2
    losses: float = 0.0
    copies: float = 0.0
    """The chance that a frame arrives once more, some time later."""
    multicast: bool = False
    rounds: bool = False
    """All speak, then all frames of one kind arrive, then all of the next; otherwise anything at any time."""
    hasty: bool = True
    """The application may answer between two deliveries of one step; a protocol cannot know which of them."""
    processes: int = 4
    messages: int = 30


@dataclass(frozen=True)
class Event:
    """The process sent the message to the audience, or delivered it, or its frame arrived (no audience)."""

    process: str
    message_id: MessageId
    audience: tuple[str, ...] | None = None
    arrived: bool = False


def violations(log: Sequence[Event]) -> list[str]:
    """What is wrong with a finished run, in sentences; everything is owed to its audience."""
    found: list[str] = []
    before: dict[MessageId, frozenset[MessageId]] = {}
    audience: dict[MessageId, tuple[str, ...]] = {}
    known: dict[str, frozenset[MessageId]] = {}
    delivered: dict[str, list[MessageId]] = {}
    for event in log:
        process, message = event.process, event.message_id
        if event.arrived:
            continue
        past, done = known.get(process, frozenset()), delivered.setdefault(process, [])
        if event.audience is not None:
            before[message], audience[message] = past, event.audience
            known[process] = past | {message}
            continue
        if message not in before:
            found.append(f"{process} delivered {message}, which nobody had sent")
            continue
        if message in done:
            found.append(f"{process} delivered {message} twice")
        if process not in audience[message]:
            found.append(f"{process} delivered {message}, which was not for it")
        for earlier in sorted(before[message]):
            if process in audience[earlier] and earlier not in done:
                found.append(f"{process} delivered {message} before {earlier}, which was said before it")
        done.append(message)
        known[process] = past | before[message] | {message}
    owed = [(target, message) for message, targets in audience.items() for target in targets]
    lost = [(target, message) for target, message in owed if message not in delivered.get(target, [])]
    return found + [f"{target} never delivered {message}" for target, message in lost]


@dataclass
class RandomRun:
    """A group of one algorithm in a world, driven at random until nothing moves any more."""

    build: Callable[..., Any]
    seed: int
    world: World
    log: list[Event] = field(default_factory=list)
    held_max: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.names = [f"p{number}" for number in range(self.world.processes)]
        self.nodes = {name: self.build(name, self.names) for name in self.names}
        self.outs = {name: Recorder() for name in self.names}
        self.inboxes: dict[str, deque[MessageId]] = {name: deque() for name in self.names}
        self.flying: list[tuple[str, str, Any, bool]] = []
        """Source, target, frame, and whether it is slow: one that many others overtake."""
        self.turns: dict[type, float] = {}  # In which order the kinds of frames arrive in this round.
        self.unsaid = self.world.messages
        self.now = 0

    def run(self) -> "RandomRun":
        rng, world = self.rng, self.world
        while self.unsaid or self.flying or any(out.timers for out in self.outs.values()):
            if world.rounds and self.unsaid and not self.flying:
                for name in self.names * 2:
                    self.say(name)
                self.turns.clear()
            elif not world.rounds and self.unsaid and rng.random() < 0.5:
                self.say(rng.choice(self.names))
            elif self.flying and rng.random() < 0.95:
                self.carry()
            else:
                self.expire()
        return self

    def say(self, name: str) -> None:
        """The process speaks, if anything is left to be said."""
        if not self.unsaid:
            return
        self.unsaid -= 1
        count = self.rng.randint(1, self.world.processes) if self.world.multicast else 1
        targets = tuple(self.rng.sample(self.names, count))
        message_id = self.nodes[name].send(targets, self.unsaid, self.now, self.outs[name])
        self.log.append(Event(name, message_id, targets))
        self.settle(name)

    def carry(self) -> None:
        """One frame arrives; where links are FIFO, the oldest of its link."""
        flying, rng = self.flying, self.rng
        places = list(range(len(flying)))
        if self.world.fifo:
            oldest: dict[tuple[str, str], int] = {}
            for place, (source, target, _, _) in enumerate(flying):
                oldest.setdefault((source, target), place)
            places = list(oldest.values())
        if self.world.rounds:
            turns = [self.turns.setdefault(type(flying[place][2]), rng.random()) for place in places]
            places = [place for place, turn in zip(places, turns, strict=True) if turn == min(turns)]
        quick = [place for place in places if not flying[place][3]]
        place = rng.choice(quick if quick and rng.random() < 0.98 else places)
        source, target, frame, _ = flying[place]
        if rng.random() >= self.world.copies:
            del flying[place]
        if rng.random() >= self.world.losses:
            if hasattr(frame, "message_id"):
                self.log.append(Event(target, frame.message_id, arrived=True))
            self.nodes[target].receive(source, frame, self.now, self.outs[target])
            self.settle(target)

    def expire(self) -> None:
        """A timer fires, early or late."""
        self.now += 1
        armed = [(name, timer) for name in self.names for timer in self.outs[name].timers]
        if armed:
            name, timer = self.rng.choice(armed)
            del self.outs[name].timers[timer]
            self.nodes[name].expire(timer, self.now, self.outs[name])
            self.settle(name)

    def settle(self, name: str) -> None:
        """Frames leave; what was delivered reaches the application, one by one, and it may answer."""
        out, inbox = self.outs[name], self.inboxes[name]
        sent = out.take_sent()
        self.flying += [(name, target, frame, self.rng.random() < self.world.slow) for target, frame in sent]
        self.held_max = max(self.held_max, self.nodes[name].gauges().get("pending", 0))
        handing_over = bool(inbox)
        inbox.extend(message_id for message_id, _ in out.delivered)
        out.delivered.clear()
        while inbox and not handing_over:
            self.log.append(Event(name, inbox[0]))
            if self.rng.random() < 0.4 and (self.world.hasty or len(inbox) == 1):
                self.say(name)
            inbox.popleft()


def replay(build: Callable[..., Any], seed: int, world: World) -> str:
    """How to run it again; part of every assertion message."""
    return f"violations(RandomRun({build.__name__}, {seed}, {world}).run().log)"


def broken(build: Callable[..., Any], world: World, seeds: int = 60) -> list[list[str]]:
    """What is wrong with each run that is not right."""
    verdicts = [violations(RandomRun(build, seed, world).run().log) for seed in range(seeds)]
    return [verdict for verdict in verdicts if verdict]
