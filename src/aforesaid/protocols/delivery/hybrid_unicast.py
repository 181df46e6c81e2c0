"""What the two unicast algorithms of hybrid buffering share: one receiver per message.

Almeida (2026), sections 5.4 and 5.6. Two fields, `dep` and the flag on the wire, stand for the
paper's `per`, and `acked` for its empty payload: both are overloaded there.
"""

from collections.abc import Collection, Sequence
from typing import Any

from aforesaid.core import Misuse, Payload, Process
from aforesaid.protocols.delivery.hybrid_flagged import Flagged
from aforesaid.protocols.delivery.hybrid_runs import count_of

NOBODY: Process = ""


class Entry:
    """What a process keeps of a message it said to one other."""

    __slots__ = ("acked", "count", "dep", "payload", "previous", "receiver", "sent")

    def __init__(self, receiver: Process, previous: int, dep: int, payload: Payload) -> None:
        self.receiver = receiver
        self.previous = previous
        self.dep = dep
        self.count = count_of(payload)
        self.payload: Any = payload
        self.sent = False
        self.acked = False

    def close(self) -> None:
        """Nobody waits for it any more."""
        self.sent = self.acked = True
        self.payload = None


class Unicast(Flagged[Entry]):
    """The two unicast algorithms: exactly one target, which may be the process itself."""

    def _audience(self, targets: Sequence[Process]) -> Sequence[Process]:
        if len(targets) != 1:
            raise Misuse(f"{type(self).__name__} sends to exactly one target, not to {len(targets)}")
        peer = targets[0]
        return () if peer == self.me or peer in self.evicted else targets

    def _note_ack(self, entry: Entry, peer: Process) -> None:
        entry.acked = True
        entry.payload = None

    def _previous(self, entry: Entry, peer: Process) -> int:
        return entry.previous

    def _forget(self, peer: Process) -> None:
        for entry in self.u:
            if entry.receiver == peer:
                entry.close()
                entry.receiver = NOBODY

    def _unsent_to(self, entry: Entry) -> Collection[Process]:
        return () if entry.sent else (entry.receiver,)

    def _unacked_by(self, entry: Entry) -> Collection[Process]:
        return () if entry.acked else (entry.receiver,)

    def _receivers(self, entry: Entry) -> Collection[Process]:
        return () if entry.receiver == NOBODY else (entry.receiver,)
