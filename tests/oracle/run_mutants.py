"""Mutants of runs: an algorithm that takes a run for a message in one place, and not in another.

Each is a shipped algorithm with one rule of `hybrid_runs` left out.
"""

from collections.abc import Sequence
from typing import Any

from aforesaid.core import Run
from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_frames import Channel, Msg
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from oracle.world import Build


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


RUN_MUTANTS: dict[str, tuple[Build, bool, bool]] = {
    "the number of its first": (NumberOfTheFirst, True, False),
    "an index in the middle": (IndexInTheMiddle, True, False),
    "a part is permitted": (PermitsAPart, False, True),
    "back to front": (BackToFront, True, False),
    "parts are left out": (LeavesThemOut, False, False),
    "without permits": (ForgetsThePast, True, True),
}
"""By name: how to build a process, whether it is SPS-optimal, whether it is given multicasts."""
