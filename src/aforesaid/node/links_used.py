"""Which link instances used the present connection to each peer: with the connection they are lost."""

from collections.abc import Iterable
from typing import Any

from aforesaid.core import Linking, Message, Process, declaration_of
from aforesaid.core.frames import NOWHERE

LIDS_MAX = 256
"""Link instances that are remembered of one connection."""


class LinksUsed:
    """Of one protocol object."""

    def __init__(self, linking: Linking) -> None:
        self._linking = linking
        self._places: dict[type, int] = {}
        """By kind of frames: where they name their link instance; below 0: nowhere."""
        self._lids: dict[Process, dict[Any, None]] = {}
        """By peer, oldest first."""

    def note(self, peer: Process, message: Message) -> None:
        """A frame came from the peer, or goes to it."""
        kind = type(message)
        place = self._places.get(kind)
        if place is None:
            declared = declaration_of(kind)
            # Where copies go, other frames went before, on the same connection: they began the link.
            place = self._places[kind] = NOWHERE if declared.may_be_old else declared.link_place
        lid = message[place] if place >= 0 else None
        if lid is None:
            return
        lids = self._lids.get(peer)
        if lids is None:
            lids = self._lids[peer] = {}
        if lid not in lids:
            lids[lid] = None
            if len(lids) > LIDS_MAX:
                self._forget_some(lids)

    def of_lost(self, peer: Process) -> Iterable[Any]:
        """The connection to the peer is lost: all that used it."""
        return self._lids.pop(peer, {})

    def _forget_some(self, lids: dict[Any, None]) -> None:
        used = {lid for _, lid in self._linking.links()}
        for old in [each for each in lids if each not in used][: LIDS_MAX // 2]:
            del lids[old]
