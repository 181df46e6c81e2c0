"""Half-open connections: who calls and says nothing takes a bounded share of a node, and keeps nobody out."""

import asyncio
import errno
import resource
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from aforesaid import Config, Node
from aforesaid.ground import REAL
from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.transport import Address, Door
from aforesaid.transport import door as doors
from net.net_stage import placed_configs, run, take, until
from net.node_process import NodeProcess, write_toml
from support.scale import scaled

DESCRIPTORS = 256
BESIEGERS = 1000


class Besieger:
    """A caller that never says anything, and calls again when it is turned out."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.turned_out = -1
        self.sock: socket.socket | None = None
        self.call()

    def call(self) -> None:
        self.turned_out += 1
        self.hang_up()
        self.sock = socket.socket()
        self.sock.setblocking(False)
        self.sock.connect_ex(self.address)

    def look(self) -> None:
        assert self.sock is not None
        try:
            if self.sock.recv(1) == b"":
                self.call()
        except BlockingIOError:
            pass
        except OSError as error:
            # Those whom the kernel has not let through yet go on trying.
            if error.errno != errno.ENOTCONN:
                self.call()

    def hang_up(self) -> None:
        if self.sock is not None:
            self.sock.close()


@asynccontextmanager
async def besieged(address: Address, count: int) -> AsyncIterator[list[Besieger]]:
    besiegers = [Besieger(address) for _ in range(count)]

    async def go_on() -> None:
        while True:
            for besieger in besiegers:
                besieger.look()
            await asyncio.sleep(0.02)

    going_on = asyncio.create_task(go_on())
    try:
        yield besiegers
    finally:
        going_on.cancel()
        await asyncio.gather(going_on, return_exceptions=True)
        for besieger in besiegers:
            besieger.hang_up()


@pytest.fixture
def many_descriptors() -> None:
    """For the besiegers, who are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * BESIEGERS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2 * BESIEGERS, hard), hard))


