"""No order at all: what the layer below delivers is delivered, as it comes.

The floor of every comparison, and the negative control of every ordering rule: over reliable broadcast it
keeps validity, agreement and integrity, and breaks causal order as soon as the network reorders.
"""

from aforesaid.core import Effects, Handed, Joining, MessageId, Misuse, Nanoseconds, Payload, Process
from aforesaid.protocols.layered import OverLayer


class Unordered(OverLayer):
    """A broadcast over a layer, without any order of its own."""

    def broadcast(self, payload: Payload, now: Nanoseconds, out: Effects) -> MessageId:
        message_id, handed = self.below.broadcast(payload, now, out)
        self._arrived(handed, out)
        return message_id

    def join(self, contact: Process, now: Nanoseconds, out: Effects) -> None:
        self._group().join(contact, now, out)

    def leave(self, now: Nanoseconds, out: Effects) -> None:
        self._group().leave(now, out)

    def _group(self) -> Joining:
        if not hasattr(self.below, "join"):
            raise Misuse(f"{type(self.below).__name__} serves a fixed group")
        group: Joining = self.below  # type: ignore[assignment]
        return group

    def _arrived(self, handed: Handed, out: Effects) -> None:
        for message_id, payload in handed:
            out.deliver(message_id, payload)
