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

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from aforesaid.core import Effects, MessageId, Misuse, Nanoseconds, Payload, Process, Reason, Timer, new
from aforesaid.protocols.delivery.hybrid_adaptive_eviction import Flushing
from aforesaid.protocols.delivery.hybrid_adaptive_explain import explanation
from aforesaid.protocols.delivery.hybrid_adaptive_frames import (
    AdaptiveChannel,
    Flush,
    Flushed,
    Holds,
    Name,
    Telling,
    Told,
    Wait,
)
from aforesaid.protocols.delivery.hybrid_adaptive_held import Holding
from aforesaid.protocols.delivery.hybrid_constraints import Constraint, Constraints
from aforesaid.protocols.delivery.hybrid_copies import Copies
from aforesaid.protocols.delivery.hybrid_frames import Ack, Channel, Early, Notice, Remind
from aforesaid.protocols.delivery.hybrid_process import Key
from aforesaid.protocols.delivery.hybrid_runs import count_of, deliver
from aforesaid.protocols.repair import NONE, appended


class Entry(Struct, eq=False, gc=False):
    """What a process keeps of a message it said."""

    previous: dict[Process, int]
    """By receiver, the message before this one on its channel; evicted receivers leave."""
    waiting: dict[Process, int]
    """The receivers who have not acknowledged it."""
    dep: int
    view: int
    """How many tellings there had been when it was said."""
    count: int
    payload: Any
    copies: dict[Process, tuple[Told, Constraint]] = {}
    """Once it has left, what they were sent, and the constraint that it is."""


