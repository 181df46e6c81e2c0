"""A small world: processes, a network that may lose, repeat and reorder, and the judge who watches.

Everything comes from one seed. `Plan` says what kind of world; `run` plays it to the end. Two kinds of talk:
`sprinkle` mixes sends and arrivals at random; `rounds` lets all speak, then lets all messages, all acks and
all permits arrive, each kind in random order, which reaches the corners of the indexes (section 6).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from aforesaid.core import MessageId
from aforesaid.protocols.delivery import hybrid_frames
from aforesaid.protocols.delivery.hybrid_batches import Batched
from oracle import judge, mind
from oracle.fates import Fates
from oracle.inside import look, look_at_timers, unfinished
from support.harness import Recorder

Build = Callable[..., Any]

STEPS_MAX = 10_000
"""How long a healed world may take to come to rest: a dozen times what any takes."""


@dataclass(frozen=True)
class Plan:
    """One world."""

    seed: int
    processes: int = 3
    messages: int = 12
    multicast: bool = False
    fifo: bool = False
    loss: float = 0.0
    repeat: float = 0.0
    rounds: bool = False
    crash: str = ""
    """One process crashes half-way; the others evict it `together`, or each when it hears of it, `apart`.
    `wrongly`: it has not crashed, and the others evict it all the same, each when it hears of it. `alone`:
    one of them does, and the others hear of it by what it says only. `several`: all but one, at most, are
    evicted, some crashed and some not, each by one, by some, or by nobody before the end; those who have not
    crashed go on talking, and evicting each other."""
    odd: float = 0.05
    """How often a message is for oneself or, where it can be, for nobody."""
    batch: int = 256
    """How many messages a step takes; fewer than there are: steps leave something over."""
    runs: int = 1
    """Up to so many messages are said at once, as a run. The judge hears of the last of them: that is the
    message, and it has those before it as parts, which are delivered with it, in order and in one step."""

    @property
    def reliable(self) -> bool:
        return self.loss == 0


class Ear(Recorder):
    """The effects sink of one process: the judge hears first, and what is sent may be lost or come twice."""

    def __init__(self, world: "World", i: int) -> None:
        super().__init__()
        self.world, self.i = world, i
        self.due: tuple[int, int] | None = None
        """The next part of the run that is being delivered."""

    def send(self, targets: Any, message: Any) -> None:
        world, i = self.world, self.i
        for target in targets:
            j = world.rank[target]
            assert j != i, "a process sends to itself"
            if not isinstance(message, hybrid_frames.Notice):
                world._note_unfinished(i)
                world.judge.sent(i, j, world.translated(message))
            if j in world.crashed:
                continue
            copies = 1
            if not world.healed and world.chance.random() < world.plan.loss:
                copies = 0
            elif world.plan.repeat and world.chance.random() < world.plan.repeat:
                copies = 2
            world.flying += [(i, j, message)] * copies
            world.fates.sent(message, copies)

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        origin = self.world.rank[message_id.origin]
        if payload != (origin, message_id.number):
            raise mind.Broken(f"{self.i} delivers {payload} as {message_id}")
        follows = (origin, message_id.number - 1) in self.world.parts
        if self.due != (payload if follows else None):
            raise mind.Broken(f"{self.i} delivers {payload} where {self.due or 'a run'} is due")
        self.world.got[self.i].append(payload)
        if payload in self.world.parts:
            self.due = origin, message_id.number + 1
        else:
            self.due = None
            self.world.judge.delivered(self.i, origin, message_id.number)


class World:
    """The processes, what is on its way, and the judge."""

    look = staticmethod(look)
    rounds: tuple[type, ...] = (hybrid_frames.Msg, hybrid_frames.Ack, hybrid_frames.Permit)

    def __init__(
        self, build: Build, plan: Plan, optimal: bool, timely: bool = True, peek: bool = True
    ) -> None:
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.names = [f"p{i}" for i in range(plan.processes)]
        self.rank = {name: i for i, name in enumerate(self.names)}
        self.machines = [
            build(name, retransmit=not plan.reliable, in_flight=4, batch=plan.batch) for name in self.names
        ]
        for i, machine in enumerate(self.machines):
            if plan.crash:
                machine.peer_down = partial(self.peer_down, i, machine.peer_down)
            if not plan.reliable:
                machine._network_send = partial(self.network_send, i, machine._network_send)
        self.judge = judge.Judge(plan.processes, optimal, timely, self.machines[0].overtaking)
        self.victims: dict[int, int] = {}
        """Who is evicted, and how many may be told of it before the end."""
        self.crashed: set[int] = set()
        self.peek = peek
        self.batched = isinstance(self.machines[0], Batched)
        self.fates = Fates()
        self.flying: list[tuple[int, int, Any]] = []
        self.sinks = [Ear(self, i) for i in range(plan.processes)]
        self.timers = [sink.timers for sink in self.sinks]
        self.said = [0] * plan.processes
        self.parts: set[tuple[int, int]] = set()
        """Messages of runs, but for the last of each."""
        self.now = 0
        self.healed = plan.reliable
        self.got: list[list[tuple[int, int]]] = [[] for _ in self.names]

    # ---------------------------------------------------------------------------------------------- steps

    def say(self, i: int, targets: tuple[int, ...]) -> int:
        *parts, number = range(self.said[i] + 1, self.said[i] + self._how_many() + 1)
        self.said[i] = number
        for part in parts:
            self.parts.add((i, part))
            self.judge.said(i, part, ())
        self.judge.said(i, number, [j for j in dict.fromkeys(targets) if j != i])
        names, sink = [self.names[j] for j in targets], self.sinks[i]
        if parts:
            payloads = [(i, part) for part in (*parts, number)]
            message_id = self.machines[i].send_run(names, payloads, self.now, sink)
        else:
            message_id = self.machines[i].send(names, (i, number), self.now, sink)
        if message_id != MessageId(self.names[i], 0, number):
            raise mind.Broken(f"numbering: {message_id} should have number {number}")
        self.fates.count("said", parts)
        self.fates.count("to several", parts and len(targets) > 1)
        self._over(i)
        return number

    def _how_many(self) -> int:
        return self.chance.randint(1, self.plan.runs) if self.plan.runs > 1 else 1

    def network_send(self, i: int, as_it_does: Any, peer: str, frame: Any, *rest: Any) -> None:
        """What has to wait until it may leave might as well be on a slow network: it counts as sent."""
        j = self.rank[peer]
        self._note_unfinished(i)
        self.judge.sent(i, j, self.translated(frame))
        as_it_does(peer, frame, *rest)

    def peer_down(self, i: int, as_it_does: Any, peer: str, *rest: Any) -> None:
        """Told by the director, or by a frame that may tell of several: one eviction after the other."""
        if peer != self.names[i]:
            j = self.rank[peer]
            self.judge.evicted(i, j)
            self.fates.gone(self.machines[i], peer, [f for a, b, f in self.flying if (a, b) == (j, i)])
        as_it_does(peer, *rest)

    def arrive(self, place: int) -> None:
        """Take one frame from the network, the oldest of its channel if the network is FIFO."""
        i, j, message = self.flying[place]
        if self.plan.fifo:
            place = next(k for k, (a, b, _) in enumerate(self.flying) if a == i and b == j)
            message = self.flying[place][2]
        del self.flying[place]
        self.hand(i, j, message)

    def hand(self, i: int, j: int, message: Any) -> None:
        if j in self.crashed:
            return
        if not isinstance(message, hybrid_frames.Notice):
            self.judge.received(j, i, self.translated(message))
        before = self._delivered(j, i)
        self.machines[j].receive(self.names[i], message, self.now, self.sinks[j])
        self.fates.came(message, before, self._delivered(j, i))
        self._over(j)

    def _delivered(self, j: int, i: int) -> int:
        """How far j has delivered what i said to it."""
        return self.judge.minds[j].last.get(i, 0)

    def expire(self, i: int) -> None:
        timer = min(self.timers[i], key=lambda timer: (self.timers[i][timer], timer))
        self.now = max(self.now, self.timers[i].pop(timer))
        self.machines[i].expire(timer, self.now, self.sinks[i])
        self._over(i)

    def fail(self) -> None:
        """What a crashed process sent last may be lost with it, or be late."""
        n, crash, chance = self.plan.processes, self.plan.crash, self.chance
        for i in self.fated():
            told = chance.choice((0, 1, n)) if crash == "several" else 1 if crash == "alone" else n
            self.victims[i] = told
            if crash in ("wrongly", "alone") or (crash == "several" and chance.random() < 0.6):
                continue
            self.crashed.add(i)
            self.timers[i].clear()
            self.flying = [f for f in self.flying if f[0] != i or chance.random() < 0.6]
            while crash == "together" and self.unaware(i):
                self.evict(i)

    def fated(self) -> list[int]:
        """Who will be evicted."""
        n, chance = self.plan.processes, self.chance
        return chance.sample(range(n), chance.randint(1, n - 1) if self.plan.crash == "several" else 1)

    def unaware(self, victim: int) -> list[int]:
        """Who is alive, and has not evicted the victim."""
        others = (i for i in range(self.plan.processes) if i != victim and i not in self.crashed)
        return [i for i in others if victim not in self.judge.minds[i].gone]

    def evict(self, victim: int) -> None:
        """One more process is told that the victim is gone."""
        self.tell(self.chance.choice(self.unaware(victim)), victim)

    def tell(self, i: int, victim: int) -> None:
        self.victims[victim] -= 1
        self.machines[i].peer_down(self.names[victim], self.now, self.sinks[i])
        self._over(i)

    def _note_unfinished(self, i: int) -> None:
        """A step that leaves something over may flag, or owe, what it would not otherwise."""
        if self.batched:
            self.judge.minds[i].unfinished |= unfinished(self.machines[i])

    def _over(self, i: int) -> None:
        if self.sinks[i].due is not None:
            raise mind.Broken(f"{i} ends a step in the middle of a run, before {self.sinks[i].due}")
        if self.batched:
            self.judge.minds[i].unfinished = unfinished(self.machines[i])
            self.fates.over(self.machines[i])
        self.judge.settled(i)
        if self.peek:
            self.look(self.machines[i])
            if not self.plan.reliable:
                look_at_timers(self.machines[i], self.timers[i])

    # ----------------------------------------------------------------------------------------------- runs

    def run(self) -> "World":
        left = self.plan.messages
        half = left // 2 if self.plan.crash else -1
        while left > 0:
            if left <= half and not self.victims:
                self.fail()
            for victim, told in list(self.victims.items()):
                if told > 0 and self.unaware(victim) and self.chance.random() < 0.5:
                    self.evict(victim)
            if self.plan.rounds:
                burst = min(left, self.chance.randint(1, 2 * self.plan.processes))
                for _ in range(burst):
                    self._say_something()
                left -= burst
                self._round()
            else:
                for _ in range(self.chance.randint(1, 3)):
                    self._say_something()
                    left -= 1
                for _ in range(self.chance.randint(0, 6)):
                    self._something_arrives()
        self.drain()
        return self

    def drain(self) -> None:
        """The network heals; then everything must come to rest, and all be delivered.

        First one process must know of an eviction, and whoever knows must get rid of all it has; then all.
        """
        self.healed = True
        # Who is evicted and alive calls to the others for ever, in vain.
        self.crashed.update(self.victims)
        for victim in self.victims:
            self.timers[victim].clear()
        if self.victims:
            if not self._aware():
                one = self.chance.choice([i for i in range(self.plan.processes) if i not in self.crashed])
                for victim in self.victims:
                    if one in self.unaware(victim):
                        self.tell(one, victim)
            self._until(lambda: not any(map(self._held, self._aware())), "who knows of the eviction")
        for victim in self.victims:
            while self.unaware(victim):
                self.evict(victim)
        self._until(lambda: not self.flying and not any(self.timers), "the world")
        self.judge.finished()
        for i in self._aware():
            if held := self._held(i):
                raise mind.Broken(f"liveness: {self.names[i]} still holds {held}")

    def _until(self, done: Callable[[], bool], who: str) -> None:
        for _ in range(STEPS_MAX):
            if done():
                return
            if self.flying:
                self.arrive(self.chance.randrange(len(self.flying)))
            elif armed := [i for i, timers in enumerate(self.timers) if timers]:
                self.expire(self.chance.choice(armed))
            else:
                break
        if not done():
            held = {name: held for i, name in enumerate(self.names) if (held := self._held(i))}
            raise mind.Broken(f"liveness: {who} does not come to rest: {held}")

    def _aware(self) -> list[int]:
        """Who is alive and knows who is not."""
        unaware = {i for victim in self.victims for i in self.unaware(victim)}
        return [i for i in range(self.plan.processes) if i not in self.crashed and i not in unaware]

    def _held(self, i: int) -> dict[str, int]:
        return {kind: count for kind, count in self.machines[i].gauges().items() if count}

    def _say_something(self) -> None:
        n, chance = self.plan.processes, self.chance
        i = chance.choice([i for i in range(n) if i not in self.crashed])
        if chance.random() < self.plan.odd:
            self.say(i, () if self.plan.multicast and chance.random() < 0.5 else (i,))
            return
        others = [j for j in range(n) if j != i]
        count = chance.randint(1, n - 1) if self.plan.multicast and chance.random() < 0.6 else 1
        targets = chance.sample(others, count)
        if self.plan.multicast and chance.random() < 0.1:
            targets.append(i)
        self.say(i, tuple(targets))

    def _something_arrives(self) -> None:
        if self.flying and (self.healed or self.chance.random() < 0.9):
            self.arrive(self.chance.randrange(len(self.flying)))
        elif armed := [i for i, timers in enumerate(self.timers) if timers]:
            self.expire(self.chance.choice(armed))

    def _round(self) -> None:
        for kind in self.rounds:
            stop = self.chance.random() < 0.15
            for _ in range(len(self.flying)):
                places = [k for k, (_, _, message) in enumerate(self.flying) if type(message) is kind]
                if not places or (stop and self.chance.random() < 0.3):
                    break
                self.arrive(self.chance.choice(places))

    @staticmethod
    def translated(message: Any) -> mind.Frame:
        """A protocol's frame in the judge's words."""
        if isinstance(message, hybrid_frames.News):
            message = message.message
        if isinstance(message, hybrid_frames.Msg):
            return mind.Message(message.number, message.flagged)
        if isinstance(message, hybrid_frames.Ack):
            return mind.Ack(message.number, message.wanted)
        if isinstance(message, hybrid_frames.Early):
            return mind.Ack(message.number, 0)
        return mind.Permit(message.number)


def random_plan(seed: int, multicast: bool, crash: str = "") -> Plan:
    """All kinds of worlds, by seed."""
    chance = random.Random(~seed)
    loss = chance.choice((0.0, 0.0, 0.1, 0.4))
    return Plan(
        seed=seed,
        processes=chance.choice((2, 3, 3, 4, 5)),
        messages=chance.randint(4, 24),
        multicast=multicast,
        fifo=chance.random() < 0.3,
        loss=loss,
        repeat=chance.choice((0.0, 0.0, 0.2)),
        rounds=chance.random() < 0.5,
        crash=crash,
        batch=chance.choice((256, 256, 1, 2)),
    )
