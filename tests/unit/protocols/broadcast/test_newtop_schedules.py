"""Newtop under random schedules: any order of frames, crashes, words of the detector and timers.

The simulator's detector tells all survivors at one moment. Here each hears of each crash at a moment of its
own, in its own order, also in the middle of a flush, and of what a crashed process had in flight an arbitrary
suffix of each link is lost. The judge is this file's own, a few lines over sets.
Every rule of the flush has a mutant that breaks it, and these schedules kill each one.
"""

import random
from collections import deque
from typing import Any

import pytest

from aforesaid.core import MessageId
from aforesaid.protocols.broadcast.newtop import NEVER, Data, End, Newtop
from support.harness import Recorder

SCHEDULES = 4_000
CHUNKS = 8


class World:
    """One schedule, run to its end."""

    def __init__(self, kind: type[Newtop], seed: int) -> None:
        self.random = random.Random(seed)
        self.names = [f"p{number}" for number in range(self.random.randint(3, 6))]
        self.seats = {name: Seat(self, kind(name, self.names)) for name in self.names}
        self.up = list(self.names)
        self.links: dict[tuple[str, str], deque[Any]] = {}
        self.pace: dict[tuple[str, str], float] = {}
        self.words: list[tuple[str, str]] = []
        self.before: dict[MessageId, frozenset[MessageId]] = {}
        self.to_say = self.random.randint(2, 14)
        count = len(self.names)
        self.to_crash = self.random.choice((0, count - 2, count - 1, self.random.randint(0, count - 1)))
        self.crashes = self.nulls = 0
        self.weights = [self.random.choice((0.3, 1.0, 3.0)) for _ in range(5)]
        self.weights[0] *= 3
        self.weights[4] *= self.random.choice((0.03, 0.08, 0.2))
        while self.step():
            pass

    def step(self) -> bool:
        """One event, chosen among all that can happen; False if nothing is left to happen."""
        frames = [link for link, queue in self.links.items() if queue and link[1] in self.up]
        timers = [name for name in self.up if self.seats[name].timers]
        possible = (frames, self.words, timers, self.to_say, self.to_crash and len(self.up) > 1)
        if not any(possible[:4]):
            return False
        weights = [weight if now else 0.0 for weight, now in zip(self.weights, possible, strict=True)]
        events = (lambda: self.carry(frames), self.tell, lambda: self.fire(timers), self.say, self.crash)
        self.random.choices(events, weights)[0]()
        return True

    def carry(self, frames: list[tuple[str, str]]) -> None:
        for link in frames:
            self.pace.setdefault(link, self.random.choice((0.05, 0.3, 1.0, 1.0, 1.0)))
        source, target = self.random.choices(frames, [self.pace[link] for link in frames])[0]
        seat = self.seats[target]
        seat.protocol.receive(source, self.links[source, target].popleft(), 0, seat)

    def tell(self) -> None:
        name, crashed = self.words.pop(self.random.randrange(len(self.words)))
        self.seats[name].protocol.peer_down(crashed, 0, self.seats[name])

    def fire(self, timers: list[str]) -> None:
        seat = self.seats[self.random.choice(timers)]
        (timer,) = seat.timers
        seat.timers.clear()
        self.nulls += 1
        seat.protocol.expire(timer, 0, seat)

    def say(self) -> None:
        self.to_say -= 1
        seat = self.seats[self.random.choice(self.up)]
        before = frozenset(seat.history)
        message_id = seat.protocol.broadcast(None, 0, seat)
        self.before[message_id] = before
        seat.history.add(message_id)

    def crash(self) -> None:
        self.to_crash -= 1
        self.crashes += 1
        name = self.random.choice(self.up)
        self.up.remove(name)
        for (source, _target), queue in self.links.items():
            if source == name:
                arriving = self.random.choice((0, len(queue), self.random.randint(0, len(queue))))
                while len(queue) > arriving:
                    queue.pop()
        self.words = [word for word in self.words if word[0] != name]
        self.words += [(survivor, name) for survivor in self.up]

    def faults(self) -> list[str]:
        """What is wrong with the logs, one word each."""
        survivors = [self.seats[name] for name in self.up]
        order = {message_id: place for place, message_id in enumerate(survivors[0].log)}
        owed = [message_id for message_id in self.before if message_id.origin in self.up]
        faults = []
        if any(seat.log != survivors[0].log for seat in survivors):
            faults.append("agreement")
        if any(message_id not in order for message_id in owed):
            faults.append("validity")
        if any(any(seat.protocol.gauges().values()) for seat in survivors):
            faults.append("memory")
        if any(seat.stabilised != seat.log for seat in survivors):
            faults.append("stability")
        for seat in self.seats.values():
            delivered: set[MessageId] = set()
            for message_id in seat.log:
                if message_id in delivered:
                    faults.append("duplicate")
                if not self.before[message_id] <= delivered:
                    faults.append("causal")
                delivered.add(message_id)
            places = [order[message_id] for message_id in seat.log if message_id in order]
            if places != sorted(places):
                faults.append("one order")
        return faults


