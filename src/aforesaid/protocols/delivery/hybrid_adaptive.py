"""Causal delivery with adaptive hybrid buffering: named constraints instead of waits; unicast and multicast.

Ours: what Almeida (2026) leaves as future work, to choose for each message between waiting at the sender and
a little metadata. The idea, the proof and the figures are in docs/adaptive-hybrid-buffering.md.

A message carries up to B (`constraints`) *named constraints* instead of one bit. (X, S, k) says: X must first
deliver what S said to X up to number k. Those on the receiver itself (W) the receiver waits for; the others
(C) it learns, and names them in turn. What cannot be named makes the message *opaque*: its receiver says
nothing to others until it is permitted, as if the message were flagged in hybrid buffering. In detail:
- messages leave in the order in which they were said (`hybrid_in_order` tells why), the first unsent one when
  no permit is missing of what was delivered before it was said, but for those of its only receiver; and when
  what it must name to each receiver as W fits into B;
- it knows what was known when it was *said*. What is learnt while messages are unsent waits in `tellings`
  until those have left that were said before;
- it names the youngest constraints first, but for those that the receiver knows: `hybrid_constraints`;
- an ack says that the message was delivered, never merely received: then it holds, and so do its W;
- Holds tells a peer how far all that was not named to it holds, and all that was, as soon as it is known.

With B = 0 it is `hybrid_in_order`: nothing is ever learnt, and every constraint is on a message of one's own.

Evictions. What is on or by a process that is gone counts as delivered, with the promises of
`hybrid_eviction`. What the gone process *told* is another matter: it may be about messages between others,
and only the gone one would have told when they are delivered. So everyone else is asked to say when all that
it has sent by now is delivered (Flush, Flushed): whatever the gone one knew of was sent before that.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from aforesaid.core import Effects, MessageId, Misuse, Nanoseconds, Payload, Process, Reason, new
from aforesaid.protocols.delivery.hybrid_adaptive_explain import explanation
from aforesaid.protocols.delivery.hybrid_adaptive_frames import (
    Flush,
    Flushed,
    Holds,
    Name,
    Telling,
    Told,
    Wait,
)
from aforesaid.protocols.delivery.hybrid_adaptive_learning import Learning
from aforesaid.protocols.delivery.hybrid_frames import Ack, Channel, Early, Notice
from aforesaid.protocols.delivery.hybrid_runs import count_of, deliver
from aforesaid.protocols.repair import appended


class Entry(Struct, eq=False, gc=False):
    """What a process keeps of a message it said."""

    waiting: dict[Process, Any]
    """By receiver who has not acknowledged it: the number of the message before it on the channel; once it
    has left, what the receiver was sent, and the constraint that it is."""
    dep: int
    view: int
    """How many tellings there had been when it was said."""
    count: int
    payload: Any
    sent: bool = False


class HybridAdaptive(Learning[Entry]):
    """One process."""

    def __init__(self, me: Process, incarnation: int = 0, *, unicast: bool = False, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.unicast = unicast
        self.m1 = self.u.next
        """The first message that has not left."""

    def _audience(self, targets: Sequence[Process]) -> Sequence[Process]:
        if self.unicast and len(targets) != 1:
            raise Misuse(f"{type(self).__name__} sends to exactly one target, not to {len(targets)}")
        return super()._audience(targets)

    # ----------------------------------------------------------------------------------------------- to leave

    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        u, p, k, count = self.u, self.p, self.u.next, count_of(payload)
        waiting: dict[Process, int] = {}
        for peer in others:
            channel = self.channels.get(peer) or self._channel(peer)
            waiting[peer] = channel.last
            channel.last = k + count - 1
        entry = Entry(waiting, p.next, self.told + len(self.tellings), count, payload)
        u.add(entry, count)
        if not waiting and u.first == k:
            u.remove(count)
            self.m1 = u.first
        elif self.m1 < k or p.first < p.next or self.tellings or self.constraints.on:
            self._try_send(now, out)
        else:
            # Nothing is unsent before it, and nothing can hold it back.
            self._leave(k, entry, now, out)
            self.m1 = u.next

    def _try_send(self, now: Nanoseconds, out: Effects) -> None:
        u, k = self.u, self.m1
        end = u.next if u.next <= k + self.batch else k + self.batch
        while k < end:
            entry = u[k]
            if entry.waiting and not entry.sent:
                if self._unpermitted(entry):
                    break
                if (self.tellings or self.constraints.on) and self._unnamable(entry):
                    break
                self._leave(k, entry, now, out)
            k += entry.count
        self.m1 = k
        if end <= k < u.next:
            self._put_off(k, now, out)

    def _reached(self) -> int:
        return self.m1

    def _send_left(self, k: int, now: Nanoseconds, out: Effects) -> None:
        self._try_send(now, out)
        self._slide()
        self._answer(out)

    def _slide(self) -> None:
        u = self.u
        while u.first < self.m1 and not (entry := u[u.first]).waiting:
            u.remove(entry.count)

    def _unpermitted(self, entry: Entry) -> bool:
        """A permit is missing of what was delivered before; the only receiver's own do not count."""
        p = self.p
        if entry.dep <= p.first:
            return False
        return entry.dep > self.p2 or len(entry.waiting) > 1 or p.peek[0] not in entry.waiting

    def _unnamable(self, entry: Entry) -> bool:
        """Some receiver would have to wait for more than can be named."""
        # What its only receiver told need not be known for that.
        if self.tellings and not (self.teller in entry.waiting and len(entry.waiting) == 1):
            self._learn(entry.view)
        on, bound = self.constraints.on, self.constraints.bound
        return bool(on) and any(len(on.get(peer, ())) > bound for peer in entry.waiting)

    def _leave(self, k: int, entry: Entry, now: Nanoseconds, out: Effects) -> None:
        constraints, waiting, number = self.constraints, entry.waiting, k + entry.count - 1
        on = constraints.on
        entry.sent = True
        # First all of it, so that each copy names the others.
        for peer, previous in waiting.items():
            waits: tuple[Wait, ...] = ()
            if peer in on:
                waits = tuple([new(Wait, (by, it.number)) for by, it in on[peer].items()])
            waiting[peer] = previous, waits, constraints.sent(peer, number)
        for peer, (previous, waits, own) in waiting.items():
            channel = self.channels[peer]
            names, unnamed, named = constraints.chosen(peer, constraints.bound - len(waits))
            if unnamed:
                channel.unnamed = appended(channel.unnamed, (unnamed, number))
            if named:
                channel.named = appended(channel.named, (named, number))
            content = ((), self.incarnation, number, previous, waits, names, unnamed > 0, entry.payload)
            frame = new(Told, content)
            waiting[peer] = frame, own
            self._network_send(peer, frame, channel, now, out)

    def _again(self, peer: Process, channel: Channel, number: int) -> Any:
        frame, _ = self.u[number].waiting[peer]
        return self._with_news(frame, channel)

    def _note_ack(self, entry: Entry, peer: Process) -> None:
        frame, own = entry.waiting.pop(peer)
        self.constraints.acknowledged(own)
        if frame.waits:
            self.constraints.hold([new(Name, (peer, by, number)) for by, number in frame.waits])
        if not entry.waiting:
            entry.payload = None

    # ---------------------------------------------------------------------------------------------- to arrive

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        channel = self.channels.get(source)
        if channel is None:
            if source in self.evicted:
                return
            channel = self._channel(source)
        kind = type(message)
        if kind is Ack or kind is Early:
            self._acknowledged(source, channel, message, now, out)
            if channel.polls or (channel.unacked and (self.evicted or not channel.flight.sent)):
                self._poll(source, channel, now, out)
            if self.questions.asking:
                self._answer(out)
            if self.m1 < self.u.next:
                self._try_send(now, out)
            return
        if message.gone:
            if kind is Notice:
                self._evict_all(message.gone, now, out)
                return
            self._evict(channel, message.gone, now, out)
            if source in self.evicted:
                return
        if kind is Told:
            self._arrived(source, channel, message, now, out)
        elif kind is Holds:
            self._heard(source, channel, message, now, out)
        elif kind is Flush:
            self._asked(source, channel, message.round, out)
        elif kind is Flushed:
            self._answered(source, message.round, now, out)

    def _arrived(self, source: Process, channel: Any, message: Any, now: Nanoseconds, out: Effects) -> None:
        _, _, number, previous, waits, names, opaque, _ = message
        delivered, constraints = channel.delivered, self.constraints
        news = not opaque and source in constraints.learnt and constraints.unnamed(source, number, names)
        if number <= delivered:
            out.send((source,), new(Ack, (delivered, 0)))
        elif previous == delivered and (not (waits or channel.cons) or self._ready(source, channel, message)):
            if channel.early is None and source not in self.watch:
                calm = not (channel.missing or channel.cons)
                self._deliver(source, channel, message, now, out)
                self._delivered(source, channel, calm, now, out)
            else:
                if channel.early is None:
                    channel.early = {}
                channel.early[previous] = message
                self._deliver_all([source], now, out)
        # A predecessor below what was delivered, or not below the message, is none.
        elif delivered <= previous < number:
            self._came_early(source, channel, message, out)
        if news:
            self._go_ahead(now, out)

    def _deliver(self, source: Process, channel: Any, message: Any, now: Nanoseconds, out: Effects) -> None:
        _, incarnation, number, _, _, names, opaque, payload = message
        channel.delivered = number
        # All this is known from before the delivery on: what the application answers depends on it.
        if names and number > channel.held:
            telling = Telling(number, names)
            channel.cons = appended(channel.cons, telling)
            self.teller = source if not self.tellings or self.teller == source else None
            self.tellings.append((source, telling))
        if opaque and number > channel.permitted:
            channel.missing = appended(channel.missing, number)
            self._miss((source, number))
        if (names or opaque) and not channel.permits.timed and self._wanted(channel) == number:
            channel.permits.timed, channel.permits.since = number, now
        deliver(source, incarnation, number, payload, out)

    # ---------------------------------------------------------------------------------------------- evictions

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        if peer == self.me:
            return
        if peer in self.channels:
            self._await(peer, self.channels[peer], None)
        super().peer_down(peer, now, out)
        for name, channel in self.channels.items():
            self._poll(name, channel, now, out)
        self.constraints.gone(peer)
        self._await_no_more(peer, now, out)
        self._ask_without(peer, now, out)
        self._go_ahead(now, out)

    def _expect_no_more(self, peer: Process, channel: Any, now: Nanoseconds, out: Effects) -> None:
        self._flush([(peer, number) for number in channel.missing], list(channel.cons))

    def _forget(self, peer: Process) -> None:
        for entry in self.u:
            sent = entry.waiting.pop(peer, None)
            if entry.sent and sent is not None:
                self.constraints.acknowledged(sent[1])
            if not entry.waiting:
                entry.payload = None
        u = self.u
        while self.m1 < u.next and ((entry := u[self.m1]).sent or not entry.waiting):
            self.m1 += entry.count

    # ---------------------------------------------------------------------------------------- to be looked at

    def _unsent_to(self, entry: Entry) -> Collection[Process]:
        return () if entry.sent else entry.waiting

    def _unacked_by(self, entry: Entry) -> Collection[Process]:
        return entry.waiting

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        return explanation(self, message_id)

    def gauges(self) -> Mapping[str, int]:
        return {
            **super().gauges(),
            "constraints": len(self.constraints.candidates),
            "tellings": sum(len(channel.cons) for channel in self.channels.values()),
        }
