"""Perfect links over a network that loses, duplicates and reorders: what is sent arrives once.

The algorithms of Guerraoui (undated) assume such links. This layer gives them to any protocol: it numbers
what goes to each peer, acknowledges what comes, drops what it has had, and sends again what was not
acknowledged in time. There is one timer per peer, not per message; it backs off while nothing comes back, and
each expiry sends again at most `burst_max` of the oldest messages, so that a long silence does not end in a
storm.

Order is not restored: a protocol that needs FIFO links says so in the catalog.
`peer_down` is final here: what was owed to that peer is forgotten, else the sender would try for ever.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from aforesaid.core import (
    MILLISECOND,
    Effects,
    MessageId,
    Nanoseconds,
    Payload,
    Process,
    Timer,
)
from aforesaid.structures import Received


class Data(NamedTuple):
    """The number-th message of this link."""

    number: int
    body: Any


class Ack(NamedTuple):
    """Data `number` arrived."""

    number: int


class Resend(NamedTuple):
    """The timer of one peer's unacknowledged messages."""

    peer: Process


class PerfectLinks:
    """A protocol and its links, seen by the host as one protocol."""

    def __init__(
        self,
        above: Any,
        resend_after: Nanoseconds = 50 * MILLISECOND,
        backoff_max: int = 64,
        burst_max: int = 32,
    ) -> None:
        self.above = above
        self.resend_after = resend_after
        self.backoff_max = backoff_max
        self.burst_max = burst_max
        self.sent: dict[Process, int] = {}
        self.unacked: dict[Process, dict[int, Any]] = {}
        """By peer, what was sent and not acknowledged, oldest first."""
        self.backoff: dict[Process, int] = {}
        self.received = Received()
        self.down: set[Process] = set()

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        message_id: MessageId = self.above.broadcast(payload, now, _Framing(self, out, now))
        return message_id

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        message_id: MessageId = self.above.send(targets, payload, now, _Framing(self, out, now))
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        if type(message) is Ack:
            self._acknowledged(source, message.number, now, out)
            return
        number, body = message
        out.send((source,), Ack(number))
        if self.received.add(source, number):
            self.above.receive(source, body, now, _Framing(self, out, now))

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if type(timer) is not Resend:
            self.above.expire(timer, now, _Framing(self, out, now))
            return
        peer = timer.peer
        for number, body in islice(self.unacked[peer].items(), self.burst_max):
            out.send((peer,), Data(number, body))
        self.backoff[peer] = min(2 * self.backoff[peer], self.backoff_max)
        out.arm(timer, now + self.resend_after * self.backoff[peer])

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.down.discard(peer)
        self.above.peer_up(peer, now, _Framing(self, out, now))

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.down.add(peer)
        if self.unacked.pop(peer, None):
            out.disarm(Resend(peer))
        self.above.peer_down(peer, now, _Framing(self, out, now))

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self.above.join(contact, now, _Framing(self, out, now))

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        self.above.leave(now, _Framing(self, out, now))

    def gauges(self) -> Mapping[str, int]:
        return {**self.above.gauges(), "link_unacked": sum(map(len, self.unacked.values()))}

    def frame(self, target: Process, body: Any, now: Nanoseconds, out: Effects) -> None:
        """Number a message towards a peer, keep it until it is acknowledged, and send it."""
        if target in self.down:
            return
        number = self.sent.get(target, 0) + 1
        self.sent[target] = number
        unacked = self.unacked.setdefault(target, {})
        if not unacked:
            self.backoff[target] = 1
            out.arm(Resend(target), now + self.resend_after)
        unacked[number] = body
        out.send((target,), Data(number, body))

    def _acknowledged(self, source: Process, number: int, now: Nanoseconds, out: Effects) -> None:
        unacked = self.unacked.get(source)
        if not unacked or number not in unacked:
            return
        del unacked[number]
        self.backoff[source] = 1
        if not unacked:
            out.disarm(Resend(source))


class _Framing:
    """The effects sink of the protocol above: what it sends is framed, the rest passes through."""

    __slots__ = ("_links", "_now", "_out")

    def __init__(self, links: PerfectLinks, out: Effects, now: Nanoseconds) -> None:
        self._links = links
        self._out = out
        self._now = now

    def send(self, targets: Sequence[Process], message: Any) -> None:
        for target in targets:
            self._links.frame(target, message, self._now, self._out)

    def deliver(self, message_id: MessageId, payload: Payload) -> None:
        self._out.deliver(message_id, payload)

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
