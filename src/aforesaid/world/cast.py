"""Everyone in a world, and what happens to them."""

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from aforesaid.core import MessageId, Misuse, Process
from aforesaid.node.config import Config
from aforesaid.node.endings import Evicted, HistoryLost
from aforesaid.node.messages import Message
from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.world.actor import LARGE_BYTES_MAX, Actor
from aforesaid.world.bounds import beyond
from aforesaid.world.having import Having
from aforesaid.world.machine import DESCRIPTORS_MAX
from aforesaid.world.network import Weather
from aforesaid.world.plan import Fault, Plan
from aforesaid.world.witness import Witness
from aforesaid.world.world import World

PORT = 7000
CONTACTS = 2
EVICTED_WITHIN_S = 3.0
"""Somebody hears within so long that a process was killed; the others when the faults are over."""

FUSE_EFFECTS_MAX = 60
ROOM_BYTES_MAX = 400
DESCRIPTORS_GONE = 0.7
"""In this share of cases none is left, else one."""
CLOCK_JUMP_S_MAX = 100.0
SLOW_S_MAX = 0.03
LAST_WORDS = b"last words "
INTENT_BYTES = 8
BEYOND_MAX = 5
BACK = 0.7
"""The share of the killed that come back, where the history is kept."""


class Cast:
    """The actors of a trial, alive and dead."""

    def __init__(self, plan: Plan, world: World, scratch: Path) -> None:
        self.plan = plan
        self.world = world
        self.witness = Witness()
        self.actors: list[Actor] = []
        self.round = 0
        self._last_words: dict[int, dict[Process, set[Process]]] = {}
        """By round, who heard whose."""
        self._settled: dict[Process, int | None] = {}
        """As what everyone was in its group when the last round began; None: it was not there yet."""
        self._visitors = 0
        self.having = Having()
        self.beyond: list[str] = []
        """Who held more than it may, whenever something was heard."""
        self._key = scratch / "cluster.key"
        if plan.sealed:
            write_cluster_key(self._key)
        self._calm = Weather(delay_s=plan.delay_s, jitter_s=plan.jitter_s)
        self._is_calm = False
        self._set_weather()

    # ----------------------------------------------------------------------------------- who is there

    def here(self) -> list[Actor]:
        """Those whose nodes work."""
        return [actor for actor in self.actors if actor.here]

    def open_lives(self) -> list[Actor]:
        return [actor for actor in self.actors if actor.machine.alive and not actor.over]

    def actor(self, name: Process) -> Actor | None:
        """The present life of a process, if it has one."""
        return next((actor for actor in self.open_lives() if actor.name == name), None)

    async def enter(self, names: Sequence[Process]) -> None:
        for name in names:
            self.start(name)
            if not self.plan.fixed:
                await asyncio.sleep(self.world.chance.uniform(0.0, 0.5))

    def start(self, name: Process) -> None:
        machine = self.world.boot(name)
        has = self.having.last(name) if self.plan.resumes else None
        tells = self._heard, self._said, self._intend, self._was_told
        actor = Actor(self.plan, name, lambda: self._config(name), machine, *tells, has)
        actor.talks = not self._is_calm
        self.actors.append(actor)
        self.world.on(machine, actor.live)

    def _config(self, name: Process) -> Config:
        plan, world = self.plan, self.world
        facts: dict[str, Any] = {
            "name": name,
            "algorithm": plan.algorithm,
            "transport": plan.transport,
            "listen": f"{world.host(name)}:{PORT}",
            "directory": f"/world/{name}",
            "heartbeat_s": plan.heartbeat_s,
            "evict_after_s": plan.evict_after_s,
            "durability": plan.durability,
            "snapshot_bytes": plan.snapshot_bytes,
            "retention_bytes": plan.retention_bytes,
            "acks": "manual" if plan.manual_acks else "automatic",
            "trace_segment_bytes": plan.segment_bytes,
            "receipts": plan.receipts,
            "queues": {"in_messages": plan.in_messages, "out_messages": plan.out_messages},
        }
        if plan.sealed:
            facts["security"] = {"cluster_key": str(self._key)}
        if plan.fixed:
            founders = [peer for peer in plan.names if peer not in plan.newcomers]
            facts["newcomer"] = name in plan.newcomers
            known = founders[:CONTACTS] if name in plan.newcomers else founders
            facts["peers"] = {peer: f"{world.host(peer)}:{PORT}" for peer in known if peer != name}
        elif name != plan.names[0] and (others := [each for each in self.open_lives() if each.name != name]):
            some = world.chance.sample(others, min(len(others), CONTACTS))
            facts["contact"] = [f"{world.host(each.name)}:{PORT}" for each in some]
        return Config.of(facts)

    # ------------------------------------------------------------------------------- what they tell us

    def _intend(self, actor: Actor, audience: tuple[Process, ...]) -> bytes:
        """What a payload begins with, where who says it may be killed and come back."""
        if not self._judged_by_offsets:
            return b""
        return self.witness.intends(actor.name, audience).to_bytes(INTENT_BYTES)

    def _said(self, actor: Actor, message: MessageId, audience: tuple[Process, ...], intent: bytes) -> None:
        if self.plan.group != "changing":
            number = int.from_bytes(intent) if intent else None
            self.witness.said(actor.name, message, audience, number)

    @property
    def _judged_by_offsets(self) -> bool:
        """Whether applications know by the offset what they have, over all their lives."""
        return self.plan.survives or self.plan.group == "keeping"

    @property
    def _everyone(self) -> tuple[Process, ...]:
        return (*self.plan.names, *self.plan.visitors)

    def _heard(self, actor: Actor, message: Message) -> None:
        if len(message.payload) > LARGE_BYTES_MAX:
            self.world.network.did["huge payload"] += 1
        payload = message.payload
        if actor.node is not None and len(self.beyond) < BEYOND_MAX:
            self.beyond += [f"{actor.name} {what}" for what in beyond(self.plan, actor.node)]
        if self._judged_by_offsets:
            self._heard_durably(actor, message)
            payload = payload[INTENT_BYTES:]
        elif self.plan.fixed:
            self.witness.heard(actor.name, message.id, self.plan.names)
        if payload.startswith(LAST_WORDS):
            number, name = payload.removeprefix(LAST_WORDS).decode().split()
            self._last_words.setdefault(int(number), {}).setdefault(actor.name, set()).add(name)

    def _heard_durably(self, actor: Actor, message: Message) -> None:
        """The application keeps the offset with its state: both are there, or neither."""
        if not self.having.takes(actor.name, message.offset or 0, self.plan.resumes):
            self.world.network.did["handed on again"] += 1
            return
        intent = int.from_bytes(message.payload[:INTENT_BYTES])
        self.witness.heard(actor.name, message.id, self._everyone, intent)

    def _was_told(self, actor: Actor, lost: HistoryLost) -> None:
        self.having.told(actor.name, lost, self.plan.resumes)

    # ---------------------------------------------------------------------------------- what goes wrong

    async def suffer(self, fault: Fault) -> None:
        """One fault, from its moment to its end."""
        await asyncio.sleep(max(0.0, fault.at_s - self.world.now_s))
        did = self.world.network.did
        handler = getattr(self, f"_{fault.kind.replace(' ', '_')}")
        if await handler(fault):
            did[fault.kind] += 1

    async def _halt(self, fault: Fault) -> bool:
        if (actor := self.actor(fault.who[0])) is None:
            return False
        actor.machine.halt()
        await asyncio.sleep(fault.for_s)
        actor.machine.go_on()
        if timeout_s := self.plan.evict_after_s:
            long = fault.for_s > timeout_s / 2
            self.world.network.did[f"halt of {'more' if long else 'less'} than half the time-out"] += 1
        return True

    async def _part(self, fault: Fault) -> bool:
        everyone = {actor.name for actor in self.actors}
        pairs = [(a, b) for a in fault.who for b in sorted(everyone - set(fault.who))]
        return await self._cut_off([*pairs, *((b, a) for a, b in pairs)], fault.for_s)

    async def _cut(self, fault: Fault) -> bool:
        return await self._cut_off([(fault.who[0], fault.who[1])], fault.for_s)

    async def _cut_off(self, pairs: list[tuple[Process, Process]], for_s: float) -> bool:
        network = self.world.network
        for pair in pairs:
            network.cut(*pair)
        await asyncio.sleep(for_s)
        for pair in pairs:
            network.mend(*pair)
        return True

    async def _rough(self, fault: Fault) -> bool:
        weather = self.world.network.weather
        weather.loss, weather.spike = 0.1 + 0.5 * fault.amount, 0.05
        await asyncio.sleep(fault.for_s)
        self._set_weather()
        return True

    async def _deaf(self, fault: Fault) -> bool:
        """The application does not take what is delivered."""
        if (actor := self.actor(fault.who[0])) is None:
            return False
        actor.listens.clear()
        await asyncio.sleep(fault.for_s)
        actor.listens.set()
        return True

    async def _reset(self, fault: Fault) -> bool:
        self.world.network.reset_streams(fault.amount)
        return True

    async def _clock(self, fault: Fault) -> bool:
        """The wall clock jumps."""
        if (actor := self.actor(fault.who[0])) is not None:
            actor.machine.wall_ns += round((2 * fault.amount - 1) * CLOCK_JUMP_S_MAX * 1e9)
        return actor is not None

    async def _kill(self, fault: Fault) -> bool:
        if (actor := self.actor(fault.who[0])) is None:
            return False
        actor.machine.kill()
        await self._mourn(actor)
        return True

    async def _kill_midway(self, fault: Fault) -> bool:
        """Between two effects of one turn."""
        if (actor := self.actor(fault.who[0])) is None:
            return False
        actor.machine.fuse = round(fault.amount * FUSE_EFFECTS_MAX)
        await asyncio.sleep(fault.for_s)
        actor.machine.fuse = None
        if actor.machine.alive:
            return False
        await self._mourn(actor)
        return True

    async def _disk_full(self, fault: Fault) -> bool:
        if (actor := self.actor(fault.who[0])) is None:
            return False
        disk = self.world.disks[actor.name]
        disk.room = round(fault.amount * ROOM_BYTES_MAX)
        await asyncio.sleep(fault.for_s)
        disk.room = None
        if actor.here:
            return False
        await self._mourn(actor)
        return True

    async def _descriptors(self, fault: Fault) -> bool:
        if (actor := self.actor(fault.who[0])) is None:
            return False
        machine = actor.machine
        machine.descriptors_max = len(machine.open) + (fault.amount > DESCRIPTORS_GONE)
        await asyncio.sleep(fault.for_s)
        machine.descriptors_max = DESCRIPTORS_MAX
        return True

    async def _disk_slow(self, fault: Fault) -> bool:
        disk = self.world.disks[fault.who[0]]
        disk.slow_s = fault.amount * SLOW_S_MAX
        await asyncio.sleep(fault.for_s)
        disk.slow_s = 0.0
        return True

    async def _power(self, fault: Fault) -> bool:
        """It dies, and what was not forced to its disk is gone."""
        if (actor := self.actor(fault.who[0])) is None:
            return False
        actor.machine.kill()
        lost = self.world.disks[actor.name].lose_power(self.world.chance)
        self.world.network.did["bytes lost without power"] += lost
        await self._mourn(actor)
        return True

    async def _mourn(self, dead: Actor) -> None:
        """One of the others hears that it is dead; it tells the rest, or it does not come to that. Who
        survives comes back instead."""
        chance = self.world.chance
        await asyncio.sleep(chance.uniform(0.0, EVICTED_WITHIN_S))
        if self.plan.survives or (self.plan.group == "keeping" and chance.random() < BACK):
            await self._bring_back(dead.name)
            return
        others = [actor for actor in self.here() if actor.machine.runs]
        if self.plan.fixed and others and not self._left_to_the_time_out():
            self._evict(chance.choice(others), dead.name)

    async def _bring_back(self, name: Process) -> None:
        """It may be killed again while it comes back."""
        chance, did = self.world.chance, self.world.network.did
        while self.actor(name) is None:
            self.start(name)
            did["brought back"] += 1
            actor = self.actor(name)
            if actor is None or chance.random() < 0.5:
                return
            actor.machine.fuse = chance.randrange(FUSE_EFFECTS_MAX)
            await asyncio.sleep(chance.uniform(0.0, EVICTED_WITHIN_S))
            actor.machine.fuse = None
            if not actor.machine.alive:
                did["killed while it came back"] += 1
                if self.plan.survives and self.actor(name) is None and chance.random() < 0.5:
                    self.world.disks[name].lose_power(chance)

    def _left_to_the_time_out(self) -> bool:
        """Whether those who are left evict the dead without being told: most of the group must be."""
        return bool(self.plan.evict_after_s) and 2 * len(self.here()) > len(self.plan.names)

    def _evict(self, actor: Actor, name: Process) -> None:
        async def evict() -> None:
            if actor.node is not None and actor.here and name not in actor.node._running.gone:
                actor.node.evict(name)

        self.world.on(actor.machine, evict)

    async def _admit(self, fault: Fault) -> bool:
        """A newcomer starts, and one of those it knows is told to admit it, or another if that one dies.
        Whether it was may take until the others are back."""
        (name,) = fault.who
        if self.actor(name) is None:
            self.start(name)
        self._have_admitted(name)
        return True

    def _have_admitted(self, name: Process) -> None:
        """Have it asked for, if it is not known that it was."""
        newcomer = self.actor(name)
        contacts = [actor for actor in self.here() if actor.name in self.plan.names[:CONTACTS]]
        if newcomer is None or newcomer.node is not None or not contacts:
            return
        by, at = self.world.chance.choice(contacts), f"{self.world.host(name)}:{PORT}"

        async def admit() -> None:
            if by.node is not None and by.here:
                with contextlib.suppress(Misuse):  # It is a member, or not heard yet, or this node ends.
                    await by.node.admit(name, at)

        self.world.on(by.machine, admit)

    async def _join(self, fault: Fault) -> bool:
        self._visitors += 1
        self.start(f"v{self._visitors}")
        return True

    async def _back(self, fault: Fault) -> bool:
        """Who was killed, or has left, starts again on its old disk."""
        dead = sorted({actor.name for actor in self.actors} - {actor.name for actor in self.open_lives()})
        if dead:
            self.start(dead[int(fault.amount * len(dead)) % len(dead)])
        return bool(dead)

    async def _leave(self, fault: Fault) -> bool:
        actors = self.here()
        if len(actors) > 2:
            actors[int(fault.amount * len(actors)) % len(actors)].leaves.set()
        return len(actors) > 2

    def _set_weather(self) -> None:
        plan = self.plan
        self.world.network.weather = Weather(
            plan.loss, plan.duplication, plan.delay_s, plan.jitter_s, socket_bytes=plan.socket_bytes
        )

    # ----------------------------------------------------------------------------------- coming to rest

    def calm(self) -> None:
        """Nothing goes wrong any more, and nothing more is said: not by those either who start later."""
        self._is_calm = True
        self.world.network.heal()
        self.world.network.weather = self._calm
        for disk in self.world.disks.values():
            disk.room, disk.slow_s = None, 0.0
        for actor in self.open_lives():
            actor.machine.fuse = None
            actor.machine.descriptors_max = DESCRIPTORS_MAX
            actor.machine.go_on()
            actor.listens.set()
            actor.talks = False

    def tell_of_the_dead(self) -> None:
        """In a fixed group everyone hears who will not come back, unless that is the time-out's business; of
        whom a node has never heard, it may not have started yet, and only an operator knows. Who survives is
        started again, if its disk was full to the last."""
        if self.plan.survives:
            for name in self.plan.names:
                if self.actor(name) is None:
                    self.start(name)
            for name in self.plan.newcomers:
                self._have_admitted(name)
        if self.plan.group == "fixed":
            here = self.here()
            dead = sorted(set(self.plan.names) - {actor.name for actor in here})
            for actor in here:
                for name in dead:
                    unmet = actor.node is not None and name not in actor.node._running.incarnations
                    if unmet or not self._left_to_the_time_out():
                        self._evict(actor, name)

    async def last_words(self) -> None:
        """In a changing group everyone says something that everyone must hear."""
        if not self.plan.fixed:
            self.round += 1
            self._settled = {actor.name: actor.settled for actor in self.here()}
            for actor in self.here():
                self.world.on(actor.machine, lambda actor=actor: self._say_last(actor, self.round))  # type: ignore[misc]

    async def _say_last(self, actor: Actor, number: int) -> None:
        try:
            if actor.node is not None:
                intent = self._intend(actor, self._everyone)
                payload = intent + LAST_WORDS + f"{number} {actor.name}".encode()
                receipt = await actor.node.broadcast(payload)
                self._said(actor, receipt.id, self._everyone, intent)
        except Misuse:
            pass  # What it could not say, the others will lack.

    def lacking(self) -> list[str]:
        """What is owed still; [] when all is at rest."""
        here = self.here()
        # Newcomers found no group: where no member is left there is nobody to let them in.
        newcomers = [actor for actor in self.open_lives() if actor.node is None] if here else []
        outside = [f"{actor.name} is not in the group" for actor in newcomers]
        outside += [f"{actor.name} waits to say something" for actor in here if actor.saying]
        if not self.plan.fixed:
            heard = self._last_words.get(self.round, {})
            return (
                outside
                + self._uneven()
                + [
                    f"{actor.name} has not heard {other.name}"
                    for actor in here
                    for other in here
                    if other.name not in heard.get(actor.name, set())
                    and other.name in self.acquainted(actor.name)
                ]
            )
        outside += [f"{victim} was evicted by {by}, lives and was not told" for by, victim in self._evicted()]
        lacking = outside + self.witness.lacking({actor.name for actor in here})
        return lacking or [held for actor in here for held in _held(actor)]

    def _uneven(self) -> list[str]:
        """Where the history is kept: what one of those who are here has, and another one has not."""
        here = {actor.name for actor in self.here()}
        if self.plan.group != "keeping" or any(self.acquainted(name) != here for name in here):
            return []
        return [
            f"{name} has not heard {message}, nor that it is lost"
            for name, message in self.witness.uneven(here)
            if not self.having.knows_lost(name, message)
        ] + self._unsettled()

    def _unsettled(self) -> list[str]:
        """Who has caught up since the last words were said. It has them from a log, and what it said again
        after that may be under way still, to members that have all of it from elsewhere: so everyone has
        everything, and yet nobody is at rest. To close then is to close in the middle of messages, which the
        traces tell as what one who was there to the end delivered and another one never did. Where everyone
        said its last words when it had said again all that it had to, and hears the others' as the same
        incarnation, they came over links, after all else: links are FIFO.
        """
        return [
            f"{actor.name} has caught up since the last words were said"
            for actor in self.here()
            if actor.settled is None or actor.settled != self._settled.get(actor.name)
        ]

    def acquainted(self, name: Process) -> set[Process]:
        """Whom it can find, or be found by, from one living acquaintance to the next: nobody else's words are
        owed to it. All that two parts of a group knew in common may have died."""
        names = {f"{self.world.host(actor.name)}:{PORT}": actor.name for actor in self.here()}
        knows = {
            actor.name: {names.get(str(address)) for address in actor.node._known()}
            for actor in self.here()
            if actor.node is not None
        }
        found, new = {name}, {name}
        while new:
            new = {other for other in knows if other not in found and _linked(knows, other, new)}
            found |= new
        return found

    def _evicted(self) -> list[tuple[Process, Process]]:
        """Of those who are here: who has evicted whom."""
        here = self.here()
        gone = {actor.name: actor.node._running.gone for actor in here if actor.node is not None}
        return [(by, actor.name) for by, them in gone.items() for actor in here if actor.name in them]

    def complaints(self) -> list[str]:
        failed = [
            f"{actor.name} failed: {actor.failure!r}"
            for actor in self.actors
            if actor.failure is not None and not self._may_fail(actor)
        ]
        # Where the history is kept, what was said a moment before a kill may be in no log.
        owing = self.actors if self.plan.group != "keeping" else ()
        survivors = {actor.name for actor in owing if actor.survived}
        return failed + self.beyond + self.having.complaints + self.witness.judge(survivors)

    def _may_fail(self, actor: Actor) -> bool:
        if isinstance(actor.failure, Evicted):
            return self.plan.may_be_evicted(actor.name)
        return any(fault.kind == "disk full" and actor.name in fault.who for fault in self.plan.faults)


def _linked(knows: Mapping[Process, Collection[Process | None]], one: Process, others: set[Process]) -> bool:
    return any(other in knows[one] or one in knows[other] for other in others)


def _held(actor: Actor) -> list[str]:
    node = actor.node
    if node is None or not node._running.busy:
        gauges = {} if node is None else node._running.machine.gauges()
        return [f"{actor.name} holds {count} {kind}" for kind, count in gauges.items() if count]
    return [f"{actor.name} has something under way"]
