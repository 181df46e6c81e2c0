"""MF: causal delivery with one unacknowledged message at a time, buffering at the sender; unicast.

Mattern and Fünfrocken (1995), as read by Almeida (2026), section 3.2 and table 1.
Model: a network that loses, duplicates and reorders as it likes, as long as what is
sent again and again arrives at last; a fixed group; no crash.

What is said enters a FIFO queue. Its head is sent, and kept until its receiver acknowledges to have delivered
it; only then comes the next. So when a message is sent, all of its causal past has been delivered, and its
receiver delivers it at once. Loss is tolerated: a timer sends the one message again, and its number on the
link tells the receiver a copy from the next message.

Deviations:
- Delivery is an event, so there is no receive queue (section 3.2 says why it plays no part).
- Unicast, as in the paper: with two receivers, the one that has the message could tell the other before it
  has it, however long the sender waits. So a message to more than one other process is Misuse.
- A message to oneself is delivered at once and not queued.
- The queue has a bound; above it a send is refused (Busy).
- `peer_down` goes beyond the paper's model. What is owed to that peer is given up: else its timer would run,
  and everybody else would wait, for ever. With an accurate detector the survivors lose nothing by it, since
  nothing was sent before its past was delivered. A peer wrongly called down misses messages.

Cost: O(1) per operation; an id and a number per message; of each peer a counter per direction. The price is
one message per round trip: b messages queued take b round trips (table 1, latency).
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from aforesaid.core import (
    MILLISECOND,
    Busy,
    Effects,
    MessageId,
    Misbehaviour,
    Nanoseconds,
    Number,
    Payload,
    Process,
    Timer,
    frame,
)
from aforesaid.protocols.addressed import GroupMember, Queued
from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.options import Milliseconds, Options, Positive, keywords


@frame()
class Data(NamedTuple):
    """A message, the number-th of its link."""

    message_id: MessageId
    number: Number
    payload: Payload


@frame()
class Ack(NamedTuple):
    """Data `number` was delivered."""

    number: Number


class Resend(NamedTuple):
    """The one timer: Data is not acknowledged."""


class Sent(NamedTuple):
    """The message sent and not acknowledged."""

    target: Process
    data: Data


class Mf(GroupMember):
    """MF at one process of a fixed group."""

    def __init__(
        self,
        me: Process,
        group: Sequence[Process],
        incarnation: int = 0,
        *,
        resend_after: Nanoseconds = 50 * MILLISECOND,
        backoff_max: int = 64,
        send_queue_max: int = 1024,
    ) -> None:
        super().__init__(me, group, incarnation)
        self.resend_after = resend_after
        self.backoff_max = backoff_max
        self.send_queue_max = send_queue_max
        self.queue: deque[Queued] = deque()
        """Empty unless something is unacknowledged."""
        self.unacked: Sent | None = None
        self.backoff = 1
        self.numbers: dict[Process, int] = {}
        """By target, the number of the last Data sent."""
        self.delivered: dict[Process, int] = {}
        """By source, the number of the last Data delivered."""
        self.down: set[Process] = set()

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        others = self._only_other(targets, "MF")
        if others and self.unacked and len(self.queue) >= self.send_queue_max:
            raise Busy(f"{self.me} has {len(self.queue)} messages waiting for acks of earlier ones")
        message_id = self._next_id()
        if others:
            self.queue.append(Queued(others[0], message_id, payload))
            self._release(now, out)
        if self.me in targets:
            out.deliver(message_id, payload)
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        self._rank_of(source)
        if type(message) is Ack:
            if self.unacked and (source, message.number) == (self.unacked.target, self.unacked.data.number):
                self._next(now, out)
            return
        if type(message) is not Data:
            kind = type(message).__name__
            raise Misbehaviour(f"{source} sent a {kind}, which is no frame of this protocol")
        # A copy is acknowledged too: the first acknowledgment may be lost.
        out.send((source,), Ack(message.number))
        if message.number > self.delivered.get(source, 0):
            self.delivered[source] = message.number
            out.deliver(message.message_id, message.payload)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if self.unacked:
            out.send((self.unacked.target,), self.unacked.data)
            self.backoff = min(2 * self.backoff, self.backoff_max)
            out.arm(timer, now + self.backoff * self.resend_after)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.down.discard(peer)

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.down.add(peer)
        if self.unacked and self.unacked.target == peer:
            self._next(now, out)

    def gauges(self) -> Mapping[str, int]:
        return {"queued": len(self.queue), "unacked": int(self.unacked is not None)}

    def _next(self, now: Nanoseconds, out: Effects) -> None:
        """The message sent is done with."""
        self.unacked = None
        self._release(now, out)
        if not self.unacked:
            out.disarm(Resend())

    def _release(self, now: Nanoseconds, out: Effects) -> None:
        """Send the head of the queue, if nothing is unacknowledged."""
        while self.queue and not self.unacked:
            target, message_id, payload = self.queue.popleft()
            if target in self.down:
                continue
            number = self.numbers[target] = self.numbers.get(target, 0) + 1
            self.unacked = Sent(target, Data(message_id, number, payload))
            self.backoff = 1
            out.send((target,), self.unacked.data)
            out.arm(Resend(), now + self.resend_after)


class MfOptions(Options, frozen=True):
    """Settings of MF."""

    resend_ms: Annotated[
        Milliseconds, Meta(description="send again what was not acknowledged for so long; then it backs off")
    ] = 50.0
    backoff_max: Annotated[Positive, Meta(description="how many times that at most")] = 64
    send_queue_max: Annotated[
        int, Meta(ge=0, description="how many messages may wait before the sender is told to wait")
    ] = 1024


def _make(setup: Setup, options: MfOptions) -> Mf:
    return Mf(setup.me, setup.group, setup.incarnation, **keywords(options, resend_ms="resend_after"))


ENTRY = Algorithm(
    name="mf",
    title="MF: one unacknowledged message at a time",
    sources=(cite("mattern1995lightweight"), cite("almeida2026hybrid", "section 3.2 and table 1")),
    needs=(Need.FIXED_GROUP, Need.DETECTOR),
    promises=(*RELIABLE, *ORDER),
    metadata="one id and one number",
    make=_make,
    options=MfOptions,
    addressed=True,
    unicast=True,
)
