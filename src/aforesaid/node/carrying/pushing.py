"""Which copies leave at once and which wait a little for company: eager and lazy push.

After Leitão, Pereira and Rodrigues (2007), Plumtree: where messages that are flooded come a second time, their
way is not on the tree over which they come first, and there they are in no hurry. Plumtree sends ids over such
links and lets the other end ask for what it lacks. A link of link memory carries every message, and in order,
so here the copies themselves go, some at a time. To the protocol that is a slower link.

A peer is *lazy* as long as what it says of flooded messages is said for the second time. It is eager again as
soon as something is news that it says, or was news to it that we said. So a message is late by `LAZY` for each
lazy link that turns out to be its way after all, and the next one is not.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from aforesaid.core import Message, declaration_of
from aforesaid.node.carrying.switchboard import Peer

LAZY_S = 0.05
"""So long a frame waits at most."""

LATE_BYTES_MAX = 16 * 1024
"""Towards one peer: with more they leave at once."""


class Pushing:
    """What waits at one node; `leave(peer, frames)` lets frames, encoded, leave."""

    def __init__(self, leave: Callable[[Peer, list[bytes]], None]) -> None:
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._peers: dict[str, Peer] = {}
        """To whom frames may wait."""
        self._timer: asyncio.TimerHandle | None = None

    def heard(self, peer: Peer, messages: Sequence[Message], news: bool) -> None:
        """These came together; `news`: something came of them."""
        peer.lazy = not news and not any(declaration_of(type(message)).patient for message in messages)

    def push(self, peer: Peer, frames: Sequence[Any], encoded: list[bytes]) -> None:
        """They leave now, behind what has waited; or wait."""
        size = sum(map(len, encoded))
        if peer.stream is None or peer.late_bytes + size > LATE_BYTES_MAX or self._hurries(peer, frames):
            self._leave(peer, [*peer.be_late_no_more(), *encoded] if peer.late else encoded)
            return
        peer.late += encoded
        peer.late_bytes += size
        self._peers[peer.name] = peer
        if self._timer is None:
            self._timer = self._loop.call_later(LAZY_S, self._push_late)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _push_late(self) -> None:
        self._timer = None
        peers, self._peers = self._peers, {}
        for peer in peers.values():
            if peer.late:
                self._leave(peer, peer.be_late_no_more())

    def _hurries(self, peer: Peer, frames: Sequence[Any]) -> bool:
        for frame in frames:
            declared = declaration_of(type(frame))
            if not declared.patient and not (declared.flooding and peer.lazy):
                return True
        return False
