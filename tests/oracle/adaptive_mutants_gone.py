"""Mutants of adaptive hybrid buffering: evictions, and what gets lost."""

from typing import Any

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Flushed


class TakesItOnTrust(HybridAdaptive):
    """What the gone one told counts as holding at once."""

    def _expect_no_more(self, peer: str, channel: Any, now: int, out: Any) -> None:
        for number in channel.missing:
            self._release((peer, number), now, out)
        for telling in channel.cons:
            self._fulfil(telling)


class AnswersAtOnce(HybridAdaptive):
    """Who is asked whether all is delivered says yes."""

    def _asked(self, source: str, channel: Any, number: int, out: Any) -> None:
        out.send((source,), Flushed(self._untold(channel.known), number))


class UnsentCounts(HybridAdaptive):
    """Who is asked answers when all that it has said is delivered, unsent or not."""

    def _asked(self, source: str, channel: Any, number: int, out: Any) -> None:
        if number > channel.flush:
            channel.flush, channel.flush_until = number, self.u.next
        super()._asked(source, channel, number, out)


class AsksAcquaintances(HybridAdaptive):
    """Only those are asked whom one has heard of."""

    def _flush(self, *arguments: Any) -> None:
        asked = self.questions
        group, asked.group = asked.group, tuple(self.channels)
        super()._flush(*arguments)
        asked.group = group


class AsksInVain(HybridAdaptive):
    """Who owes an answer is not told who else is gone."""

    def _ask_without(self, peer: str, now: int, out: Any) -> None:
        asked = self.questions
        old = {other for it in asked.rounds if it.number < asked.number for other in it.waiting}
        ask = super()._ask
        self._ask = lambda peers, now, out: ask({p: None for p in peers if p not in old}, now, out)  # type: ignore[method-assign]
        super()._ask_without(peer, now, out)
        del self._ask


class AsksOnce(HybridAdaptive):
    """Who does not answer is not asked again."""

    def _ask(self, peers: Any, now: int, out: Any) -> None:
        self.retransmit, retransmit = False, self.retransmit
        super()._ask(peers, now, out)
        self.retransmit = retransmit


class Silent(HybridAdaptive):
    """Messages do not tell of an eviction."""

    def _network_send(self, peer: str, frame: Any, channel: Any, now: int, out: Any) -> None:
        channel.known = len(self.evicted)
        super()._network_send(peer, frame, channel, now, out)


class LastAckLost(HybridAdaptive):
    """Who owes acks is told of an eviction, but not asked again when all came."""

    def _impatient(self, channel: Any) -> bool:
        if channel.unacked and not channel.flight.sent and channel.told == len(self.evicted):
            return bool(channel.missing or channel.cons)
        return super()._impatient(channel)


class WaitsForTheGone(HybridAdaptive):
    """What waits for a message of one who is gone goes on waiting."""

    def _ready(self, source: str, channel: Any, message: Any) -> bool:
        evicted, self.evicted = self.evicted, {}
        ready = super()._ready(source, channel, message)
        self.evicted = evicted
        return ready


class ListensToTheGone(HybridAdaptive):
    """What the gone one says is heard."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        evicted = self.evicted
        self.evicted = {peer: None for peer in evicted if peer != source}
        super().receive(source, message, now, out)
        self.evicted = evicted
