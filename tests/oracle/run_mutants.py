"""Mutants of runs: an algorithm that takes a run for a message in one place, and not in another.

Each is a shipped algorithm with one rule of `hybrid_runs` left out.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from aforesaid.core import Run
from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_frames import Ack, Channel, Msg
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from oracle.world import Build
from support.harness import Passing


class NumberOfTheFirst(HybridSps):
    """A run is sent under the number of its first message: an ack of it acknowledges only that."""

    def _network_send(self, peer: str, frame: Msg, channel: Channel, now: int, out: Any) -> None:
        count = len(frame.payload) if type(frame.payload) is Run else 1
        super()._network_send(peer, frame._replace(number=frame.number - count + 1), channel, now, out)


class IndexInTheMiddle(HybridSps):
    """What was said last is counted as one message: u2 stays in the middle of a run."""

    def _say(self, others: Sequence[str], payload: Any, now: int, out: Any) -> None:
        super()._say(others, payload, now, out)
        if type(payload) is Run and self.u2 == self.u.next:
            self.u2 -= len(payload) - 1


class PermitsAPart(HybridMulticast):
    """The permit is for the first message of a run, and there is no other."""

    def _permit(self, peer: str, number: int, due: dict[str, int]) -> None:
        entry = self.u[number] if number >= self.u.first else None
        super()._permit(peer, number - (entry.count - 1 if entry else 0), due)


class BackToFront(HybridInOrder):
    """The last part of a run is delivered first."""

    def _deliver(self, source: str, channel: Channel, message: Msg, now: int, out: Any) -> None:
        if type(message.payload) is Run:
            message = message._replace(payload=Run(reversed(message.payload)))
        super()._deliver(source, channel, message, now, out)


class LeavesThemOut(HybridBasic):
    """Of a run that comes before its predecessor, only the last message is kept."""

    def _came_early(self, source: str, channel: Channel, message: Msg, out: Any) -> None:
        if type(message.payload) is Run:
            message = message._replace(payload=message.payload[-1])
        super()._came_early(source, channel, message, out)


class ForgetsThePast(HybridMulticastInOrder):
    """A run is said as if nothing had been delivered before it: it leaves without the permits it needs."""

    def _say(self, others: Sequence[str], payload: Any, now: int, out: Any) -> None:
        super()._say(others, payload, now, out)
        entry = self.u[self.u.next - 1] if self.u.next > self.u.first else None
        if type(payload) is Run and entry is not None and entry.unsent:
            self._leave(self.u.next - entry.count, entry, now, out)


class CountsOneLess(HybridMulticast):
    """A run takes one place less than it has messages."""

    def _say(self, others: Sequence[str], payload: Any, now: int, out: Any) -> None:
        super()._say(others, payload, now, out)
        if type(payload) is Run and self.u.next > self.u.first:
            self.u[self.u.next - 1].count -= 1


class AcksOfAPart(Passing):
    """The acks of a receiver that has delivered a run are for a part of it."""

    def __init__(self, out: Any, parts: set[int]) -> None:
        super().__init__(out)
        self.parts = parts
        """The last numbers of runs."""

    def send(self, targets: Sequence[str], message: Any) -> None:
        if type(message) is Ack and message.number in self.parts:
            message = message._replace(number=message.number - 1)
        self.out.send(targets, message)


class AcknowledgesAPart(HybridInOrder):
    """A run is acknowledged but for its last message."""

    def _arrived(self, source: str, channel: Channel, message: Msg, now: int, out: Any) -> None:
        parts = {message.number} if type(message.payload) is Run else set()
        super()._arrived(source, channel, message, now, AcksOfAPart(out, parts))


class FollowsTheFirst(HybridInOrder):
    """What is said after a run names its first message for its predecessor."""

    def _say(self, others: Sequence[str], payload: Any, now: int, out: Any) -> None:
        super()._say(others, payload, now, out)
        if type(payload) is Run:
            for peer in others:
                self.channels[peer].last -= len(payload) - 1


class SplitByABatch(HybridBasic):
    """A step that was long enough ends in a run: the next one begins in the middle of it."""

    def _put_off(self, k: int, now: int, out: Any) -> None:
        super()._put_off(k - (self.u[k - 1].count > 1 if k > self.u.first else 0), now, out)


class SentAgainInPart(HybridSps):
    """Of a run that is lost, the last message goes again."""

    def _again(self, peer: str, channel: Channel, number: int) -> Any:
        frame = super()._again(peer, channel, number)
        if type(frame) is Msg and type(frame.payload) is Run:
            return frame._replace(payload=frame.payload[-1])
        return frame


class OnePlaceForTheGone(HybridMulticast):
    """What was for the evicted alone counts as sent, and as one message each."""

    def _forget(self, peer: str) -> None:
        m1, u = max(self.m1, self.u.first), self.u
        super()._forget(peer)
        passed = {id(u[k]) for k in range(m1, self.m1)}
        self.m1 = m1 + len(passed)


class GoneWithOne(HybridMulticastSps):
    """A run is forgotten for all of its receivers when one of them is gone."""

    def _forget(self, peer: str) -> None:
        together = [entry for entry in self.u if entry.count > 1 and peer in entry.waiting and entry.unsent]
        super()._forget(peer)
        for entry in together:
            for other in [other for other in entry.waiting if other in entry.unsent]:
                del entry.waiting[other], entry.unsent[other]


class RunMutant(NamedTuple):
    """How to build a process, and the worlds in which it dies."""

    build: Build
    optimal: bool
    multicast: bool
    crash: str = ""


RUN_MUTANTS = {
    "the number of its first": RunMutant(NumberOfTheFirst, True, False),
    "an index in the middle": RunMutant(IndexInTheMiddle, True, False),
    "a part is permitted": RunMutant(PermitsAPart, False, True),
    "back to front": RunMutant(BackToFront, True, False),
    "parts are left out": RunMutant(LeavesThemOut, False, False),
    "without permits": RunMutant(ForgetsThePast, True, True),
    "one place less": RunMutant(CountsOneLess, False, True),
    "a part is acknowledged": RunMutant(AcknowledgesAPart, True, False),
    "the first is followed": RunMutant(FollowsTheFirst, True, False),
    "split by a batch": RunMutant(SplitByABatch, False, False),
    "sent again in part": RunMutant(SentAgainInPart, True, False),
    "one place for the gone": RunMutant(OnePlaceForTheGone, False, True, "several"),
    "gone with one": RunMutant(GoneWithOne, True, True, "several"),
}