class HybridAdaptive(Copies[Entry], Holding[Entry], Flushing[Entry]):
    """One process."""

    channels: dict[Process, AdaptiveChannel]  # type: ignore[assignment]

    def __init__(
        self,
        me: Process,
        incarnation: int = 0,
        *,
        group: Sequence[Process] = (),
        constraints: int = 8,
        unicast: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(me, incarnation, **settings)
        self.group = tuple(group)
        self.constraints_max = constraints
        self.unicast = unicast
        self.constraints = Constraints(me)
        self.m1 = self.u.next
        """The first message that has not left."""
        self.tellings: deque[tuple[Process, Telling]] = deque()
        """What was delivered and not taken in yet: that is done when a message leaves that was said after."""
        self.teller: Process | None = None
        """Who told all of that, if it was one."""
        self.told = 0
        """How many tellings have been taken in."""

    def _channel(self, peer: Process) -> AdaptiveChannel:
        channel = self.channels.get(peer)
        if channel is None:
            channel = self.channels[peer] = AdaptiveChannel(peer, self.pace)
        return channel

    def _audience(self, targets: Sequence[Process]) -> Sequence[Process]:
        if self.unicast and len(targets) != 1:
            raise Misuse(f"{type(self).__name__} sends to exactly one target, not to {len(targets)}")
        return super()._audience(targets)

    # ----------------------------------------------------------------------------------------------- to leave

    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        u, p, k, count = self.u, self.p, self.u.next, count_of(payload)
        previous: dict[Process, int] = {}
        for peer in others:
            channel = self.channels.get(peer) or self._channel(peer)
            previous[peer] = channel.last
            channel.last = k + count - 1
        entry = Entry(previous, previous.copy(), p.next, self.told + len(self.tellings), count, payload)
        u.add(entry, count)
        if not previous and u.first == k:
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
            if entry.waiting and not entry.copies:
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
        while u.first < self.m1 and not (entry := u.peek).waiting:
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
        on = self.constraints.on
        return bool(on) and any(len(on.get(peer, ())) > self.constraints_max for peer in entry.waiting)

    def _leave(self, k: int, entry: Entry, now: Nanoseconds, out: Effects) -> None:
        constraints, on, number = self.constraints, self.constraints.on, k + entry.count - 1
        leaving = []
        # First all of it, so that each copy names the others.
        for peer in entry.waiting:
            waits: tuple[Wait, ...] = ()
            if peer in on:
                waits = tuple([new(Wait, (by, it.number)) for by, it in on[peer].items()])
            leaving.append((peer, waits, constraints.sent(peer, number)))
        for peer, waits, own in leaving:
            channel, previous = self.channels[peer], entry.previous[peer]
            names, unnamed, named = constraints.chosen(peer, self.constraints_max - len(waits))
            if unnamed:
                channel.unnamed.append((unnamed, number))
            if named:
                channel.named.append((named, number))
            content = ((), self.incarnation, number, previous, waits, names, unnamed > 0, entry.payload)
            frame = new(Told, content)
            entry.copies[peer] = frame, own
            self._network_send(peer, frame, channel, now, out)

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
            if channel.polls or (channel.unacked and self._owes_acks(channel)):
                self._poll(source, channel, now, out)
            if self.asking:
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
            channel.cons.append(telling)
            self.teller = source if not self.tellings or self.teller == source else None
            self.tellings.append((source, telling))
        if opaque and number > channel.permitted:
            channel.missing = appended(channel.missing, number)
            self._miss((source, number))
        if (names or opaque) and not channel.permits.timed and self._wanted(channel) == number:
            channel.permits.timed, channel.permits.since = number, now
        deliver(source, incarnation, number, payload, out)

    # ----------------------------------------------------------------------------------------------- to learn

    def _learn(self, told: int) -> None:
        """Take in what was told, up to so many tellings in all."""
        while self.told < told:
            self.told += 1
            source, telling = self.tellings.popleft()
            if telling.done:
                continue
            for at, by, number in telling.names:
                if self.me not in (at, by) and at not in self.evicted and by not in self.evicted:
                    self.constraints.learn(at, by, number, source)

    def _heard(
        self, source: Process, channel: AdaptiveChannel, holds: Holds, now: Nanoseconds, out: Effects
    ) -> None:
        """Of what the peer told us, more is known to hold."""
        _, permitted, held = holds
        missing, cons, news = channel.missing, channel.cons, False
        if permitted > channel.permitted:
            channel.permitted = permitted
            while missing and missing[0] <= permitted:
                self._release((source, missing.popleft()), now, out)
                news = True
            if not missing:
                channel.missing = NONE
        if held > channel.held:
            channel.held = held
            while cons and cons[0].number <= held:
                self._fulfil(cons.popleft())
                news = True
        if not news:
            return
        channel.patience = 1
        timed = channel.permits.timed
        if timed and not ((missing and missing[0] <= timed) or (cons and cons[0].number <= timed)):
            channel.permits.ended(now)
        self._be_patient(source, channel, now, out)
        if channel.early:
            self._deliver_all([source], now, out)
        if self.constraints.news or self.asking or self.m1 < self.u.next:
            self._go_ahead(now, out)

    def _fulfil(self, telling: Telling) -> None:
        """All that it named holds."""
        telling.done = True
        self.constraints.hold(telling.names)
        while self.tellings and self.tellings[0][1].done:
            self.tellings.popleft()
            self.told += 1

    def _poll(self, peer: Process, channel: AdaptiveChannel, now: Nanoseconds, out: Effects) -> None:
        """If acks are missing that may not come by themselves, ask now and then, until that is over."""
        polls = self._owes_acks(channel)
        if polls != channel.polls:
            channel.polls = polls
            if polls or not self._impatient(channel):
                self._be_patient(peer, channel, now, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if type(timer) is Remind:
            channel = self.channels.get(timer.peer)
            if channel is not None and channel.unacked and not channel.flight.sent:
                # All came, and the first waits there; or its ack was lost.
                out.send((timer.peer,), self._again(timer.peer, channel, channel.unacked[0]))
        super().expire(timer, now, out)

    def _note_ack(self, entry: Entry, peer: Process) -> None:
        del entry.waiting[peer]
        frame, own = entry.copies.pop(peer)
        self.constraints.acknowledged(own)
        if frame.waits:
            self.constraints.hold([new(Name, (peer, by, number)) for by, number in frame.waits])
        if not entry.waiting:
            entry.payload = None

    # ------------------------------------------------------------------------------------------------ to tell

    def _go_ahead(self, now: Nanoseconds, out: Effects) -> None:
        """Tell what is to be told, and send what may leave."""
        if self.constraints.news:
            due: dict[Process, int] = {}
            self._settle(due)
            self._give(due, out)
        if self.asking:
            self._answer(out)
        if self.m1 < self.u.next:
            self._try_send(now, out)

    def _settle(self, due: dict[Process, int]) -> None:
        self._slide()
        for peer in self.constraints.settled():
            channel = self.channels.get(peer)
            if channel and (channel.unnamed or channel.named) and self._progress(peer, channel):
                due[peer] = channel.given

    def _progress(self, peer: Process, channel: AdaptiveChannel) -> bool:
        """Whether more is known to hold of what messages to the peer did not name, or named."""
        unnamed, named, news = channel.unnamed, channel.named, False
        below = channel.run = self.constraints.closed_below(peer, channel.run)
        while unnamed and unnamed[0][0] < below:
            _, channel.given = unnamed.popleft()
            news = True
        while named and named[0][0] < below:
            _, channel.holding = named.popleft()
            news = True
        return news

    def _give(self, due: dict[Process, int], out: Effects) -> None:
        for peer in due:
            channel = self.channels[peer]
            gone = self._untold(channel.known) if self.evicted else ()
            out.send((peer,), new(Holds, (gone, channel.given, channel.holding)))

    def _wanted(self, channel: Any) -> int:
        oldest: int = channel.missing[0] if channel.missing else 0
        if channel.cons and not 0 < oldest < channel.cons[0].number:
            oldest = channel.cons[0].number
        return oldest

    def _impatient(self, channel: Any) -> bool:
        return True if channel.missing or channel.cons else self._owes_acks(channel)

    def _owes_acks(self, channel: Any) -> bool:
        """Acks may wait, too: for one who is gone, or so long that nothing flies any more."""
        return bool(channel.unacked) and (channel.told < len(self.evicted) or not channel.flight.sent)

    def _covers(self, channel: Any, wanted: int) -> bool:
        return bool(wanted <= max(channel.given, channel.holding))

    def _with_news(self, message: Any, channel: Channel) -> Any:
        return message._replace(gone=self._untold(channel.known)) if self.evicted else message

    def _again(self, peer: Process, channel: Channel, number: int) -> Any:
        frame, _ = self.u[number].copies[peer]
        return self._with_news(frame, channel)

    # ------------------------------------------------------------------------------- permits that are missing

    def _release(self, key: Key, now: Nanoseconds, out: Effects) -> None:
        p = self.p
        if p.remove(key) == self.p2 or p.first >= self.p2:
            if p.first > self.p2:
                self.p2 = p.first
            if p.first < p.next:
                self._advance_p2()

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
            entry.previous.pop(peer, None)
            entry.waiting.pop(peer, None)
            if peer in entry.copies:
                _, own = entry.copies.pop(peer)
                self.constraints.acknowledged(own)
            if not entry.waiting:
                entry.payload = None
        u = self.u
        while self.m1 < u.next and ((entry := u[self.m1]).copies or not entry.waiting):
            self.m1 += entry.count

    # ---------------------------------------------------------------------------------------- to be looked at

    def _unsent_to(self, entry: Entry) -> Collection[Process]:
        return () if entry.copies else entry.waiting

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        return explanation(self, message_id)

    def gauges(self) -> Mapping[str, int]:
        return {
            **super().gauges(),
            "constraints": len(self.constraints.candidates),
            "tellings": sum(len(channel.cons) for channel in self.channels.values()),
        }
