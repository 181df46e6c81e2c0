"""What leaves towards each peer, and when: eager and lazy push; slices; what is too much.

After Leitão, Pereira and Rodrigues (2007), Plumtree: where messages that are flooded come a second time,
their way is not on the tree over which they come first, and they are in no hurry there. Plumtree sends ids
over such links, and lets the other end ask for what it lacks. A link of link memory carries each message, in
order. So here the copies themselves go, some at a time: to the protocol that is a slower link.

A peer is *lazy* as long as what it says of flooded messages is said for the second time. It is eager again as
soon as something that it says is news, or what we said was news to it. So a message is late by `LAZY_S` for
each lazy link that turns out to be its way after all, and the next one is not.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from aforesaid.core import Message, declaration_of
from aforesaid.node.carrying.switchboard import Peer
from aforesaid.transport import Stream
from aforesaid.wire import pack, record

BODY_BYTES_MAX = 64 * 1024
"""Of one record; larger frames are cut."""

SLICE_BYTES = 2**20
"""So much is handed to a stream at a time: TLS, and the kernel, take their time for it."""

LAZY_S = 0.05
"""So long a frame waits at most."""

LATE_BYTES_MAX = 16 * 1024
"""Towards one peer; with more they leave at once."""

HURRIED, UNHURRIED_IF_LAZY, UNHURRIED = range(3)


class User(Protocol):
    """Whose words leave."""

    def call_up(self, peer: Peer) -> None:
        """There is something to say to a peer."""

    def given_up(self, peer: Peer) -> None:
        """The peer does not take what is said to it."""

    def has_room(self) -> None:
        """What waited towards a peer has left."""


class Pushing:
    """What waits at one node."""

    def __init__(self, link_bytes: int, changing: bool, refused: Counter[str], user: User) -> None:
        self._link_bytes = link_bytes
        self._changing = changing
        self._refused = refused
        self._user = user
        self._loop = asyncio.get_running_loop()
        self._hurry: dict[type, int] = {}
        """Of each kind of frames."""
        self._late: dict[str, Peer] = {}
        """To whom frames may wait."""
        self._timer: asyncio.TimerHandle | None = None

    def heard(self, peer: Peer, messages: Sequence[Message], news: bool) -> None:
        """These came together; `news`: something came of them."""
        peer.lazy = not news and max(map(self._hurry_of, set(map(type, messages)))) < UNHURRIED

    def hurries(self, peer: Peer, frames: Sequence[Message]) -> bool:
        """Whether these have to leave at once."""
        least = UNHURRIED_IF_LAZY if peer.lazy else UNHURRIED
        return peer.stream is None or min(map(self._hurry_of, set(map(type, frames)))) < least

    def push(self, peer: Peer, encoded: list[bytes], hurried: bool) -> None:
        """They leave now, behind what has waited; or wait."""
        size = sum(map(len, encoded))
        if hurried or peer.late_bytes + size > LATE_BYTES_MAX:
            self._leave(peer, [*peer.be_late_no_more(), *encoded] if peer.late else encoded)
            return
        peer.late += encoded
        peer.late_bytes += size
        self._late[peer.name] = peer
        if self._timer is None:
            self._timer = self._loop.call_later(LAZY_S, self._push_late)

    def write(self, peer: Peer, records: list[bytes]) -> None:
        room = self._link_bytes - peer.waiting
        size = sum(map(len, records))
        if size > room:
            # It does not take what is said to it. A link that loses a part of what was said on it is no link
            # any more. In a fixed group all is sent again until it is there, here what does not fit now.
            if self._changing or len(records) == 1:
                self._refused["slow peer"] += 1
            if self._changing:
                self._user.given_up(peer)
            elif len(records) > 1:
                for each in records:  # The kernel may take some at once.
                    self.write(peer, [each])
            return
        if peer.stream is not None and not peer.queue and size <= SLICE_BYTES:
            peer.stream.write(b"".join(records))
            return
        if peer.stream is not None and not peer.queue:
            self._loop.call_soon(self.write_slice, peer, peer.stream)
        peer.queue.extend(records)
        peer.queued += size
        self._user.call_up(peer)

    def write_slice(self, peer: Peer, stream: Stream) -> None:
        """Some of what waits: the rest of the loop has its turn before the next."""
        if peer.stream is not stream:
            return
        size = 0
        while peer.queue and size < SLICE_BYTES:
            size += len(peer.queue[0])
            stream.write(peer.queue.popleft())
        peer.queued -= size
        if peer.queue:
            self._loop.call_soon(self.write_slice, peer, stream)
        else:
            self._user.has_room()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _hurry_of(self, kind: type) -> int:
        known = self._hurry.get(kind)
        if known is None:
            declared = declaration_of(kind)
            lazily = UNHURRIED_IF_LAZY if declared.flooding else HURRIED
            known = self._hurry[kind] = UNHURRIED if declared.patient else lazily
        return known

    def _leave(self, peer: Peer, encoded: list[bytes]) -> None:
        self.write(peer, [record(body) for body in pack(encoded, BODY_BYTES_MAX)])

    def _push_late(self) -> None:
        self._timer = None
        late, self._late = self._late, {}
        for peer in late.values():
            if peer.late:
                self._leave(peer, peer.be_late_no_more())
