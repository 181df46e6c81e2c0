"""What the hybrid-buffering algorithms have in common: the frame of one process.

Almeida (2026), section 5. A process keeps what it said in `u`, a sliding array indexed by message
number, until it and all before it are acknowledged; and in `p`, a sliding map, the messages it delivered
whose permits are missing. A message remembers in `dep` which permits were missing when it was said: those
with an index below. The algorithms differ in three decisions, the abstract methods below: when a message may
be network-sent, whether it then is flagged as needing a permit, and when that permit is given.

Model: an unreliable network (loss, duplication, any order); processes do not fail unless they are evicted;
nobody knows who else exists. With `retransmit` off the network has to be reliable, and no timer is armed.

Numbering: a message's number is its index in `u`, over *all* sends. What is for nobody else (R7: said to
oneself and delivered at once; R10: an empty audience) takes its number, too, as an entry that is network-sent
and acknowledged from the start: the indexes pass over it as over any such entry, and it holds nothing up.

Corrections (docs/corrections.md) that live here: R1 (numbers start at 1), R5 (a permit may come before its
message), R7, R9 (a repeated ack is no error), R10, R12 (cumulative acks and permits). An ack or permit counts
only on the channel of the peer it came from, so that nobody can acknowledge another's message.

Further deviations: one timer per peer, backing off while nothing comes back; an expiry sends again at most
`burst_max` of the oldest unacknowledged messages and one reminder. A message sent again is unflagged if its
permit was given meanwhile: the permit may have been lost as well. All buffers have bounds: `buffer_max` for
`u` (its length, acknowledged entries included, R13), then `send` raises Busy; `early_max` for what one peer
sends ahead of a gap, then frames are dropped to be sent again (not so with `retransmit` off).

Eviction. `peer_down(j)` is the word of an operator or detector that this incarnation of j will not come back.
Nothing is owed to j any more: what was said to it counts as acknowledged, and what is said to it from now on
reaches nobody. Nothing is expected of j any more: its missing permits count as given, and its frames are
dropped, what came early included. So nothing of this process ever waits for j. And an eviction travels ahead
of what was said without j's permits: until a peer is known to know, every message that leaves for it is News
and every permit PermitNews; both name j, and whoever receives one evicts j before it delivers or passes
anything on. That alone may not get through: all messages of those who know may wait for permits of one who
does not know, and waits for j. So whoever owes us permits is told by a Notice as well, at once and with every
reminder. What is promised, if all evict j in the end:
- between processes that are not evicted, everything stays as promised, for all messages but j's: each is
  delivered exactly once, in FIFO and in causal order, whatever passed through j;
- of j's own messages each process delivers a prefix of what j said to it; of a multicast of j's, some
  receivers may deliver their copy and others lose theirs;
- k delivers a message that follows one of j's, m' for k, either after m', or after it has evicted j; then
  it never delivers m'. So nothing is ever delivered in the wrong order (`causal_unless_lost`), but m' may be
  missing. No more can be had where flagged messages are delivered at once: docs/hybrid-buffering.md;
- to j, if it is alive after all, order and no more: it delivers nothing twice, and nothing after what follows
  it; but much may never come. Whoever could say to j what follows a message that j lacks has got a permit or
  a message that rests on j's eviction, and has evicted j by it. j retransmits to us in vain until it evicts
  us.
`peer_up(j)` makes room for a new incarnation of j, with fresh channels. The host sees to it that frames
between an old incarnation and a new one do not arrive, nor late News of the old one.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from aforesaid.core import (
    MILLISECOND,
    Busy,
    Effects,
    Explaining,
    MessageId,
    Nanoseconds,
    Payload,
    Process,
    Reason,
    Timer,
    Windowed,
)
from aforesaid.protocols.delivery.hybrid_explain import explanation
from aforesaid.protocols.delivery.hybrid_frames import (
    Ack,
    Channel,
    Msg,
    News,
    Notice,
    Permit,
    PermitNews,
    Resend,
    new_ack,
    new_message_id,
)
from aforesaid.structures import IndexableSlidingMap, SlidingArray


class Kept(Protocol):
    """What a process keeps of a message it said."""

    dep: int
    """Missing permits with an index below this were missing when the message was said. Never changed."""
    payload: Payload


E = TypeVar("E", bound=Kept)

Key = tuple[Process, int]
"""A message whose permit is missing: its sender and number."""


class HybridProcess(Windowed, Explaining, ABC, Generic[E]):
    """One process; E is what it keeps of a message it said."""

    receiver_exempt = False
    """A message does not wait for the permits of its own receiver, nor a permit for its receiver's acks."""
    overtaking = False
    """A message may leave before one that was said before it."""

    def __init__(
        self,
        me: Process,
        incarnation: int = 0,
        *,
        retransmit: bool = True,
        resend_after: Nanoseconds = 50 * MILLISECOND,
        backoff_max: int = 64,
        burst_max: int = 32,
        buffer_max: int = 1 << 20,
        early_max: int = 1 << 16,
    ) -> None:
        self.me = me
        self.incarnation = incarnation
        self.retransmit = retransmit
        self.resend_after = resend_after
        self.backoff_max = backoff_max
        self.burst_max = burst_max
        self.buffer_max = buffer_max
        self.early_max = early_max
        self.u: SlidingArray[E] = SlidingArray()
        """What was said here. The first entry is never acknowledged by all: it would have been removed."""
        self.p: IndexableSlidingMap[Key] = IndexableSlidingMap()
        self.channels: dict[Process, Channel] = {}
        self.evicted: dict[Process, None] = {}
        """Who is gone, in the order of their evictions."""

    # ------------------------------------------------------------------------- what the algorithms decide

    @abstractmethod
    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        """Enter the message into `u` and network-send what may be; `others` has neither me nor an evicted."""

    @abstractmethod
    def _note_ack(self, entry: E, peer: Process) -> None:
        """The peer acknowledged this message."""

    @abstractmethod
    def _settle(self, due: dict[Process, int]) -> None:
        """After acks: slide `u`, and note in `due`, by peer, the highest permit that can be given."""

    @abstractmethod
    def _release(self, key: Key, now: Nanoseconds, out: Effects) -> None:
        """A missing permit came: remove it from `p`, and network-send what now may be."""

    @abstractmethod
    def _forget(self, peer: Process) -> None:
        """The peer is evicted: what was said to it counts as network-sent and acknowledged."""

    @abstractmethod
    def _previous(self, entry: E, peer: Process) -> int: ...

    @abstractmethod
    def _unsent_to(self, entry: E) -> Collection[Process]:
        """The receivers to whom it is not network-sent yet."""

    @abstractmethod
    def _unacked_by(self, entry: E) -> Collection[Process]:
        """The receivers who have not acknowledged it, those to whom it is unsent included."""

    @abstractmethod
    def _receivers(self, entry: E) -> Collection[Process]: ...

    # -------------------------------------------------------------------------------------------- the port

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        """Say it to the targets; to oneself it is delivered at once. Busy, with nothing changed, if full."""
        others = self._audience(targets)
        u = self.u
        number = u.next
        if number - u.first >= self.buffer_max:
            raise Busy(f"{self.me} holds {number - u.first} messages, some not acknowledged: try again later")
        message_id = new_message_id((self.me, self.incarnation, number))
        self._say(others, payload, now, out)
        if self.me in targets:
            out.deliver(message_id, payload)
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        channel = self.channels.get(source)
        if channel is None:
            if source in self.evicted:
                return
            channel = self._channel(source)
        kind = type(message)
        if kind is Msg:
            self._arrived(source, channel, message, now, out)
        elif kind is Ack:
            self._acknowledged(source, channel, message, out)
        elif kind is Permit:
            self._permitted(source, channel, message.number, now, out)
        elif kind is News:
            self._evict(channel, message.gone, now, out)
            self._arrived(source, channel, message.message, now, out)
        elif kind is PermitNews:
            self._evict(channel, message.gone, now, out)
            self._permitted(source, channel, message.number, now, out)
        elif kind is Notice:
            # Its sender goes on telling us until our own News has told it that we know.
            self._evict_all(message.gone, now, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        peer = timer.peer
        channel = self.channels.get(peer)
        if channel is None or not channel.armed:
            return
        for number in islice(channel.unacked, self.burst_max):
            entry = self.u[number]
            flagged, previous = number > channel.given, self._previous(entry, peer)
            message = Msg(self.incarnation, number, previous, flagged, entry.payload)
            told = number in channel.news or not flagged
            out.send((peer,), self._with_news(message, channel) if told else message)
        if channel.missing:
            out.send((peer,), Ack(channel.delivered, channel.missing[0]))
            self._give_notice(peer, channel, out)
        channel.backoff = min(2 * channel.backoff, self.backoff_max)
        out.arm(timer, now + self.resend_after * channel.backoff)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        if peer in self.evicted:
            place = list(self.evicted).index(peer)
            del self.evicted[peer]
            for channel in self.channels.values():
                channel.forget(place)

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Evict the peer; see above for what is promised to whom from here on."""
        if peer == self.me:
            return
        self.evicted[peer] = None
        channel = self.channels.pop(peer, None)
        for name, other in self.channels.items():
            self._give_notice(name, other, out)
        if channel is None:
            return
        if channel.armed:
            out.disarm(Resend(peer))
        self._forget(peer)
        due: dict[Process, int] = {}
        self._settle(due)
        self._give(due, out)
        for number in channel.missing:
            self._release((peer, number), now, out)

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        return explanation(self, message_id)

    @property
    def stable_below(self) -> int:
        return self.u.first

    def lacking(self, number: int) -> Collection[Process]:
        return self._unacked_by(self.u[number])

    def owed(self, peer: Process) -> int:
        channel = self.channels.get(peer)
        return 0 if channel is None else len(channel.unacked)

    def retries(self, peer: Process) -> Sequence[Timer]:
        return (Resend(peer),)

    def gauges(self) -> Mapping[str, int]:
        channels = self.channels.values()
        return {
            "unsent": sum(len(self._unsent_to(entry)) for entry in self.u),
            "unacked": sum(len(channel.unacked) for channel in channels),
            "send_window": len(self.u),
            "missing_permits": len(self.p),
            "out_of_order": sum(len(channel.early) for channel in channels),
        }

    # ------------------------------------------------------------------------------------------- the parts

    def _audience(self, targets: Sequence[Process]) -> Sequence[Process]:
        """Each other process named, once."""
        evicted = self.evicted
        if len(targets) == 1 and targets[0] != self.me and not evicted:
            return targets
        return [peer for peer in dict.fromkeys(targets) if peer != self.me and peer not in evicted]

    def _channel(self, peer: Process) -> Channel:
        channel = self.channels.get(peer)
        if channel is None:
            channel = self.channels[peer] = Channel()
        return channel

    def _network_send(
        self, peer: Process, frame: Msg, channel: Channel, now: Nanoseconds, out: Effects
    ) -> None:
        """A message leaves for the first time; its flag is decided, and the channel's order kept."""
        channel.unacked.append(frame.number)
        if not frame.flagged:
            channel.given = frame.number
        if channel.known < len(self.evicted):
            channel.news[frame.number] = channel.told = len(self.evicted)
            out.send((peer,), self._with_news(frame, channel))
        else:
            out.send((peer,), frame)
        if not channel.armed and self.retransmit:
            self._arm(peer, channel, now, out)

    def _arrived(
        self, source: Process, channel: Channel, message: Msg, now: Nanoseconds, out: Effects
    ) -> None:
        number = message.number
        if not message.flagged and number > channel.permitted:
            self._permitted(source, channel, number, now, out)
        delivered = channel.delivered
        if number > delivered:
            previous = message.previous
            if previous != delivered:
                # A predecessor below what was delivered, or not below the message, is none.
                if delivered < previous < number and (
                    len(channel.early) < self.early_max or not self.retransmit
                ):
                    channel.early[previous] = message
                return
            self._deliver_in_order(source, channel, message, now, out)
        out.send((source,), new_ack((channel.delivered, 0)))

    def _deliver_in_order(
        self, source: Process, channel: Channel, message: Msg | None, now: Nanoseconds, out: Effects
    ) -> None:
        while message is not None:
            incarnation, number, _, flagged, payload = message
            channel.delivered = number
            # The permit is missing from before the delivery on: what the application answers depends on it.
            if flagged and number > channel.permitted:
                channel.missing.append(number)
                self._miss((source, number))
            out.deliver(new_message_id((source, incarnation, number)), payload)
            message = channel.early.pop(number, None) if channel.early else None
        self._give_notice(source, channel, out)
        if channel.missing and not channel.armed and self.retransmit:
            self._arm(source, channel, now, out)

    def _evict(self, channel: Channel, gone: tuple[Process, ...], now: Nanoseconds, out: Effects) -> None:
        """A peer tells who is gone, and need not be told."""
        self._evict_all(gone, now, out)
        if set(self._untold(channel.told)) <= set(gone):
            channel.told = channel.known = len(self.evicted)

    def _evict_all(self, gone: tuple[Process, ...], now: Nanoseconds, out: Effects) -> None:
        for peer in gone:
            if peer not in self.evicted:
                self.peer_down(peer, now, out)

    def _untold(self, count: int) -> tuple[Process, ...]:
        """Who is gone besides the first so many."""
        return tuple(islice(self.evicted, count, None))

    def _with_news(self, message: Msg, channel: Channel) -> Msg | News:
        gone = self._untold(channel.known)
        return News(gone, message) if gone else message

    def _give_notice(self, peer: Process, channel: Channel, out: Effects) -> None:
        """Tell who is gone to whom we wait for: it may wait for one of them."""
        if channel.told < len(self.evicted) and channel.missing:
            out.send((peer,), Notice(self._untold(channel.told)))

    def _miss(self, key: Key) -> None:
        self.p.add(key)

    def _acknowledged(self, source: Process, channel: Channel, ack: Ack, out: Effects) -> None:
        number, wanted = ack
        unacked = channel.unacked
        due: dict[Process, int] = {}
        # A number that was never sent on this channel is nobody's ack.
        if unacked and unacked[0] <= number <= unacked[-1]:
            u = self.u
            while unacked and unacked[0] <= number:
                self._note_ack(u[unacked.popleft()], source)
            if channel.news:
                channel.heard(number)
            channel.backoff = 1
            self._settle(due)
            if channel.armed and not unacked and not channel.missing:
                channel.armed = False
                out.disarm(Resend(source))
        if 0 < wanted <= channel.given:
            due[source] = channel.given
        if due:
            self._give(due, out)

    def _give(self, due: dict[Process, int], out: Effects) -> None:
        for peer, number in due.items():
            gone = self._untold(self.channels[peer].known)
            out.send((peer,), PermitNews(gone, number) if gone else Permit(number))

    def _permitted(
        self, source: Process, channel: Channel, number: int, now: Nanoseconds, out: Effects
    ) -> None:
        if number <= channel.permitted:
            return
        channel.permitted = number
        missing = channel.missing
        if not missing or missing[0] > number:
            return
        channel.backoff = 1
        while missing and missing[0] <= number:
            self._release((source, missing.popleft()), now, out)
        if channel.armed and not missing and not channel.unacked:
            channel.armed = False
            out.disarm(Resend(source))

    def _arm(self, peer: Process, channel: Channel, now: Nanoseconds, out: Effects) -> None:
        channel.armed = True
        channel.backoff = 1
        out.arm(Resend(peer), now + self.resend_after)
