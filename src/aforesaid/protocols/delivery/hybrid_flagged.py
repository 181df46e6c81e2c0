"""The hybrid-buffering algorithms whose messages carry one bit: the flag, and the permits that it asks for.

Almeida (2026), section 5. They differ in three decisions: when a message may be network-sent, whether it then
is flagged as needing a permit, and when that permit is given. Here is the receiver's half, which is the same
for all: deliver in the order of the channel, acknowledge, and keep in `p` what is not permitted.

Corrections (docs/corrections.md) that live here: R5 (a permit may come before its message), R12 (permits are
cumulative). A message that leaves late or again is unflagged if its permit was given meanwhile: the permit
may have been lost as well.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Collection
from typing import Any

from aforesaid.core import Effects, MessageId, Nanoseconds, Process, Reason, new
from aforesaid.protocols.delivery.hybrid_explain import explanation
from aforesaid.protocols.delivery.hybrid_frames import (
    Ack,
    Channel,
    Early,
    Msg,
    News,
    Notice,
    Permit,
    PermitNews,
)
from aforesaid.protocols.delivery.hybrid_groups import Roster
from aforesaid.protocols.delivery.hybrid_process import E, HybridProcess
from aforesaid.protocols.delivery.hybrid_runs import deliver


class Flagged(HybridProcess[E]):
    """One process; E is what it keeps of a message it said."""

    @abstractmethod
    def _previous(self, entry: E, peer: Process) -> int: ...

    @abstractmethod
    def _receivers(self, entry: E) -> Collection[Process]: ...

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        channel = self.channels.get(source)
        if channel is None:
            if source in self.evicted or self._is_stranger(source):
                self._answer_last_word(source, message, out)
                return
            channel = self._channel(source)
        kind = type(message)
        if kind is Msg:
            self._arrived(source, channel, message, now, out)
        elif kind is Ack or kind is Early:
            self._acknowledged(source, channel, message, now, out)
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
        if self.news or self._draining:
            self._take_news(now, out)

    def _answer_last_word(self, source: Process, message: Any, out: Effects) -> None:
        """Who has left in order may not have heard that its last word came."""
        last = message.message if type(message) is News else message
        if type(last) is Msg and type(last.payload) is Roster and source in last.payload.gone:
            out.send((source,), Ack(last.number, 0))

    def _arrived(
        self, source: Process, channel: Channel, message: Msg, now: Nanoseconds, out: Effects
    ) -> None:
        _, number, previous, flagged, _ = message
        if not flagged and number > channel.permitted:
            if channel.missing:
                self._permitted(source, channel, number, now, out)
            else:
                channel.permitted = number
        delivered = channel.delivered
        if number > delivered:
            if previous != delivered:
                # A predecessor below what was delivered, or not below the message, is none.
                if delivered < previous < number:
                    self._came_early(source, channel, message, out)
                return
            self._deliver(source, channel, message, now, out)
            if channel.early is not None:
                self._deliver_early(source, channel, channel.early, now, out)
            if self.evicted:
                self._give_notice(source, channel, out)
        out.send((source,), new(Ack, (channel.delivered, 0)))

    def _deliver(
        self, source: Process, channel: Channel, message: Msg, now: Nanoseconds, out: Effects
    ) -> None:
        incarnation, number, _, flagged, payload = message
        channel.delivered = number
        # The permit is missing from before the delivery on: what the application answers depends on it.
        if flagged and number > channel.permitted:
            if not channel.permits.timed:
                channel.permits.timed, channel.permits.since = number, now
            self._miss((source, number))
            if channel.missing:
                channel.missing.append(number)
            else:
                channel.missing = deque((number,))
                self._be_patient(source, channel, now, out)
        if type(payload) is Roster:
            self.news.append((source, payload))
        else:
            deliver(source, incarnation, number, payload, out)

    def _deliver_early(
        self, source: Process, channel: Channel, early: dict[int, Msg], now: Nanoseconds, out: Effects
    ) -> None:
        """What follows the last delivered, and came before it."""
        while message := early.pop(channel.delivered, None):
            self._deliver(source, channel, message, now, out)
        channel.early = early or None

    def _permitted(
        self, source: Process, channel: Channel, number: int, now: Nanoseconds, out: Effects
    ) -> None:
        if number <= channel.permitted:
            return
        channel.permitted = number
        missing = channel.missing
        if not missing or missing[0] > number:
            return
        channel.patience = 1
        permits = channel.permits
        if 0 < permits.timed <= number:
            permits.ended(now)
        elif permits.timed < 0:
            permits.guessed(now)
        self._release_permitted(source, channel, now, out)
        self._be_patient(source, channel, now, out)

    def _again(self, peer: Process, channel: Channel, number: int) -> Any:
        """A message as it leaves later than it was handed over, or once more."""
        entry = self.u[number]
        flagged, previous = number > channel.given, self._previous(entry, peer)
        message = new(Msg, (self.incarnation, number, previous, flagged, entry.payload))
        told = not flagged or (channel.news is not None and number in channel.news)
        return self._with_news(message, channel) if told else message

    # ------------------------------------------------------------------------------ what is owed by whom

    def _wanted(self, channel: Channel) -> int:
        """The oldest message of the peer whose permit is missing; 0: none."""
        return channel.missing[0] if channel.missing else 0

    def _impatient(self, channel: Channel) -> bool:
        return bool(channel.missing)

    def _covers(self, channel: Channel, wanted: int) -> bool:
        """Whether there is something to answer to a reminder."""
        return wanted <= channel.given

    def _expect_no_more(self, peer: Process, channel: Channel, now: Nanoseconds, out: Effects) -> None:
        """The peer is evicted: the permits it owed count as given."""
        for number in channel.missing:
            self._release((peer, number), now, out)

    def reasons(self, message_id: MessageId) -> tuple[Reason, ...]:
        return explanation(self, message_id)
