"""Seeded protocol bugs. Each must die: a test that no mutant can fail is worth nothing.

A mutant is a shipped algorithm with one rule broken: a defect that a paper prints, or a slip that an
implementer would make. It says which property it breaks and where the harm shows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from aforesaid.core import Layer, MessageId
from aforesaid.protocols.broadcast.no_waiting import NoWaiting, NoWaitingCollecting
from aforesaid.protocols.broadcast.unordered import Unordered
from aforesaid.protocols.broadcast.waiting import Pending, Stamped, Waiting
from aforesaid.protocols.catalog import Setup
from aforesaid.protocols.layers.reliable import EagerReliable
from aforesaid.protocols.layers.uniform import UniformReliable
from aforesaid.protocols.links.perfect import PerfectLinks
from aforesaid.protocols.repair import NONE
from support.harness import Passing

WILD = {"delay": {"kind": "lognormal", "median_ms": 20, "sigma": 1.2}}
TALK = [{"kind": "rate", "per_second": 15}, {"kind": "chain", "per_second": 10}]
NO_REPLIES = [{"kind": "rate", "per_second": 20}]
"""For mutants that deliver twice: each answer to a duplicate would be answered twice in turn."""
CRASH = [{"kind": "crash", "at_ms": [50, 350]}]
CRASH_AT_DELIVERY = [{"kind": "crash", "after_deliveries": 4}]


@dataclass(frozen=True)
class Mutant:
    """One broken rule, and the world in which it shows."""

    name: str
    cites: str
    algorithm: str
    """The shipped algorithm it is a mutant of: the control, which must survive the same runs."""
    breaks: str
    """A property of the checker, or `memory of X`: the gauge X does not return to zero."""
    build: Callable[[Setup], Any]
    parts: dict[str, Any] = field(default_factory=dict)
    """Parts of the scenario in which it is caught."""
    links: type[PerfectLinks] | None = None
    """Broken links, for a mutant of theirs."""


def rb(setup: Setup) -> EagerReliable:
    return EagerReliable(setup.me, setup.group, setup.incarnation)


def urb(setup: Setup) -> UniformReliable:
    return UniformReliable(setup.me, setup.group, setup.incarnation)


class PastAsSet(NoWaiting):
    """Slides, algorithm 1 as printed: `past` is a set, so its order on the wire is arbitrary."""

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        self.past = dict(sorted(self.past.items(), key=lambda item: blake2b(str(item[0]).encode()).digest()))
        return super().broadcast(payload, now, out)


class NoLookOnCrash(NoWaitingCollecting):
    """Slides, algorithm 1' as printed: the past is looked through when an ack comes, never on a crash."""

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        NoWaiting.peer_down(self, peer, now, out)
        self.acked.pop(peer, None)


class DeliveredShrinksWithPast(NoWaitingCollecting):
    """Slides, algorithm 1': what leaves the past is forgotten as delivered, too."""

    def _deliver_once(self, message_id: MessageId, payload: Any, fresh: Any, out: Any) -> None:
        known = message_id.number <= self.delivered.get((message_id.origin, message_id.incarnation), 0)
        if known and message_id not in self.past:
            out.deliver(message_id, payload)
        else:
            super()._deliver_once(message_id, payload, fresh, out)


class StableTooEarly(NoWaitingCollecting):
    """Algorithm 1' that takes the first ack of a message for the last."""

    def __init__(self, me: str, group: Any, below: Layer, incarnation: int = 0) -> None:
        super().__init__(me, group, below, incarnation)
        self.said: set[MessageId] = set()

    def _forget_if_everywhere(self, message_id: MessageId, out: Any) -> None:
        delivered = message_id.number <= self.delivered.get((message_id.origin, message_id.incarnation), 0)
        acked = self.acks.get(message_id, 0) > 0 or not self.acked
        if delivered and acked and message_id not in self.said:
            self.said.add(message_id)
            out.stable(message_id)
        super()._forget_if_everywhere(message_id, _Silent(out))


class NeverStable(NoWaitingCollecting):
    """Algorithm 1' that forgets in silence."""

    def _forget_if_everywhere(self, message_id: MessageId, out: Any) -> None:
        super()._forget_if_everywhere(message_id, _Silent(out))