class Seat(Recorder):
    """One process: its protocol, and its protocol's effects sink; what it sends is on its link at once."""

    def __init__(self, world: World, protocol: Newtop) -> None:
        super().__init__()
        self.world = world
        self.protocol = protocol
        self.history: set[MessageId] = set()

    @property
    def log(self) -> list[MessageId]:
        return [message_id for message_id, _ in self.delivered]

    def send(self, targets: Any, message: Any) -> None:
        for target in targets:
            self.world.links.setdefault((self.protocol.me, target), deque()).append(message)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        super().deliver(message_id, payload)
        self.history.add(message_id)

    def admit(self, peer: str, incarnation: int | None = None) -> None:
        raise AssertionError("nobody joins")

    def isolated(self) -> None:
        raise AssertionError("nobody is isolated")

    def choose(self, label: str, count: int) -> int:
        raise AssertionError("Newtop leaves nothing to chance")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_promise_holds_under_any_schedule(chunk: int) -> None:
    crashes = 0
    for seed in range(chunk, SCHEDULES, CHUNKS):
        world = World(Newtop, seed)
        assert world.faults() == [], f"seed {seed}: World(Newtop, {seed})"
        assert world.nulls <= 2 * len(world.before) * len(world.names), f"seed {seed}: too many nulls"
        crashes += world.crashes
    assert crashes > SCHEDULES / CHUNKS


class NoFence(Newtop):
    """A crashed process is listened to after the Flush, too, until it is settled."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        if source in self.down and source in self.heard.clocks and type(message) is Data:
            self.heard.rise(source, message.clock)
            self._store(message)
            self._advance(now, out)
        else:
            super().receive(source, message, now, out)


class NoMessagesInFlush(Newtop):
    """A Flush that names who is down and brings nothing."""

    def _unstable_of_down(self) -> tuple[Data, ...]:
        return ()


class FlushOfTheLastCrashOnly(Newtop):
    """A Flush that brings the messages of the latest crashed process and not of the earlier ones."""

    def _unstable_of_down(self) -> tuple[Data, ...]:
        *_, last = self.down
        return tuple(data for data in super()._unstable_of_down() if data.message_id.origin == last)


class NoCut(Newtop):
    """Everything counts that a survivor has of the crashed ones."""

    def _discard_beyond_cuts(self) -> None:
        self.cuts = dict.fromkeys(self.cuts, NEVER)


class OneByOne(Newtop):
    """Each crashed process is settled by itself, as soon as every survivor has named it."""

    def _settle(self) -> None:
        down = self.down
        flushes = [self.flushes.get(peer, {}) for peer in self.peers]
        self.down = {
            name: None for name in down if name in self.cuts or all(name in ends for ends in flushes)
        }
        super()._settle()
        self.down = down


class CutsNotTold(Newtop):
    """A Flush gives the cut of a settled process as if it were the last clock heard of it."""

    def _ends(self) -> dict[str, End]:
        return {name: End(end.clock, False) for name, end in super()._ends().items()}


class CutsNotLowered(Newtop):
    """A later settling leaves the cuts of earlier ones where they were."""

    def _settle(self) -> None:
        self.earlier = self.cuts.copy()
        super()._settle()

    def _discard_beyond_cuts(self) -> None:
        self.cuts.update(self.earlier)
        super()._discard_beyond_cuts()


class NoLastReport(Newtop):
    """Who knows that everyone else has a message does not say that it has it, too: no news (b)."""

    def _has_news(self) -> bool:
        return self.known > self.spoken


MUTANTS = {
    NoFence: "agreement",
    NoMessagesInFlush: "agreement",
    FlushOfTheLastCrashOnly: "agreement",
    NoCut: "causal",
    OneByOne: "agreement",
    CutsNotTold: "agreement",
    CutsNotLowered: "agreement",
    NoLastReport: "memory",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_every_rule_is_needed(mutant: type[Newtop]) -> None:
    assert any(MUTANTS[mutant] in World(mutant, seed).faults() for seed in range(SCHEDULES))
