"""Uniform reliable broadcast: deliver only what enough processes are known to have.

Guerraoui (undated), the layer urb; Cachin, Guerraoui and Rodrigues (2011).

On first receipt a message becomes pending and is relayed to all; a relay is also its relayer's ack. It is
delivered once every process not suspected has relayed it (all-ack: needs a perfect failure detector) or once
a majority has (majority-ack: needs a correct majority, and no detector). So if *any* process delivers it,
even one that crashes right after, every correct process does.

Model: reliable links in any order, duplicates welcome; crash and stay down; a fixed group. Acks are kept only
while a message is pending, so memory returns to empty.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aforesaid.core import Effects, Handed, MessageId, Nanoseconds, Process
from aforesaid.protocols.layers.layered import QuietLayer, Relay


class UniformReliable(QuietLayer):
    """The layer urb at one process."""

    def __init__(
        self, me: Process, group: Sequence[Process], incarnation: int = 0, majority: bool = False
    ) -> None:
        super().__init__(me, group, incarnation)
        self.correct = {me, *self.peers}
        """Who is not suspected; looked up, never iterated over."""
        self.quorum = (len(self.peers) + 1) // 2 + 1 if majority else None
        self.pending: dict[MessageId, Any] = {}
        self.acks: dict[MessageId, set[Process]] = {}

    def broadcast(self, body: Any, now: Nanoseconds, out: Effects) -> tuple[MessageId, Handed]:
        self.sent += 1
        message_id = MessageId(self.me, self.incarnation, self.sent)
        self.received.add((self.me, self.incarnation), self.sent)
        return message_id, self._relay(Relay(message_id, body), {self.me}, out)

    def receive(self, source: Process, message: Any, now: Nanoseconds, out: Effects) -> Handed:
        message_id = message.message_id
        origin, incarnation, number = message_id
        if self.received.add((origin, incarnation), number):
            return self._relay(message, {self.me, source}, out)
        if message_id not in self.pending:
            return ()
        self.acks[message_id].add(source)
        return self._deliverable((message_id,))

    def peer_down(self, peer: Process, now: Nanoseconds, out: Effects) -> Handed:
        self.correct.discard(peer)
        return self._deliverable(tuple(self.pending))

    def gauges(self) -> Mapping[str, int]:
        return {"out_of_order": self.received.exceptions, "unacked": len(self.pending)}

    def _relay(self, relay: Relay[Any], acks: set[Process], out: Effects) -> Handed:
        self.pending[relay.message_id] = relay.body
        self.acks[relay.message_id] = acks
        if self.peers:
            out.send(self.peers, relay)
        return self._deliverable((relay.message_id,))

    def _deliverable(self, candidates: Sequence[MessageId]) -> Handed:
        handed = []
        for message_id in candidates:
            acks = self.acks[message_id]
            if len(acks) >= self.quorum if self.quorum else self.correct <= acks:
                del self.acks[message_id]
                handed.append((message_id, self.pending.pop(message_id)))
        return handed