class _Silent(Passing):
    def stable(self, message_id: MessageId) -> None:
        pass


class SelfDelivery(Waiting):
    """Slides, algorithm 2 as printed: the sender delivers its own message at broadcast."""

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        mine = self.rank[self.me]
        stamp = tuple(self.vector)
        self.vector[mine] += 1
        message_id = MessageId(self.me, self.incarnation, self.vector[mine])
        out.deliver(message_id, payload)
        _, handed = self.below.broadcast(Stamped(stamp, payload), now, out)
        self._arrived(handed, out)
        return message_id

    def _arrived(self, handed: Any, out: Any) -> None:
        super()._arrived([item for item in handed if item[0].origin != self.me], out)


class OriginIsSelf(Waiting):
    """Slides, algorithm 2 as printed: `trigger <rcoDeliver, self, m>` in deliver-pending."""

    def _deliver_ready(self, first: Pending, out: Any) -> None:
        super()._deliver_ready(first, _Renaming(out, self.me))


class _Renaming(Passing):
    def __init__(self, out: Any, me: str) -> None:
        super().__init__(out)
        self.me = me

    def deliver(self, message_id: MessageId, payload: Any) -> None:
        self.out.deliver(message_id._replace(origin=self.me), payload)


class OnePass(Waiting):
    """Waiting that looks once, where a fixpoint is needed: what a delivery sets free stays pending."""

    def _deliver_ready(self, first: Pending, out: Any) -> None:
        if self._first_missing(first.vector, 0) < len(first.vector):
            self.pending.setdefault((0, 0), []).append(first)
            return
        self.vector[first.sender] += 1
        number = self.vector[first.sender]
        out.deliver(MessageId(self.group[first.sender], first.incarnation, number), first.payload)


class NoWait(Waiting):
    """Waiting that does not wait."""

    def _first_missing(self, vector: tuple[int, ...], entry: int) -> int:
        return len(vector)


class FifoOnly(Waiting):
    """Waiting for the sender's own entry only: FIFO, not causal."""

    def _deliver_ready(self, first: Pending, out: Any) -> None:
        own = tuple(value if rank == first.sender else 0 for rank, value in enumerate(first.vector))
        super()._deliver_ready(first._replace(vector=own), out)


class StampAfterCounting(Waiting):
    """The sender counts its message before stamping it: it waits for itself, everywhere."""

    def broadcast(self, payload: Any, now: int, out: Any) -> MessageId:
        self.sent += 1
        stamp = self.vector.copy()
        stamp[self.rank[self.me]] = self.sent
        _, handed = self.below.broadcast(Stamped(tuple(stamp), payload), now, out)
        self._arrived(handed, out)
        return MessageId(self.me, self.incarnation, self.sent)


class NoRelay(EagerReliable):
    """Reliable broadcast that does not relay: best effort."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> Any:
        return super().receive(source, message, now, _Mute(out))


class _Mute(Passing):
    def send(self, targets: Any, message: Any) -> None:
        pass


class EveryCopyIsNews(EagerReliable):
    """Reliable broadcast without `delivered`."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> Any:
        super().receive(source, message, now, out)
        return ((message.message_id, message.body),)


class DeliverOnReceipt(UniformReliable):
    """Uniform broadcast that delivers on first receipt."""

    def _deliverable(self, candidates: Any) -> Any:
        return [(each, self.pending.pop(each)) for each in candidates if self.acks.pop(each, None)]


class DeafToCrashes(UniformReliable):
    """All-ack that goes on waiting for a crashed process."""

    def peer_down(self, peer: str, now: int, out: Any) -> Any:
        return ()


class HalfIsEnough(UniformReliable):
    """Majority-ack that takes half, rounded down, for a majority: one of three."""

    def __init__(self, me: str, group: Any, incarnation: int = 0) -> None:
        super().__init__(me, group, incarnation, majority=True)
        self.quorum = len(group) // 2


