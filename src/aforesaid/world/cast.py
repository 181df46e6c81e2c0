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
from aforesaid.world.network import Ways, Weather
from aforesaid.world.plan import Plan
from aforesaid.world.witness import Witness
from aforesaid.world.world import World

PORT = 7000
CONTACTS = 2
LAST_WORDS = b"last words "
INTENT_BYTES = 8
BEYOND_MAX = 5


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
        self.having = Having()
        self.beyond: list[str] = []
        """Who held more than it may, whenever something was heard."""
        self._key = scratch / "cluster.key"
        if plan.sealed:
            write_cluster_key(self._key)
        self._calm = Weather(delay_s=plan.delay_s, jitter_s=plan.jitter_s)
        self._is_calm = False
        self.set_weather()
        turns_s = world.network.loop.time() + plan.seconds / 2
        self.world.network.ways = Ways(plan.first_step, plan.passes, turns_s)

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

    # --------------------------------------------------------------------------- what they are asked to do

    def left_to_the_time_out(self) -> bool:
        """Whether those who are left evict the dead without being told: most of the group must be."""
        return bool(self.plan.evict_after_s) and 2 * len(self.here()) > len(self.plan.names)

    def evict(self, actor: Actor, name: Process) -> None:
        async def evict() -> None:
            if actor.node is not None and actor.here and name not in actor.node._running.gone:
                actor.node.evict(name)

        self.world.on(actor.machine, evict)

    def have_admitted(self, name: Process) -> None:
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

    def set_weather(self) -> None:
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
                self.have_admitted(name)
        if self.plan.group == "fixed":
            here = self.here()
            dead = sorted(set(self.plan.names) - {actor.name for actor in here})
            for actor in here:
                for name in dead:
                    unmet = actor.node is not None and name not in actor.node._running.incarnations
                    if unmet or not self.left_to_the_time_out():
                        self.evict(actor, name)

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
