"""Best-effort broadcast (Guerraoui (undated), the layer beb): send to all, deliver on receipt.

If the sender crashes half-way, some have the message and others never will: no agreement. The cheapest layer
there is, n - 1 frames per message, and the one against which relaying is measured.
"""

from collections.abc import Mapping
from typing import Any

from aforesaid.core import Effects, Handed, MessageId, Nanoseconds, Process
from aforesaid.protocols.layers.layered import QuietLayer, Relay


class BestEffort(QuietLayer):
    """The layer beb at one process of a fixed group."""

    def broadcast(self, body: Any, now: Nanoseconds, out: Effects) -> tuple[MessageId, Handed]:
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        if self.peers:
            out.send(self.peers, Relay(message_id, body))
        return message_id, ((message_id, body),)

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> Handed:
        message_id, body = message
        origin, incarnation, number = message_id
        if self.received.add((origin, incarnation), number):
            return ((message_id, body),)
        return ()

    def gauges(self) -> Mapping[str, int]:
        return {"out_of_order": self.received.exceptions}
