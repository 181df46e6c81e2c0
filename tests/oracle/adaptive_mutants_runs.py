"""Mutants of adaptive hybrid buffering: a run is taken for a message in one place, and not in another."""

from typing import Any

from aforesaid.core import Run
from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from oracle.run_mutants import AcksOfAPart


class TellsOfTheFirst(HybridAdaptive):
    """Holds is for the first message of a run, and there is no other."""

    def _leave(self, k: int, entry: Any, now: int, out: Any) -> None:
        super()._leave(k, entry, now, out)
        for peer in entry.waiting:
            channel = self.channels[peer]
            for queue in (channel.unnamed, channel.named):
                if queue and queue[-1][1] == k + entry.count - 1:
                    queue[-1] = queue[-1][0], k


class KnowsNothing(HybridAdaptive):
    """A run is said as if nothing had been told before."""

    def _unnamable(self, entry: Any) -> bool:
        if entry.count > 1:
            entry.view = self.told
        return super()._unnamable(entry)


class NeedsNoPermit(HybridAdaptive):
    """A run waits for no permits."""

    def _unpermitted(self, entry: Any) -> bool:
        return entry.count == 1 and super()._unpermitted(entry)


class NobodyIsNamed(HybridAdaptive):
    """The copies of a run do not name each other, nor what follows them the run."""

    def _leave(self, k: int, entry: Any, now: int, out: Any) -> None:
        super()._leave(k, entry, now, out)
        if entry.count > 1:
            for _, own in entry.waiting.values():
                self.constraints.acknowledged(own)


class AcknowledgesAPart(HybridAdaptive):
    """A run is acknowledged but for its last message."""

    def _arrived(self, source: str, channel: Any, message: Any, now: int, out: Any) -> None:
        parts = {message.number} if type(message.payload) is Run else set()
        super()._arrived(source, channel, message, now, AcksOfAPart(out, parts))


class SplitByABatch(HybridAdaptive):
    """A step that was long enough ends in a run: the next one begins in the middle of it."""

    def _put_off(self, k: int, now: int, out: Any) -> None:
        super()._put_off(k, now, out)
        self.m1 -= self.u[k - 1].count > 1 if k > self.u.first else 0


class SentAgainInPart(HybridAdaptive):
    """Of a run that is lost, the last message goes again."""

    def _again(self, peer: str, channel: Any, number: int) -> Any:
        frame = super()._again(peer, channel, number)
        return frame._replace(payload=frame.payload[-1]) if type(frame.payload) is Run else frame


class OnePlaceForTheGone(HybridAdaptive):
    """What was for the evicted alone counts as sent, and as one message each."""

    def _forget(self, peer: str) -> None:
        m1, u = self.m1, self.u
        super()._forget(peer)
        self.m1 = m1 + len({id(u[k]) for k in range(m1, self.m1)})


class LastRunNotFlushed(HybridAdaptive):
    """Who is asked whether all that it has sent is delivered leaves out the run that it sent last."""

    def _asked(self, source: str, channel: Any, number: int, out: Any) -> None:
        u, m1 = self.u, self.m1
        if m1 > u.first and (count := u[m1 - 1].count) > 1:
            self.m1 = m1 - count
        super()._asked(source, channel, number, out)
        self.m1 = m1
