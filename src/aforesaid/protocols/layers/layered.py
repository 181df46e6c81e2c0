"""What layers of broadcast have in common, so that an algorithm's file holds its algorithm only.

`OverLayer` is a broadcast that stands on a layer: whatever happens goes down first, and what the layer hands
up arrives here ("upon event rbDeliver"). `QuietLayer` is a layer that needs neither timers nor a detector. A
layer carries a body in a `Relay`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from aforesaid.core import (
    Effects,
    Handed,
    Layer,
    MessageId,
    Misuse,
    Nanoseconds,
    Process,
    Remembering,
    Timer,
    frame,
)
from aforesaid.structures import Received

Body = TypeVar("Body")


@frame()
class Relay(NamedTuple, Generic[Body]):
    """A message on its way, first hand or relayed."""

    message_id: MessageId
    body: Body


class OverLayer(ABC):
    """A broadcast over a layer as its host sees it; `broadcast` and `_arrived` are the algorithm's own."""

    def __init__(self, below: Layer) -> None:
        self.below = below

    @abstractmethod
    def _arrived(self, handed: Handed, out: Effects) -> object:
        """The layer below delivered these, in this order."""

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        self._arrived(self.below.receive(source, message, now, out), out)

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> None:
        self._arrived(self.below.expire(timer, now, out), out)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self._arrived(self.below.peer_up(peer, now, out), out)

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self._arrived(self.below.peer_down(peer, now, out), out)

    def gauges(self) -> Mapping[str, int]:
        return self.below.gauges()


class QuietLayer(Remembering):
    """A layer without timers, to which peers that come and go mean nothing unless it says otherwise."""

    def __init__(self, me: Process, group: Sequence[Process], incarnation: int = 0) -> None:
        self.me = me
        self.incarnation = incarnation
        self.peers = tuple(peer for peer in group if peer != me)
        self.received = Received()
        self.sent = 0

    def entries(self) -> int:
        return self.received.entries

    def expire(self, timer: Timer, now: Nanoseconds, out: Effects) -> Handed:
        raise Misuse(f"{type(self).__name__} has no timers, but {timer!r} expired")

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> Handed:
        return ()

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> Handed:
        return ()
