"""No order at all: what the layer below delivers is delivered, as it comes.

The floor of every comparison, and the negative control of every ordering rule: over reliable broadcast it
keeps validity, agreement and integrity, and breaks causal order as soon as the network reorders.
"""

from collections.abc import Mapping
from typing import Any

from aforesaid.core import Effects, Handed, Joining, Layer, MessageId, Misuse, Nanoseconds, Payload, Process


class Unordered:
    """A broadcast over a layer, without any order of its own."""

    def __init__(self, below: Layer) -> None:
        self.below = below

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        message_id, handed = self.below.broadcast(payload, now, out)
        self._deliver(handed, out)
        return message_id

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> None:
        self._deliver(self.below.receive(source, message, now, out), out)

    def expire(self, timer: Any, now: Nanoseconds, out: Effects) -> None:
        self._deliver(self.below.expire(timer, now, out), out)

    def peer_up(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self._deliver(self.below.peer_up(peer, now, out), out)

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> None:
        self._deliver(self.below.peer_down(peer, now, out), out)

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self._group().join(contact, now, out)

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        self._group().leave(now, out)

    def gauges(self) -> Mapping[str, int]:
        return self.below.gauges()

    def _group(self) -> Joining:
        if not hasattr(self.below, "join"):
            raise Misuse(f"{type(self.below).__name__} serves a fixed group")
        group: Joining = self.below  # type: ignore[assignment]
        return group

    def _deliver(self, handed: Handed, out: Effects) -> None:
        for message_id, payload in handed:
            out.deliver(message_id, payload)
