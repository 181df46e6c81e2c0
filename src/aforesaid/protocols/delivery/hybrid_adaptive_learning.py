"""What a process learns from others and tells them, in adaptive hybrid buffering.

It learns constraints from the messages that name them, and that they hold from Holds; what was delivered is
taken in when a message leaves that was said after (`tellings`). It tells each peer how far all holds that
messages to it named, and did not name, as soon as it is known; and asks for acks that may not come by
themselves.
"""

from abc import abstractmethod
from collections import deque
from typing import Any

from aforesaid.core import Effects, Nanoseconds, Process, Timer, new
from aforesaid.protocols.delivery.hybrid_adaptive_eviction import Flushing
from aforesaid.protocols.delivery.hybrid_adaptive_frames import AdaptiveChannel, Holds, Telling
from aforesaid.protocols.delivery.hybrid_adaptive_held import Holding
from aforesaid.protocols.delivery.hybrid_constraints import Constraints
from aforesaid.protocols.delivery.hybrid_frames import Channel, Remind
from aforesaid.protocols.delivery.hybrid_process import E, Key
from aforesaid.protocols.repair import NONE


class Learning(Holding[E], Flushing[E]):
    """What it knows, and who has to be told."""

    def __init__(self, me: Process, incarnation: int = 0, *, constraints: int = 8, **settings: Any) -> None:
        super().__init__(me, incarnation, **settings)
        self.constraints = Constraints(me, constraints)
        self.tellings: deque[tuple[Process, Telling]] = deque()
        """What was delivered and not taken in yet: that is done when a message leaves that was said after."""
        self.teller: Process | None = None
        """Who told all of that, if it was one."""
        self.told = 0
        """How many tellings have been taken in."""

    @abstractmethod
    def _try_send(self, now: Nanoseconds, out: Effects) -> None:
        """Network-send what may leave."""

    @abstractmethod
    def _slide(self) -> None:
        """Forget what all have acknowledged."""

    def _channel(self, peer: Process) -> AdaptiveChannel:
        channel = self.channels.get(peer)
        if channel is None:
            channel = self.channels[peer] = AdaptiveChannel(peer, self.pace)
        return channel

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
            if not cons:
                channel.cons = NONE
        if not news:
            return
        channel.patience = 1
        permits = channel.permits
        if permits.timed < 0:
            permits.guessed(now)
        elif permits.timed and not 0 < self._wanted(channel) <= permits.timed:
            permits.ended(now)
        self._be_patient(source, channel, now, out)
        if channel.early:
            self._deliver_all([source], now, out)
        if self.constraints.news or self.questions.asking or self.m1 < self.u.next:
            self._go_ahead(now, out)

    def _fulfil(self, telling: Telling) -> None:
        """All that it named holds."""
        telling.done = True
        self.constraints.hold(telling.names)
        while self.tellings and self.tellings[0][1].done:
            self.tellings.popleft()
            self.told += 1

    def _release(self, key: Key, now: Nanoseconds, out: Effects) -> None:
        p = self.p
        if p.remove(key) == self.p2 or p.first >= self.p2:
            if p.first > self.p2:
                self.p2 = p.first
            if p.first < p.next:
                self._advance_p2()

    # ------------------------------------------------------------------------------------------------ to tell

    def _go_ahead(self, now: Nanoseconds, out: Effects) -> None:
        """Tell what is to be told, and send what may leave."""
        if self.constraints.news:
            due: dict[Process, int] = {}
            self._settle(due)
            self._give(due, out)
        if self.questions.asking:
            self._answer(out)
        if self.m1 < self.u.next:
            self._try_send(now, out)

    def _settle(self, due: dict[Process, int]) -> None:
        self._slide()
        for peer in self.constraints.settled():
            channel = self.channels.get(peer)
            if channel is None or not (channel.unnamed or channel.named):
                continue
            if self._progress(peer, channel):
                due[peer] = channel.given

    def _progress(self, peer: Process, channel: AdaptiveChannel) -> bool:
        """Whether more is known to hold of what messages to the peer did not name, or named."""
        unnamed, named, news = channel.unnamed, channel.named, False
        below = channel.run = self.constraints.closed_below(peer, channel.run)
        while unnamed and unnamed[0][0] < below:
            _, channel.given = unnamed.popleft()
            news = True
            if not unnamed:
                channel.unnamed = NONE
        while named and named[0][0] < below:
            _, channel.holding = named.popleft()
            news = True
            if not named:
                channel.named = NONE
        return news

    def _give(self, due: dict[Process, int], out: Effects) -> None:
        for peer in due:
            channel = self.channels[peer]
            gone = self._untold(channel.known) if self.evicted else ()
            out.send((peer,), new(Holds, (gone, channel.given, channel.holding)))

    def _with_news(self, message: Any, channel: Channel) -> Any:
        return message._replace(gone=self._untold(channel.known)) if self.evicted else message

    # ------------------------------------------------------------------------------------------------- to ask

    def _poll(self, peer: Process, channel: AdaptiveChannel, now: Nanoseconds, out: Effects) -> None:
        """If acks are missing that may not come by themselves, ask now and then, until that is over."""
        polls = self._owes_acks(channel)
        if polls != channel.polls:
            channel.polls = polls
            if polls or not self._impatient(channel):
                self._be_patient(peer, channel, now, out)

    def _be_patient(self, peer: Process, channel: Any, now: Nanoseconds, out: Effects) -> None:
        channel.polls = self._owes_acks(channel)
        super()._be_patient(peer, channel, now, out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        if type(timer) is Remind:
            channel = self.channels.get(timer.peer)
            if channel is not None:
                # If something flies it does not ask now, and has to begin to ask again when that has come.
                channel.polls = self._owes_acks(channel)
                if channel.unacked and not channel.flight.sent:
                    # All came, and the first waits there; or its ack was lost.
                    out.send((timer.peer,), self._again(timer.peer, channel, channel.unacked[0]))
        super().expire(timer, now, out)

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
