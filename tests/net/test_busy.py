"""What goes wrong on a busy machine: words unread when their speaker closes, calls that cross, late loops."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.core import MILLISECOND, SECOND, Effects, Process, Timer
from aforesaid.node.carrying import streams
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.greeting import Greeted, Greeting
from aforesaid.node.carrying.notes import Hello, entry_of
from aforesaid.node.carrying.streams import StreamCarrier
from aforesaid.node.carrying.switchboard import Peer, Switchboard
from aforesaid.node.host import Host
from aforesaid.node.inbox import Inbox
from aforesaid.node.timers import Timers
from aforesaid.protocols.membership.epochs import CALLS_MAX
from aforesaid.protocols.overlay.frames import Fin, Lid
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.sampling import Sampler
from aforesaid.transport import Address, Door, Stream, dial
from aforesaid.wire import cluster_id
from aforesaid.wire.packet import Header
from net.crowd import PRC
from net.net_stage import links_of, run, until
from support.prc_stage import process


async def let_in(opened: Callable[[Stream], None]) -> tuple[Door, Address]:
    """Whoever calls is let in at once."""

    def take(stream: Stream) -> None:
        assert door.let_in(stream)
        opened(stream)

    door = Door(None, take, print)
    return door, await door.open(Address("127.0.0.1", 0))


def test_the_last_words_of_a_stream_are_read_though_its_ends_speak_at_once() -> None:
    """To close a socket with bytes unread resets the connection, and takes away what was not read there."""

    async def main() -> None:
        accepted: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
        door, address = await let_in(accepted.set_result)
        leaver = await dial(address, None)
        stayer = await accepted
        heard = bytearray()
        stayer.on_data = heard.extend
        stayer.pause()
        words = b"last words " * 10_000
        stayer.write(b"unread by who leaves")
        leaver.write(words)
        leaver.finish()
        for _ in range(20):
            stayer.write(b"and more of it")
            await asyncio.sleep(0.01)
        stayer.resume()
        await until(lambda: not leaver.open and not stayer.open, "both ends are closed")
        assert bytes(heard) == words
        await door.close()

    run(main())


def test_nothing_is_written_to_a_connection_that_broke(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        accepted: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
        door, address = await let_in(accepted.set_result)
        stream = await dial(address, None)
        lost: list[bool] = []
        stream.on_lost = lambda: lost.append(True)
        (await accepted).abort()
        await asyncio.sleep(0)  # The reset is here, and the loop has not seen it.
        for _ in range(20):
            stream.write(b"?")
        await until(lambda: lost == [True], "the loss is told")
        await door.close()

    run(main())
    assert not caplog.records


class Caller:
    """A user of a switchboard in a changing group that knows one peer, a; and what it was told."""

    inside = True

    def __init__(self, name: Process, at: Address) -> None:
        self.told: list[tuple[str, Any]] = []
        book = Book()
        book.learn([entry_of("a", 1, at)])
        header = Header(cluster_id("c", "prc_spray"), name, 1)
        self.board = Switchboard(header, None, None, book, Counter(), self)
        self.peer = self.board.peers["a"] = Peer("a")

    def stands(self, peer: Peer, stream: Stream, greeted: Greeted, epoch: int, greeting: Greeting) -> None:
        peer.stream, peer.epoch = stream, epoch
        self.told.append(("stands", epoch))

    def turned_away(self, peer: Process, reason: str) -> None: ...

    def not_let_in(self, name: Process, reason: str) -> None: ...

    def lost(self, peer: Peer, stream: Stream) -> None:
        assert peer.stream is stream
        peer.stream = None
        self.told.append(("lost", peer.epoch))

    def given_up(self, peer: Peer) -> None:
        self.told.append(("given up", peer.name))

    def failed(self, error: Exception) -> None:
        raise error


@asynccontextmanager
async def answering(name: Process, answers: Sequence[Hello]) -> AsyncIterator[Address]:
    """Someone who answers calls so, one after the other."""
    header, left, taken = Header(cluster_id("c", "prc_spray"), name, 1), list(answers), []

    def called(stream: Stream) -> None:
        taken.append(stream)
        greeting = Greeting(stream, header, expected=None)
        greeting.answer.add_done_callback(lambda _: greeting.say(left.pop(0)))

    door, address = await let_in(called)
    yield address
    await until(lambda: not any(stream.open for stream in taken), "the caller hangs up")
    await door.close()


def test_who_is_told_that_calls_crossed_waits_for_the_other_call() -> None:
    async def main() -> None:
        crossings = [Hello(refusal="crossed")] * (CALLS_MAX + 3)
        async with answering("a", [*crossings, Hello(1)]) as address:
            caller = Caller("b", at=address)
            caller.board.call(caller.peer)
            await until(lambda: bool(caller.told), "something came of the call")
            assert caller.told == [("stands", 1)]
            await caller.board.close()

    run(main())


def test_who_is_not_there_is_given_up_after_some_calls() -> None:
    async def main() -> None:
        async with answering("a", [Hello(refusal="evicted")] * CALLS_MAX) as address:
            caller = Caller("b", at=address)
            caller.board.call(caller.peer)
            await until(lambda: caller.told == [("given up", "a")], "the peer is given up")
            await caller.board.close()

    run(main())


def test_a_stream_that_takes_the_place_of_another_is_told_after_its_loss() -> None:
    async def main() -> None:
        async with answering("a", [Hello(1), Hello(2)]) as address:
            caller = Caller("b", at=address)
            await caller.board.call_anyone(address, newcomer=True)
            await caller.board.call_anyone(address, newcomer=True)
            assert caller.told == [("stands", 1), ("lost", 1), ("stands", 2)]
            await caller.board.close()

    run(main())


class Relinking(Living):
    """A protocol that says something to y when its link to x is lost."""

    def link_down(self, lid: Lid, now: int, out: Effects) -> None:
        out.send(("y",), Fin(Lid("me", "y", 0, 3)))


class Unreliable:
    """A carrier that cannot reach x."""

    def __init__(self, above: Host) -> None:
        self.above = above
        self.refused: Counter[str] = Counter()
        self.sent: list[tuple[Process, int]] = []

    def buffered(self) -> int:
        return 0

    def send(self, peer: Process, frames: Sequence[Any]) -> None:
        if peer == "x":
            self.above.lost(peer)
        else:
            self.sent += [(peer, frame.link.number) for frame in frames]


def test_what_is_said_because_a_link_is_lost_does_not_overtake_what_was_said_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    relinking = Relinking(process("me").prc, Sampler())
    monkeypatch.setattr("aforesaid.node.turns.machine_of", lambda config, incarnation: relinking)

    async def main() -> None:
        host = Host(Config.of({"name": "me", **PRC}), 0, Inbox(9, 9, print, "me"), Unreliable)  # type: ignore[arg-type]
        for number, peer in enumerate("xy", start=1):
            host.send((peer,), Fin(Lid("me", peer, 0, number)))
        host.flush()
        assert isinstance(host.carrier, Unreliable)
        assert host.carrier.sent == [("y", 2), ("y", 3)]

    run(main())


def test_a_timer_that_is_due_when_the_loop_stood_still_is_put_off_once() -> None:
    async def main() -> None:
        expired: list[tuple[Timer, int]] = []
        timers = Timers(lambda timer: expired.append((timer, time.monotonic_ns())))
        began = time.monotonic_ns()
        timers.arm("answered", began + 50 * MILLISECOND)
        timers.arm("unanswered", began + 50 * MILLISECOND)
        # The answer comes while the loop stands still: it is read after the timer is looked at.
        time.sleep(0.45)
        asyncio.get_running_loop().call_later(0.0, timers.disarm, "answered")
        await until(lambda: bool(expired), "the other one expires")
        [(timer, when)] = expired
        assert timer == "unanswered"
        assert when - began >= 800 * MILLISECOND

    run(main())


def test_a_link_without_traffic_keeps_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "UNUSED", SECOND // 5)

    async def main() -> None:
        facts = {**PRC, "options": {}, "heartbeat_s": 0.05}
        a = await Node(Config.of({"name": "a", **facts})).__aenter__()
        b = await Node(Config.of({"name": "b", "contact": str(a.address), **facts})).__aenter__()
        links = links_of(a)
        assert [peer for peer, _ in links] == ["b"]
        carrier = b._running.carrier
        assert isinstance(carrier, StreamCarrier)
        await asyncio.sleep(0.8)
        assert links_of(a) == links
        assert carrier.peers["a"].epoch == 1
        await b.close()
        await a.close()

    run(main())
