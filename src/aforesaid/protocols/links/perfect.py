"""Perfect links over a network that loses, duplicates and reorders: what is sent arrives once.

The algorithms of Guerraoui (undated) assume such links. This layer gives them to any protocol: it numbers
what goes to each peer, acknowledges what comes, drops what it has had, and sends again what was lost. What is
taken for lost, and how much may be on its way at once, is decided in `repair`, by peer.

Order is not restored: a protocol that needs FIFO links says so in the catalog.
`peer_down` is final here: what was owed to that peer is forgotten, else the sender would try for ever.
Whoever is to be told of it hears of it by `Gone`, which is numbered and sent again like all else, and tells
it in turn: so an operator's word to one member reaches all, unless all who have it are gone themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from aforesaid.core import (
    MILLISECOND,
    Acknowledging,
    CausalBroadcast,
    CausalDelivery,
    Effects,
    Explaining,
    Joining,
    Members,
    MessageId,
    Misuse,
    Nanoseconds,
    Number,
    Ordering,
    PartialOrder,
    Payload,
    Process,
    Reason,
    Repairing,
    Speaker,
    Timer,
    frame,
)
from aforesaid.protocols.repair import Flight, Pace, Resend, Tally
from aforesaid.structures import Received

Body = TypeVar("Body")
Above = TypeVar("Above", bound=Speaker)

RESEND_AFTER: Nanoseconds = 50 * MILLISECOND


@frame(deferrable=True)
class Data(NamedTuple, Generic[Body]):
    """The number-th message of this link."""

    number: Number
    body: Body


@frame()
class Ack(NamedTuple):
    """Data `number` arrived."""

    number: Number


@frame(gone="gone")
class Gone(NamedTuple):
    """The number-th message of this link: these processes will not come back."""

    number: Number
    gone: Members


class Links(Acknowledging, Explaining, Ordering, Repairing, Generic[Above]):
    """A protocol and its links, seen by the host as one protocol; see `perfectly_linked`."""

    def __init__(
        self,
        above: Above,
        resend_after: Nanoseconds = RESEND_AFTER,
        backoff_max: int = 8,
        in_flight: int = 32,
        ordered: bool = False,
        tells: Sequence[Process] = (),
    ) -> None:
        self.above = above
        self.tells = tells
        """Who is told which peers are down; nobody, where a detector tells everyone."""
        self.pace = Pace(resend_after, backoff_max, in_flight, Tally(), ordered)
        self.numbers: dict[Process, int] = {}
        """By peer, the number of the last message sent to it."""
        self.unacked: dict[Process, dict[int, Any]] = {}
        """By peer, what was sent and not acknowledged, oldest first."""
        self.flights: dict[Process, Flight] = {}
        """By peer, which of these are on their way, are lost, or have to wait for those to come."""
        self.received = Received()
        self.down: set[Process] = set()

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        if type(message) is Ack:
            self._acknowledged(source, message.number, now, out)
            return
        number, body = message
        out.send((source,), Ack(number))
        if not self.received.add(source, number):
            return
        if type(message) is Gone:
            for peer in message.gone:
                self.peer_down(peer, now, out)
        else:
            self.above.receive(source, body, now, _Framing(self, out, now))

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if type(timer) is not Resend:
            self.above.expire(timer, now, _Framing(self, out, now))
            return
        flight = self.flights[timer.peer]
        flight.expired(now)
        self._go_on(timer.peer, flight, now, out)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.down.discard(peer)
        self.above.peer_up(peer, now, _Framing(self, out, now))

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        fresh = peer not in self.down
        self.down.add(peer)
        self.flights.pop(peer, None)
        if self.unacked.pop(peer, None):
            out.disarm(Resend(peer))
        self.above.peer_down(peer, now, _Framing(self, out, now))
        for other in self.tells if fresh else ():
            self.frame(other, _Down(peer), now, out)

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self._group().join(contact, now, _Framing(self, out, now))

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        self._group().leave(now, _Framing(self, out, now))

    @property
    def inside(self) -> bool:
        return not isinstance(self.above, Joining) or self.above.inside

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        lacking = [peer for peer, frames in self.unacked.items() if frames]
        unacked = tuple(Reason("frames unacked", message_id, peer) for peer in lacking)
        if not isinstance(self.above, Explaining):
            return (Reason("untold", message_id), *unacked)
        return self.above.reasons(message_id) or unacked or (Reason("received", message_id),)

    @property
    def order(self) -> PartialOrder | None:
        return self.above.order if isinstance(self.above, Ordering) else None

    def sent(self) -> Mapping[Process, int]:
        return self.numbers

    def arrived_below(self, peer: Process) -> int | None:
        return next(iter(self.unacked.get(peer, ())), None)

    def owed(self, peer: Process) -> int:
        return len(self.unacked.get(peer, ()))

    def retries(self, peer: Process) -> Sequence[Timer]:
        return (Resend(peer),)

    @property
    def resent(self) -> int:
        return self.pace.again.count

    def gauges(self) -> Mapping[str, int]:
        return {**self.above.gauges(), "link_unacked": sum(map(len, self.unacked.values()))}

    def frame(self, target: Process, body: Any, now: Nanoseconds, out: Effects) -> None:
        """Number a message towards a peer, keep it until it is acknowledged, and send it."""
        if target in self.down:
            return
        number = self.numbers.get(target, 0) + 1
        self.numbers[target] = number
        self.unacked.setdefault(target, {})[number] = body
        flight = self.flights.get(target) or self.flights.setdefault(target, Flight(target, self.pace))
        if flight.enter(number, now, out):
            out.send((target,), _framed(number, body))

    def _group(self) -> Joining:
        if not isinstance(self.above, Joining):
            raise Misuse(f"{type(self.above).__name__} serves a fixed group")
        return self.above

    def _acknowledged(self, source: Process, number: int, now: Nanoseconds, out: Effects) -> None:
        unacked = self.unacked.get(source)
        if not unacked or number not in unacked:
            return
        flight = self.flights[source]
        if number not in flight.sent:
            return  # It waits to be sent: nobody can have it.
        del unacked[number]
        if flight.came((number,), now, out):
            self._go_on(source, flight, now, out)

    def _go_on(self, peer: Process, flight: Flight, now: Nanoseconds, out: Effects) -> None:
        """Send what is lost, or had to wait, as far as it may leave now."""
        while number := flight.next(now):
            out.send((peer,), _framed(number, self.unacked[peer][number]))
        flight.watch(out)


class _Down(NamedTuple):
    """In place of a body: this peer is down."""

    peer: Process


def _framed(number: int, body: Any) -> Data[Any] | Gone:
    return Gone(number, (body.peer,)) if type(body) is _Down else Data(number, body)


class PerfectLinks(Links[CausalBroadcast]):
    """Perfect links under a broadcast."""

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        return self.above.broadcast(payload, now, _Framing(self, out, now))


class PerfectDelivery(Links[CausalDelivery]):
    """Perfect links under a protocol that addresses its messages."""

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        return self.above.send(targets, payload, now, _Framing(self, out, now))


def perfectly_linked(
    above: Speaker, resend_after: Nanoseconds = RESEND_AFTER, **settings: Any
) -> PerfectLinks | PerfectDelivery:
    """The protocol with perfect links under it; it speaks as it did."""
    if isinstance(above, CausalDelivery):
        return PerfectDelivery(above, resend_after, **settings)
    return PerfectLinks(above, resend_after, **settings)


class _Framing:
    """The effects sink of the protocol above: what it sends is framed, the rest passes through."""

    __slots__ = ("_links", "_now", "_out")

    def __init__(self, links: Links[Any], out: Effects, now: Nanoseconds) -> None:
        self._links = links
        self._out = out
        self._now = now

    def send(self, targets: Sequence[Process], message: Any) -> None:
        for target in targets:
            self._links.frame(target, message, self._now, self._out)

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        self._out.deliver(message_id, payload)

    def numbered(self, message_id: MessageId) -> None:
        self._out.numbered(message_id)

    def stable(self, message_id: MessageId) -> None:
        self._out.stable(message_id)

    def admit(self, peer: Process, incarnation: int | None = None) -> None:
        self._out.admit(peer, incarnation)

    def isolated(self) -> None:
        self._out.isolated()

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self._out.arm(timer, deadline)

    def disarm(self, timer: Timer) -> None:
        self._out.disarm(timer)

    def choose(self, label: str, count: int) -> int:
        return self._out.choose(label, count)
