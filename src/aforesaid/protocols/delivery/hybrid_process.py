"""What the hybrid-buffering algorithms have in common: the frame of one process.

Almeida (2026), section 5. A process keeps what it said in `u`, a sliding array indexed by message
number, until it and all before it are acknowledged; and in `p`, a sliding map, the messages it delivered
whose permits are missing. A message remembers in `dep` which permits were missing when it was said: those
with an index below. Here is what they say, send, repair and count; what a message tells its receiver, and how
it is heard, is in `hybrid_flagged` for one bit, and in `hybrid_adaptive` for named constraints.

Model: an unreliable network (loss, duplication, any order); processes do not fail unless they are evicted;
nobody knows who else exists. With `retransmit` off the network has to be reliable, and no timer is armed.

Numbering: a message's number is its index in `u`, over *all* sends. What is for nobody else (R7: said to
oneself and delivered at once; R10: an empty audience) takes its number, too, as an entry that is network-sent
and acknowledged from the start: the indexes pass over it as over any such entry, and it holds nothing up.

Corrections (docs/corrections.md) that live here: R1 (numbers start at 1), R7, R9 (a repeated ack is no
error), R10, R12 (cumulative acks). An ack or permit counts only on the channel of the peer it came from, so
that nobody can acknowledge another's message.

Further deviations: what is sent again, when, and how much may be on its way at once, is decided in `repair`,
by peer. To be network-sent is to be handed over to it: what has to wait there might as well be on a slow
network. Who owes permits is reminded when they take longer than usual. All buffers have bounds: `buffer_max`
for `u` (its length, acknowledged entries included, R13), then `send` raises Busy; `early_max` for what one
peer sends ahead of a gap, then frames are dropped to be sent again (not so with `retransmit` off).

What an eviction means, and what is promised then: `hybrid_eviction`. How steps stay short: `hybrid_batches`.
Where a message is spoken of here, it may be a run of several: `hybrid_runs`.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from aforesaid.core import (
    MILLISECOND,
    Busy,
    Effects,
    Explaining,
    InRuns,
    MessageId,
    Nanoseconds,
    Payload,
    Process,
    Reason,
    Repairing,
    Timer,
    Windowed,
    new,
)
from aforesaid.protocols.delivery.hybrid_frames import REMIND, Ack, Channel, Continue, Early, Remind
from aforesaid.protocols.delivery.hybrid_groups import Grouped
from aforesaid.protocols.delivery.hybrid_runs import count_of, deliver, run_of
from aforesaid.protocols.repair import NONE, Pace, Resend, Tally
from aforesaid.structures import IndexableSlidingMap, SlidingArray


class Kept(Protocol):
    """What a process keeps of a message it said."""

    dep: int
    """Missing permits with an index below this were missing when the message was said. Never changed."""
    count: int
    """How many messages it is: the places that it takes in `u`."""
    payload: Payload


E = TypeVar("E", bound=Kept)

Key = tuple[Process, int]
"""A message whose permit is missing: its sender and number."""


class HybridProcess(Grouped, Windowed, InRuns, Explaining, Repairing, Generic[E]):
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
        backoff_max: int = 8,
        in_flight: int = 32,
        ordered: bool = False,
        buffer_max: int = 1 << 20,
        early_max: int = 1 << 16,
        batch: int = 256,
    ) -> None:
        super().__init__(batch)
        self.me = me
        self.incarnation = incarnation
        self.retransmit = retransmit
        self.pace = Pace(resend_after, backoff_max, in_flight, Tally(), ordered)
        self.buffer_max = buffer_max
        self.early_max = early_max
        self.u: SlidingArray[E] = SlidingArray()
        """What was said here. The first entry is never acknowledged by all: it would have been removed."""
        self.p: IndexableSlidingMap[Key] = IndexableSlidingMap()

    # ------------------------------------------------------------------------- what the algorithms decide

    @abstractmethod
    def _say(self, others: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> None:
        """Enter the message into `u` and network-send what may be; `others` has neither me nor an evicted.
        The payload may be a Run."""

    @abstractmethod
    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None: ...

    @abstractmethod
    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]: ...

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
    def _again(self, peer: Process, channel: Channel, number: int) -> Any:
        """A message as it leaves later than it was handed over, or once more."""

    @abstractmethod
    def _wanted(self, channel: Channel) -> int:
        """The oldest message of the peer of which more is to be told; 0: none."""

    @abstractmethod
    def _covers(self, channel: Channel, wanted: int) -> bool:
        """Whether there is something to answer to a reminder."""

    @abstractmethod
    def _expect_no_more(self, peer: Process, channel: Channel, now: Nanoseconds, out: Effects) -> None:
        """The peer is evicted: what it owed counts as given."""

    @abstractmethod
    def _unsent_to(self, entry: E) -> Collection[Process]:
        """The receivers to whom it is not network-sent yet."""

    @abstractmethod
    def _unacked_by(self, entry: E) -> Collection[Process]:
        """The receivers who have not acknowledged it, those to whom it is unsent included."""

    # -------------------------------------------------------------------------------------------- the port

    def send(self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        """Say it to the targets; to oneself it is delivered at once. Busy, with nothing changed, if full."""
        alone = len(targets) == 1 and targets[0] != self.me and not self.evicted and not self.leaving
        others = targets if alone else self._audience(targets)
        u = self.u
        number = u.next + count_of(payload) - 1
        if number - u.first >= self.buffer_max:
            raise Busy(f"{self.me} holds {len(u)} messages, some not acknowledged: try again later")
        self._say(others, payload, now, out)
        if not alone and self.me in targets:
            deliver(self.me, self.incarnation, number, payload, out)
        return new(MessageId, (self.me, self.incarnation, number))

    def send_run(
        self, targets: Sequence[Process], payloads: Sequence[Payload], now: Nanoseconds, out: Effects
    ) -> MessageId:
        return self.send(targets, run_of(payloads), now, out)

    def _say_own(
        self, targets: Sequence[Process], payload: Payload, now: Nanoseconds, out: Effects
    ) -> MessageId:
        message_id = MessageId(self.me, self.incarnation, self.u.next)
        self._say(targets, payload, now, out)
        return message_id

    @property
    def _all_acknowledged(self) -> bool:
        return self.u.first == self.u.next

    @property
    def _permits_missing(self) -> bool:
        return self.p.first < self.p.next

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if type(timer) is Continue:
            self._continue(now, out)
            self._leave_if_drained(now, out)
            return
        peer = timer.peer
        channel = self.channels.get(peer)
        if channel is None:
            return
        if type(timer) is Resend:
            if channel.unacked:
                channel.flight.expired(now)
                self._go_on(peer, channel, now, out)
        elif self._impatient(channel):
            out.send((peer,), Ack(channel.delivered, self._wanted(channel)))
            self._give_notice(peer, channel, out)
            channel.permits.asked(now)
            channel.patience = min(2 * channel.patience, self.pace.backoff_max)
            self._be_patient(peer, channel, now, out)

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        """Evict the peer."""
        if peer == self.me:
            return
        fresh = peer not in self.evicted
        self._forget_all_of(peer, now, out)
        if fresh:
            self._pass_on(peer, now, out)

    def _forget_all_of(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self.evicted[peer] = None
        channel = self.channels.pop(peer, None)
        for name, other in self.channels.items():
            self._give_notice(name, other, out)
        if channel is None:
            return
        out.disarm(Resend(peer))
        out.disarm(Remind(peer))
        self.behind.pop(peer, None)
        self._forget(peer)
        self._settle_and_give({}, now, out)
        self._expect_no_more(peer, channel, now, out)

    @property
    def next_number(self) -> int:
        return self.u.next

    @property
    def room(self) -> int:
        u = self.u
        return self.buffer_max - u.next + u.first

    @property
    def stable_below(self) -> int:
        return self.u.first

    def lacking(self, number: int) -> Collection[Process]:
        return self._unacked_by(self.u[number])

    def owed(self, peer: Process) -> int:
        channel = self.channels.get(peer)
        return 0 if channel is None else sum(self.u[number].count for number in channel.unacked)

    def retries(self, peer: Process) -> Sequence[Timer]:
        return (Resend(peer), Remind(peer))

    @property
    def resent(self) -> int:
        return self.pace.again.count

    def gauges(self) -> Mapping[str, int]:
        channels = self.channels.values()
        return {
            "unsent": sum(len(self._unsent_to(entry)) for entry in self.u),
            "unacked": sum(map(self.owed, self.channels)),
            "send_window": len(self.u),
            "missing_permits": len(self.p),
            "out_of_order": sum(len(channel.early or ()) for channel in channels),
        }

    # ------------------------------------------------------------------------------------------- the parts

    def _audience(self, targets: Sequence[Process]) -> Sequence[Process]:
        """Each other process named, once."""
        return [peer for peer in dict.fromkeys(targets) if self._may_hear(peer)]

    def _may_hear(self, peer: Process) -> bool:
        return peer != self.me and peer not in self.evicted and peer not in self.leaving

    def _channel(self, peer: Process) -> Channel:
        channel = self.channels.get(peer)
        if channel is None:
            channel = self.channels[peer] = Channel(peer, self.pace)
        return channel

    def _network_send(
        self, peer: Process, frame: Any, channel: Channel, now: Nanoseconds, out: Effects
    ) -> None:
        """A message leaves for the first time; its flag is decided, and the channel's order kept."""
        number = frame.number
        if channel.unacked:
            channel.unacked.append(number)
        else:
            channel.unacked = deque((number,))
        if self.evicted and channel.known < len(self.evicted):
            channel.tell(number, len(self.evicted))
            frame = self._with_news(frame, channel)
        if not self.retransmit or channel.flight.enter(number, now, out):
            out.send((peer,), frame)

    def _go_on(self, peer: Process, channel: Channel, now: Nanoseconds, out: Effects) -> None:
        """Send what is lost, or had to wait, as far as it may leave now."""
        flight = channel.flight
        for _ in range(self.batch):
            number = flight.next(now)
            if not number:
                flight.watch(out)
                return
            out.send((peer,), self._again(peer, channel, number))
        flight.ring(now, out)

    def _came_early(self, source: Process, channel: Channel, message: Any, out: Effects) -> None:
        early = channel.early
        if early is None:
            early = channel.early = {}
        if not self.retransmit:
            early[message.previous] = message
        elif len(early) < self.early_max or message.previous in early:
            early[message.previous] = message
            out.send((source,), Early(channel.delivered, message.number))

    def _miss(self, key: Key) -> None:
        self.p.add(key)

    def _acknowledged(
        self, source: Process, channel: Channel, ack: Ack | Early, now: Nanoseconds, out: Effects
    ) -> None:
        number, other = ack
        flight, unacked, u = channel.flight, channel.unacked, self.u
        numbers = [other] if other and type(ack) is Early and other in flight.sent else []
        due: dict[Process, int] = {}
        # A number that was never sent on this channel is nobody's ack.
        if unacked and unacked[0] <= number < (flight.queue[0] if flight.queue else unacked[-1] + 1):
            while unacked and unacked[0] <= number:
                acked = unacked.popleft()
                numbers.append(acked)
                self._note_ack(u[acked], source)
            channel.unacked = unacked or NONE
            if channel.news:
                channel.heard(number)
            self._settle(due)
            if self.unsettled:
                out.arm(Continue(), now)
        if other and type(ack) is Ack and self._covers(channel, other):
            due[source] = channel.given
        if due:
            self._give(due, out)
        if numbers and self.retransmit and flight.came(numbers, now, out):
            self._go_on(source, channel, now, out)

    def _be_patient(self, peer: Process, channel: Channel, now: Nanoseconds, out: Effects) -> None:
        """Until the peer is reminded of the permits it owes."""
        if not self._impatient(channel):
            out.disarm(new(Remind, (peer, REMIND)))
        elif self.retransmit:
            wait = channel.permits.patient(self.pace.resend_after, channel.patience)
            out.arm(new(Remind, (peer, REMIND)), now + wait)