@pytest.mark.usefixtures("many_descriptors")
@pytest.mark.parametrize("secured", [True, False])
def test_a_siege_of_half_open_connections_keeps_nobody_out(secured: bool, tmp_path: Path) -> None:
    """A node with few descriptors goes on, rotates its segments, and a peer that was cut off comes back."""

    async def main() -> None:
        facts = {"transport": "tcp", "heartbeat_s": 0.5, "linger_s": 1.0, "trace_segment_bytes": 1024}
        configs = placed_configs(["alice", "bob"], tmp_path, **facts)
        security = {"cluster_key": str(tmp_path / "key")} if secured else {}
        write_cluster_key(tmp_path / "key")
        alice = NodeProcess(
            write_toml(
                tmp_path / "alice.toml",
                {
                    "name": "alice",
                    **facts,
                    "listen": configs["alice"].listen,
                    "directory": "alice",
                    # Where nobody is: only bob can call.
                    "peers": {"bob": "127.0.0.1:9"},
                    "security": security,
                },
            )
        )
        await alice.start()
        resource.prlimit(alice.process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        bob_config = Config.of(
            {
                "name": "bob",
                **facts,
                "listen": configs["bob"].listen,
                "peers": configs["bob"].peers,
                "security": security,
            }
        )
        try:
            async with Node(bob_config) as bob:
                await _talk(bob, alice, "before")
                async with besieged(Address.parse(configs["alice"].listen), BESIEGERS) as besiegers:
                    await until(
                        lambda: sum(each.turned_out for each in besiegers) > 2 * doors.STRANGERS_MAX,
                        "strangers are turned out",
                    )
                    segments = len(_segments(tmp_path))
                    await _talk(bob, alice, "meanwhile")
                    assert len(_segments(tmp_path)) > segments, "it rotates"
                    for turn in range(scaled(1, 10)):
                        _cut_off(bob, "alice")
                        await _talk(bob, alice, f"again {turn}")
                    open_now = len(list(Path(f"/proc/{alice.process.pid}/fd").iterdir()))
                    assert open_now < doors.STRANGERS_MAX + 40, f"{open_now} descriptors are open"
                    await _connected(alice, "bob")
                await _talk(bob, alice, "after")
            assert await alice.end() == 0
            assert "cannot rotate" not in alice.log
            assert "strangers turned out" in alice.log
        finally:
            await alice.destroy()

    run(main())


async def _talk(bob: Node, alice: NodeProcess, words: str) -> None:
    """Both ways."""
    for number in range(20):
        await bob.send({"alice"}, f"{words} {number}".encode())
    await until(lambda: f"{words} 19" in alice.heard, f"alice hears bob: {words}", 20.0)
    alice.say(payload=f"{words} too", to=["bob"])
    assert [message.payload for message in await take(bob, 1)] == [f"{words} too".encode()]


async def _connected(node: NodeProcess, peer: str) -> None:
    """Who was silent meanwhile is told to be there with the next heartbeat."""
    state = ""
    for _ in range(100):
        state = (await node.ask(peers=True))[peer]
        if state == "connected":
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{peer} is {state}")


def _segments(root: Path) -> list[Path]:
    return list((root / "alice" / "segments").iterdir())


def _cut_off(node: Node, peer: str) -> None:
    stream = node._running.carrier.peers[peer].stream  # type: ignore[attr-defined]
    if stream is not None:
        stream._transport.abort()


class Callers:
    """Those who call at one door, and say nothing."""

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()
        self.socks: list[socket.socket] = []

    def call(self, source: str = "127.0.0.1") -> None:
        """The kernel takes the call, the door not yet."""
        self.socks.append(socket.create_connection(self.address, source_address=(source, 0)))
        self.socks[-1].setblocking(False)

    def turned_out(self) -> list[bool]:
        return [_is_over(sock) for sock in self.socks]

    @asynccontextmanager
    async def at_a_door(self) -> AsyncIterator[None]:
        door = Door(None, lambda stream: None, lambda why: self.refused.update([why]))
        self.address = await door.open(Address("127.0.0.1", 0))
        try:
            yield
        finally:
            await door.close()
            for sock in self.socks:
                sock.close()


def _is_over(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_who_calls_from_where_most_strangers_are_loses_its_place_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doors, "STRANGERS_MAX", 8)
    monkeypatch.setattr(doors, "GRACE_S", 0.0)

    async def main() -> None:
        callers = Callers()
        async with callers.at_a_door():
            callers.call("127.0.0.2")
            for _ in range(20):
                callers.call()
                await asyncio.sleep(0.01)
            await until(lambda: sum(callers.turned_out()) == 13, "the oldest of the crowd are turned out")
            assert callers.turned_out() == [False] + [True] * 13 + [False] * 7
            assert callers.refused == {"too many strangers": 13}

    run(main())


def test_nobody_loses_its_place_at_once_and_who_comes_meanwhile_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doors, "STRANGERS_MAX", 2)
    monkeypatch.setattr(doors, "GRACE_S", 0.5)

    async def main() -> None:
        callers = Callers()
        async with callers.at_a_door():
            for _ in range(4):
                callers.call()
            await asyncio.sleep(0.1)
            assert not callers.refused, "all are there, one of them with the kernel"
            await until(lambda: callers.refused["too many strangers"] == 2, "two make room for two")
            await until(lambda: callers.turned_out() == [True, True, False, False], "the oldest two")

    run(main())


def test_who_does_not_say_who_it_is_is_turned_out_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "STRANGE_S", 0.2)

    async def main() -> None:
        callers = Callers()
        async with callers.at_a_door():
            callers.call()
            await until(lambda: callers.turned_out() == [True], "it is turned out")
            assert callers.refused == {"hello too late": 1}

    run(main())


def test_the_last_descriptors_are_not_for_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(REAL, "scarce", lambda descriptor: True, raising=False)

    async def main() -> None:
        callers = Callers()
        async with callers.at_a_door():
            callers.call()
            await until(lambda: callers.turned_out() == [True], "it is turned out")
            assert callers.refused == {"no descriptors": 1}

    run(main())


def test_which_descriptors_are_the_last() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert REAL.scarce(limit - 1)
    assert not REAL.scarce(limit // 2)