class NoResend(PerfectLinks):
    """Links that never send again."""

    def _go_on(self, peer: str, flight: Any, now: int, out: Any) -> None:
        flight.lost, flight.strayed = NONE, 0
        flight.sent = {number: when for number, when in flight.sent.items() if when >= 0}
        super()._go_on(peer, flight, now, out)


def over(kind: Any, below: Callable[[Setup], Layer] = rb) -> Callable[[Setup], Any]:
    """A waiting algorithm, or a relative of it, over a layer."""
    return lambda setup: kind(setup.me, setup.group, below(setup), setup.incarnation)


def alone(kind: Any) -> Callable[[Setup], Any]:
    """A layer by itself."""
    return lambda setup: Unordered(kind(setup.me, setup.group, setup.incarnation))


MUTANTS = [
    Mutant(
        "past as a set",
        "Guerraoui (undated), algorithm 1, Init",
        "no_waiting",
        "causal",
        lambda setup: PastAsSet(setup.me, rb(setup), setup.incarnation),
    ),
    Mutant(
        "past not looked through on a crash",
        "Guerraoui (undated), algorithm 1', upon event crash",
        "no_waiting_gc",
        "memory of past",
        over(NoLookOnCrash),
        {"fault": CRASH},
    ),
    Mutant(
        "delivered shrinks with the past",
        "Guerraoui (undated), algorithm 1', Init",
        "no_waiting_gc",
        "no_duplicate",
        over(DeliveredShrinksWithPast),
        {"workload": NO_REPLIES},
    ),
    Mutant(
        "stable at the first ack",
        "Guerraoui (undated), algorithm 1'",
        "no_waiting_gc",
        "stability",
        over(StableTooEarly),
    ),
    Mutant(
        "never stable", "Guerraoui (undated), algorithm 1'", "no_waiting_gc", "stability", over(NeverStable)
    ),
    Mutant(
        "self-delivery at broadcast over uniform broadcast",
        "Guerraoui (undated), algorithm 2, rcoBroadcast",
        "waiting_uniform",
        "uniform_agreement",
        over(SelfDelivery, urb),
        {"fault": CRASH_AT_DELIVERY},
    ),
    Mutant(
        "origin is self",
        "Guerraoui (undated), algorithm 2, deliver-pending",
        "waiting",
        "validity",
        over(OriginIsSelf),
    ),
    Mutant(
        "one pass instead of a fixpoint",
        "Guerraoui (undated), algorithm 2",
        "waiting",
        "validity",
        over(OnePass),
    ),
    Mutant("no waiting at all", "Guerraoui (undated), algorithm 2", "waiting", "causal", over(NoWait)),
    Mutant(
        "waits for the sender only", "Guerraoui (undated), algorithm 2", "waiting", "causal", over(FifoOnly)
    ),
    Mutant(
        "counts before stamping",
        "Guerraoui (undated), algorithm 2",
        "waiting",
        "validity",
        over(StampAfterCounting),
    ),
    Mutant("no relay", "Guerraoui (undated), rb", "reliable", "agreement", alone(NoRelay), {"fault": CRASH}),
    Mutant(
        "every copy is news",
        "Guerraoui (undated), rb",
        "reliable",
        "no_duplicate",
        alone(EveryCopyIsNews),
        {"workload": NO_REPLIES},
    ),
    Mutant(
        "delivers on first receipt",
        "Guerraoui (undated), urb",
        "uniform",
        "uniform_agreement",
        alone(DeliverOnReceipt),
        {"fault": CRASH_AT_DELIVERY},
    ),
    Mutant(
        "deaf to crashes",
        "Guerraoui (undated), urb all-ack",
        "uniform",
        "validity",
        alone(DeafToCrashes),
        {"fault": CRASH},
    ),
    Mutant(
        "half for a majority",
        "Guerraoui (undated), urb majority-ack",
        "majority",
        "uniform_agreement",
        alone(HalfIsEnough),
        {"processes": 3, "fault": CRASH_AT_DELIVERY},
    ),
    Mutant(
        "links that never resend",
        "perfect links",
        "waiting",
        "validity",
        over(Waiting),
        {"network": {**WILD, "loss": 0.2, "retransmit": True}},
        links=NoResend,
    ),
]
