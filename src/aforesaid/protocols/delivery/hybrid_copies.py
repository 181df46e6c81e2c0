"""What the multicast algorithms of hybrid buffering share: a copy of a message for each of its receivers."""

from collections.abc import Collection, Mapping, MutableMapping
from typing import Any, Protocol, TypeVar

from aforesaid.core import Process
from aforesaid.protocols.delivery.hybrid_flagged import Flagged
from aforesaid.protocols.delivery.hybrid_process import Kept


class Copied(Kept, Protocol):
    """What a process keeps of a message it said to several."""

    @property
    def previous(self) -> Mapping[Process, int]:
        """By receiver, the message before this one on its channel (R8); evicted receivers leave."""

    @property
    def waiting(self) -> MutableMapping[Process, Any]:
        """The receivers who have not acknowledged it, in order."""


C = TypeVar("C", bound=Copied)


class Copies(Flagged[C]):
    """The multicast algorithms: any number of targets."""

    def _note_ack(self, entry: C, peer: Process) -> None:
        del entry.waiting[peer]
        if not entry.waiting:
            entry.payload = None

    def _previous(self, entry: C, peer: Process) -> int:
        return entry.previous[peer]

    def _unacked_by(self, entry: C) -> Collection[Process]:
        return entry.waiting

    def _receivers(self, entry: C) -> Collection[Process]:
        return entry.previous
