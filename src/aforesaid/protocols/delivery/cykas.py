"""Cykas, "can you keep a secret": causal delivery by permission to tell, buffering at the sender; unicast.

Tong and Kuper (2024), as read by Almeida (2026), section 4.3 and table 1.
Model: reliable FIFO links that do not duplicate; a fixed group; no crash.

The rules of section 4.3. (1) What is said enters a FIFO queue; what is received is delivered at once. (2) A
message is sent only when the one before it to the same target is acknowledged. (3) It is sent eagerly if
anything sent before is not acknowledged yet. (4, 5) Each eager message received is a secret: MODE counts
them. (6) While MODE is above zero nothing leaves the queue. (7) Who sent a message eagerly tells its receiver
YCT, "you can tell", once all that it sent before is acknowledged. (8) YCT takes one off MODE.
So what a process sends in normal mode has a causal past that is delivered, except for what it sent itself:
and that is what its receivers keep secret.

How the rules are read, and deviations:
- The queue blocks at its head: a message that rule 2 holds up holds up all behind it. One that passed it
  would be sent before it, and its YCT would not wait for it: causal order breaks.
- FIFO links are needed, though table 1 says "any": MODE is a bare count, so a YCT that overtakes its message
  lifts the secrecy of another one, and causal order breaks (tests/paper/test_hybrid_baselines_delivery.py).
  For the same reason there must be no duplicates (section 4.3).
- What was sent stands in one window in the order of sending. A message's YCT is due when it becomes the
  first of it, so no sets of missing acks per message are kept: O(1) where table 1 has O(n o).
- Unicast, as in the paper; a message to more than one other process is Misuse.
- A message to oneself is delivered at once and not queued.
- The queue has a bound; above it a send is refused (Busy).

Not promised: liveness. MODE mixes secrets from before and after a message was said, so that a steady stream
of eager messages from two peers can hold it up for ever (section 4.3; tests/paper as above).
Cost: amortised O(1) per operation; an id and a flag per message; an Ack each, and a YCT per eager message.
The window is as long as the messages sent since the oldest unacknowledged one.
`peer_down` does nothing: no process crashes in this model. If one did, an ack or YCT of it might never come,
and those that wait for it would wait for ever; order and exactly-once would still hold.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from aforesaid.core import Busy, Effects, MessageId, Misbehaviour, Nanoseconds, Payload, Process, frame
from aforesaid.protocols.addressed import GroupMember, Queued
from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.options import Options, Positive, keywords
from aforesaid.structures import SlidingArray


@frame()
class Data(NamedTuple):
    """A message; an eager one is a secret until its YouCanTell."""

    message_id: MessageId
    eager: bool
    payload: Payload


@frame()
class Ack(NamedTuple):
    """The one Data on its way to this sender was delivered."""


@frame()
class YouCanTell(NamedTuple):
    """One of the sender's eager messages is no secret any more."""


class Sent(NamedTuple):
    """A message sent, while it or one sent before it is not acknowledged."""

    target: Process
    eager: bool
    acked: bool


class Cykas(GroupMember):
    """Cykas at one process of a fixed group."""

    def __init__(
        self, me: Process, group: Sequence[Process], incarnation: int = 0, *, send_queue_max: int = 1024
    ) -> None:
        super().__init__(me, group, incarnation)
        self.send_queue_max = send_queue_max
        self.mode = 0
        """MODE: the secrets kept. Above zero, nothing leaves the queue."""
        self.queue: deque[Queued] = deque()
        self.window: SlidingArray[Sent] = SlidingArray()
        """What was sent, in that order. Its first is never acknowledged, and has had its YCT if eager."""
        self.unacked: dict[Process, int] = {}
        """By target, the index in the window of what it has not acknowledged."""

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        others = self._only_other(targets, "Cykas")
        if others and len(self.queue) >= self.send_queue_max:
            raise Busy(f"{self.me} has {len(self.queue)} messages waiting for acks or permission")
        message_id = self._next_id()
        if others:
            self.queue.append(Queued(others[0], message_id, payload))
            self._release(out)
        if self.me in targets:
            out.deliver(message_id, payload)
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        self._rank_of(source)
        kind = type(message)
        if kind is Data:
            self.mode += message.eager
            out.send((source,), Ack())
            out.deliver(message.message_id, message.payload)
        elif kind is Ack:
            self._acknowledged(source, out)
            self._release(out)
        elif kind is YouCanTell:
            self.mode -= 1
            self._release(out)
        else:
            raise Misbehaviour(f"{source} sent a {kind.__name__}, which is no frame of this protocol")

    def gauges(self) -> Mapping[str, int]:
        return {"queued": len(self.queue), "window": len(self.window), "secrets": self.mode}

    def _release(self, out: Effects) -> None:
        """Send from the queue's head on, as far as rules 2 and 6 allow."""
        while self.queue and self.mode <= 0 and self.queue[0].target not in self.unacked:
            target, message_id, payload = self.queue.popleft()
            eager = len(self.window) > 0
            self.unacked[target] = self.window.add(Sent(target, eager, False))
            out.send((target,), Data(message_id, eager, payload))

    def _acknowledged(self, source: Process, out: Effects) -> None:
        index = self.unacked.pop(source, None)
        if index is None:
            raise Misbehaviour(f"{source} acknowledges a message, but none is on its way to it")
        window = self.window
        window[index] = window[index]._replace(acked=True)
        while window and window.peek.acked:
            window.remove()
            if window and window.peek.eager:
                out.send((window.peek.target,), YouCanTell())


class CykasOptions(Options, frozen=True):
    """Settings of Cykas."""

    send_queue_max: Annotated[
        Positive, Meta(description="how many messages may wait before the sender is told to wait")
    ] = 1024


ENTRY = Algorithm(
    name="cykas",
    title="Cykas: permission to tell; may starve a busy receiver",
    sources=(cite("tong2024cykas"), cite("almeida2026hybrid", "section 4.3 and table 1")),
    needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS, Need.FIXED_GROUP, Need.NO_CRASH),
    promises=(*RELIABLE, *ORDER),
    metadata="one id and one flag",
    make=lambda setup, options: Cykas(setup.me, setup.group, setup.incarnation, **keywords(options)),
    options=CykasOptions,
    addressed=True,
    unicast=True,
)
