"""What leaves at once and what waits: one peer, and a stream that keeps what is written to it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aforesaid.core import MessageId
from aforesaid.node.carrying.pushing import LATE_BYTES_MAX, LAZY_S, Pushing
from aforesaid.node.carrying.switchboard import Peer
from aforesaid.protocols.overlay.frames import Copy, Fin, Lid, Seen
from aforesaid.wire import Records, unpack

LINK = Lid("a", "b", 0, 1)
COPY, SEEN = Copy(LINK, MessageId("c", 0, 1), b"x"), Seen(LINK, MessageId("c", 0, 2))


class Written:
    """A stream to a peer that takes everything, and says nothing."""

    buffered = 0

    def __init__(self) -> None:
        self.packets: list[list[bytes]] = []

    def write(self, data: bytes) -> None:
        for body in Records(2**20).feed(data):
            frames = unpack(body)
            assert isinstance(frames, list)
            self.packets.append(frames)


class Stage:
    """What is pushed to one peer."""

    def __init__(self) -> None:
        self.given_up_peers: list[str] = []
        self.pushing = Pushing(2**20, changing=True, refused=Counter(), user=self)
        self.stream = Written()
        self.peer = Peer("b")
        self.peer.stream = self.stream  # type: ignore[assignment]

    def say(self, frame: Any, encoded: bytes) -> None:
        self.pushing.push(self.peer, [encoded], self.pushing.hurries(self.peer, [frame]))

    def call_up(self, peer: Peer) -> None: ...

    def given_up(self, peer: Peer) -> None:
        self.given_up_peers.append(peer.name)

    def has_room(self) -> None: ...


def play(scene: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        stage = Stage()
        await scene(stage)
        stage.pushing.close()

    asyncio.run(main())


def test_copies_to_an_eager_peer_leave_at_once_and_what_nobody_waits_for_does_not() -> None:
    async def scene(stage: Stage) -> None:
        stage.say(COPY, b"one")
        stage.say(SEEN, b"two")
        assert stage.stream.packets == [[b"one"]]
        assert stage.peer.waiting == len(b"two"), "a node that closes waits for it"
        await asyncio.sleep(2 * LAZY_S)
        assert stage.stream.packets == [[b"one"], [b"two"]]
        assert stage.peer.waiting == 0

    play(scene)


def test_copies_to_a_lazy_peer_leave_together() -> None:
    async def scene(stage: Stage) -> None:
        stage.peer.lazy = True
        for frame in (b"one", b"two", b"three"):
            stage.say(COPY, frame)
        assert stage.stream.packets == []
        await asyncio.sleep(2 * LAZY_S)
        assert stage.stream.packets == [[b"one", b"two", b"three"]]

    play(scene)


def test_nothing_overtakes_what_waits() -> None:
    async def scene(stage: Stage) -> None:
        stage.peer.lazy = True
        stage.say(COPY, b"one")
        stage.say(SEEN, b"two")
        stage.say(Fin(LINK), b"fin")
        assert stage.stream.packets == [[b"one", b"two", b"fin"]]
        await asyncio.sleep(2 * LAZY_S)
        assert len(stage.stream.packets) == 1

    play(scene)


def test_much_does_not_wait() -> None:
    async def scene(stage: Stage) -> None:
        stage.peer.lazy = True
        stage.say(COPY, b"one")
        stage.say(COPY, bytes(LATE_BYTES_MAX))
        assert stage.stream.packets == [[b"one", bytes(LATE_BYTES_MAX)]]

    play(scene)


def test_who_is_eager_follows_from_what_comes() -> None:
    async def scene(stage: Stage) -> None:
        peer, heard = stage.peer, stage.pushing.heard
        heard(peer, [COPY], True)
        assert not peer.lazy, "what it says is news"
        heard(peer, [COPY, COPY], False)
        assert peer.lazy, "what it says is none"
        heard(peer, [COPY, SEEN], False)
        assert not peer.lazy, "what we said was news to it"

    play(scene)


def test_what_waits_for_a_stream_that_is_lost_is_lost_with_it() -> None:
    async def scene(stage: Stage) -> None:
        stage.say(SEEN, b"one")
        stage.peer.hush()
        await asyncio.sleep(2 * LAZY_S)
        assert stage.stream.packets == []
        stage.peer.stream = None
        stage.say(SEEN, b"two")
        assert stage.peer.queue, "for the next stream"

    play(scene)
