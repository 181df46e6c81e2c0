"""Seeded defects of the node itself, around the protocols: each dies in some world of a few seeds."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest

from aforesaid.core import Misuse, Refused
from aforesaid.journal import Durable, ToldMachine
from aforesaid.node.carrying.datagrams import DatagramCarrier
from aforesaid.node.carrying.streams import StreamCarrier
from aforesaid.node.carrying.switchboard import Switchboard
from aforesaid.node.flight import WindowFlight
from aforesaid.node.history.entries import SAID
from aforesaid.node.history.history import History
from aforesaid.node.history.keeping import KeepingHost
from aforesaid.node.history.log import DeliveryLog
from aforesaid.node.host import Host
from aforesaid.node.inbox import Inbox
from aforesaid.node.recording.segments import SegmentWriter
from aforesaid.node.senders import Senders
from aforesaid.node.several import Several
from aforesaid.node.surviving import SurvivingHost
from aforesaid.node.timers import Timers
from aforesaid.node.watch import Watch
from aforesaid.protocols.membership.epochs import Epochs, Line
from aforesaid.protocols.membership.suspicion import Suspicion
from aforesaid.wire.fragment import Reassembly
from aforesaid.wire.stream import Records
from aforesaid.world.plan import Kind, Plan, plan_of
from aforesaid.world.trial import run

SEEDS = 400
TRIES_MAX = 30


def nothing(*_: Any) -> None:
    """What the mutant does instead."""


@dataclass(frozen=True)
class Mutant:
    """What is wrong in a class, and the plans in which that can matter."""

    target: type
    method: str
    wrong: Any
    group: Kind = "fixed"
    matters: Callable[[Plan], bool] = lambda plan: len(plan.faults) > 1


def fault(*kinds: str) -> Callable[[Plan], bool]:
    return lambda plan: any(each.kind in kinds for each in plan.faults)


def busy(plan: Plan) -> bool:
    return plan.rate >= 40


def twice(self: Inbox, *message: Any) -> None:
    put(self, *message)
    if self.messages % 7 == 0:
        put(self, *message)


def last_first(self: Inbox, *message: Any) -> None:
    put(self, *message)
    self._queue.rotate(1)


def silences(least: float, most: float, *kinds: str) -> Callable[[Plan], bool]:
    """Plans with a time-out in which some pause is so long, compared with it, and none longer."""

    def matters(plan: Plan) -> bool:
        shares = [
            each.for_s / plan.evict_after_s
            for each in plan.faults
            if each.kind in kinds and plan.evict_after_s
        ]
        return bool(shares) and least < max(shares) < most

    return matters


def refuse_without_a_word(self: Any, peer: Any, session: bytes, reason: str, start: int, now: int) -> Refused:
    return Refused(reason)


def evict_without_the_protocol(self: Host, peer: str, how: str = "evicted") -> None:
    self.gone[peer] = how
    self.carrier.forget(peer)


def feed_whole_records_only(self: Records, data: bytes) -> Any:
    self._held = bytearray()
    return feed(self, data)


def rotate_or_end(self: SegmentWriter) -> None:
    before = self._origin
    rotate(self)
    if self._origin is before:
        raise Misuse("no descriptor is left")


async def leave_it_open(self: DatagramCarrier) -> None:
    """The mutant of `close`."""


def at_once(self: Suspicion, timeout: int) -> list[str]:
    return self.suspects


def let_go_before_it_is_forced(self: Durable) -> Any:
    batch, count = begin_commit(self)
    self.let_go(count)
    return batch, 0


def acknowledged_when_it_is_handed_on(self: Durable, *delivery: Any) -> None:
    deliver(self, *delivery)
    self.unacknowledged.clear()


def refuse_later_starts(self: Any, line: Line, incarnation: int, start: int) -> bool:
    if line.incarnation and line.start != start:
        raise Refused("incarnation")
    return False


def accept_what_it_has(self: History, *entry: Any) -> None:
    self.log.floors[entry[:2]] = entry[2]
    self._accepted.append(entry)


async def fetch_before_it_joins_only(self: KeepingHost, *question: Any, joined: bool = False) -> int:
    if not joined:
        return await fetch(self, *question)
    self._group = dict(self.history.log.floors)
    self.history.log.enter()
    return 1


async def say_nothing_again(self: KeepingHost) -> None:
    self._group = None


async def speak_when_inside(self: KeepingHost, targets: Any, said: Several) -> Any:
    await self.inside.wait()
    self.check()
    return await Host.say(self, targets, Several([SAID + payload for payload in said.payloads]))


def deliver_at_once(self: KeepingHost, message_id: Any, payload: bytes) -> None:
    self._accept(message_id, payload)


def talks(plan: Plan) -> bool:
    return plan.rate > 4 and fault("part", "kill", "join", "back")(plan)


fetch = KeepingHost._fetch
put, feed, rotate = Inbox.put, Records.feed, SegmentWriter._rotate
begin_commit, deliver = Durable.begin_commit, Durable.deliver

MUTANTS = {
    "delivers twice": Mutant(Inbox, "put", twice),
    "hands over the last first": Mutant(Inbox, "put", last_first, matters=busy),
    "does not tell the protocol of an eviction": Mutant(
        Host, "evict", evict_without_the_protocol, matters=fault("kill")
    ),
    "arms no timer": Mutant(
        Timers, "arm", nothing, matters=lambda plan: plan.loss > 0 and plan.transport == "udp"
    ),
    "never feeds its backlog": Mutant(
        Host, "_feed_backlog", nothing, matters=lambda plan: plan.in_messages == 16 and busy(plan)
    ),
    "never reads again": Mutant(
        StreamCarrier, "resume", nothing, "changing", matters=lambda plan: plan.in_messages == 16
    ),
    "does not tell the host of a lost stream": Mutant(
        Host, "lost", nothing, "changing", fault("reset", "part")
    ),
    "loses half a record": Mutant(
        Records, "feed", feed_whole_records_only, "changing", matters=lambda plan: plan.rate > 5
    ),
    "never puts a cut frame together": Mutant(
        Reassembly, "add", nothing, matters=lambda plan: plan.large > 0 and plan.transport == "udp"
    ),
    "does not wake who waits for room": Mutant(
        Senders, "wake", nothing, matters=lambda plan: plan.out_messages == 8 and busy(plan)
    ),
    "says more than may be under way": Mutant(
        WindowFlight, "room", lambda _: 1, matters=lambda plan: plan.out_messages == 8 and busy(plan)
    ),
    "goes on calling whom it has evicted": Mutant(
        Switchboard,
        "_hang_up",
        nothing,
        matters=lambda plan: plan.transport == "tcp" and fault("kill")(plan),
    ),
    "ends when no segment can be begun": Mutant(
        SegmentWriter,
        "_rotate",
        rotate_or_end,
        matters=lambda plan: plan.segment_bytes == 2**14 and busy(plan) and fault("descriptors")(plan),
    ),
    "never settles what is under way": Mutant(WindowFlight, "settle", nothing),
    "never evicts the silent": Mutant(
        Watch, "_evict", nothing, matters=lambda plan: plan.evict_after_s > 0 and fault("kill")(plan)
    ),
    "evicts whom it suspects": Mutant(
        Suspicion, "overdue", at_once, matters=silences(0.4, 0.5, "halt", "part")
    ),
    "evicts although it hears few": Mutant(
        Suspicion, "may_evict", property(lambda _: True), matters=silences(1.2, 9, "part")
    ),
    "does not tell whom it has evicted": Mutant(
        DatagramCarrier, "_turn_away", refuse_without_a_word, matters=silences(1.2, 9, "halt", "part")
    ),
    "does not heed that it was evicted": Mutant(
        Host, "turned_away", nothing, matters=silences(1.2, 9, "halt", "part")
    ),
    "lets go what is not forced": Mutant(
        Durable, "begin_commit", let_go_before_it_is_forced, "durable", fault("power")
    ),
    "keeps nothing to hand on again": Mutant(
        Durable, "deliver", acknowledged_when_it_is_handed_on, "durable", lambda plan: plan.resumes
    ),
    "arms no timer again": Mutant(
        ToldMachine, "timers", property(lambda _: {}, nothing), "durable", lambda plan: plan.loss > 0
    ),
    "writes again what its trace has": Mutant(
        SurvivingHost, "_again", property(lambda _: Counter(), nothing), "durable", fault("kill")
    ),
    "does not go on with its trace": Mutant(SurvivingHost, "called", nothing, "durable", fault("kill")),
    "does not let a later start in": Mutant(Epochs, "_compare_incarnations", refuse_later_starts, "durable"),
    "accepts what it has": Mutant(History, "accept", accept_what_it_has, "keeping", talks),
    "does not ask for what came while it joined": Mutant(
        KeepingHost, "_fetch", fetch_before_it_joins_only, "keeping", talks
    ),
    "says nothing again": Mutant(KeepingHost, "_say_again", say_nothing_again, "keeping", fault("part")),
    "speaks before it has caught up": Mutant(
        KeepingHost, "say", speak_when_inside, "keeping", lambda plan: plan.rate > 4 and fault("part")(plan)
    ),
    "delivers before it has the past": Mutant(KeepingHost, "deliver", deliver_at_once, "keeping", talks),
    "starts without its log": Mutant(DeliveryLog, "_recover", nothing, "keeping", fault("kill")),
    "leaves its segment open": Mutant(SegmentWriter, "close", nothing),
    "leaves its socket open": Mutant(
        DatagramCarrier, "close", leave_it_open, matters=lambda plan: plan.transport == "udp"
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_node_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    plans = (plan_of(seed, mutant.group) for seed in range(SEEDS))
    tried = 0
    with patch.object(mutant.target, mutant.method, mutant.wrong, create=True):
        for plan in plans:
            if mutant.matters(plan):
                if run(plan).complaints:
                    return
                tried += 1
                if tried == TRIES_MAX:
                    break
    raise AssertionError(f"{name}: nothing was found in {tried} worlds")
