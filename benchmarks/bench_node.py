"""Two processes on loopback, 100-byte messages, sealed UDP: hybrid buffering and its own stack without it.

Sockets, cipher, codec, many frames in a datagram and windows of as many messages are the same in all three:
- `hybrid`: `aforesaid.Node`, as an application uses it;
- `shell`: the same Node, with a protocol in it that only counts: no order, no permits, nothing sent again;
- `bare`: no Node either; a loop that fills datagrams with frames and acknowledges once per wake-up.
What is left of their throughput with the protocol is the ratio. Processor time is from the first message to
the last, at either end.

Where `nats-server` and the package `nats-py` are installed, the same messages go over NATS too: published and
subscribed to through its server, in the clear, with no order between senders, nothing sent again, and no
window. `nats` takes them in a callback, which is its fastest way; `iterated` by `async for`, as from a Node.

Usage: python benchmarks/bench_node.py [messages] [runs]
"""

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from aforesaid import Config, MessageId, Node
from aforesaid.core import CausalDelivery, Windowed
from aforesaid.node import host
from aforesaid.node.carrying.securing import Sealed
from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg
from aforesaid.security.keyfiles import load_cluster_key, write_cluster_key
from aforesaid.transport import Address, Datagrams
from aforesaid.wire import Codec, cluster_id, pack, shapes_of, unpack
from aforesaid.wire.packet import Header

PAYLOAD = bytes(100)
NAMES = ("alice", "bob")
ALGORITHM = "hybrid_multicast_in_order"
WINDOW = 1024
BATCH = 64
OVER_NATS = ("nats", "iterated")


class Bare:
    """The stack without the protocol."""

    def __init__(self, name: str, listen: Address, other: Address, key: Path) -> None:
        header = Header(cluster_id("bench", ALGORITHM), name, 1)
        self.seals = Sealed([load_cluster_key(key)], header)
        self.codec = Codec(shapes_of(ALGORITHM, NAMES))
        self.listen, self.other = listen, other
        self.session = b""
        self.sent = self.acked = self.heard = 0
        self.moved = asyncio.Event()

    async def start(self) -> None:
        self.socket = await Datagrams.open(self.listen, 1400, self.take)
        while not self.session:
            self.socket.send(self.seals.greet(), self.other)
            await asyncio.sleep(0.01)
        self.socket.send(self.seals.greet(), self.other)

    def take(self, datagrams: list[bytes]) -> None:
        before = self.heard
        decode = self.codec.decode
        for data in datagrams:
            opened = self.seals.open(data)
            self.session = opened.session
            frames = unpack(opened.body) if opened.body else []
            assert isinstance(frames, list), "so small a frame is never cut up"
            for frame in frames:
                message = decode(frame)
                if type(message) is Msg:
                    self.heard += 1
                else:
                    self.acked = message.number
        if self.heard > before:
            self.say([Ack(self.heard, 0)])
        self.moved.set()

    def say(self, messages: list[object]) -> None:
        encode = self.codec.encode
        for body in pack([encode(message) for message in messages], 1400 - self.seals.overhead):
            self.socket.send(self.seals.seal(body, self.session), self.other)


async def bare(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    end = Bare(me, addresses[me], addresses[NAMES[me == NAMES[0]]], key)
    await end.start()
    if me == NAMES[1]:
        while not end.heard:
            end.moved.clear()
            await end.moved.wait()
        with Stopwatch(count):
            while end.heard < count:
                end.moved.clear()
                await end.moved.wait()
        return
    await asyncio.sleep(0.2)
    with Stopwatch(count):
        while end.sent < count:
            while end.sent - end.acked + BATCH > WINDOW:
                end.moved.clear()
                await asyncio.wait_for(end.moved.wait(), 5)
            numbers = range(end.sent + 1, min(end.sent + BATCH, count) + 1)
            end.say([Msg(1, number, number - 1, False, PAYLOAD) for number in numbers])
            end.sent = numbers[-1]
            await asyncio.sleep(0)
        while end.acked < count:
            end.moved.clear()
            await asyncio.wait_for(end.moved.wait(), 5)


class Counting(CausalDelivery, Windowed):
    """A protocol that promises nothing: numbers what is said, delivers what comes, acknowledges its count."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.said = self.heard = self.acked = 0

    def send(self, targets: Sequence[str], payload: bytes, now: int, out: Any) -> MessageId:
        self.said += 1
        out.send(targets, Msg(1, self.said, self.said - 1, False, payload))
        return MessageId(self.me, 1, self.said)

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        if type(message) is Msg:
            self.heard += 1
            out.deliver(MessageId(source, 1, message.number), message.payload)
            out.send((source,), Ack(self.heard, 0))
        else:
            self.acked = message.number

    def expire(self, timer: Any, now: int, out: Any) -> None: ...

    def peer_up(self, peer: str, now: int, out: Any) -> None: ...

    def peer_down(self, peer: str, now: int, out: Any) -> None: ...

    @property
    def stable_below(self) -> int:
        return self.acked + 1

    def lacking(self, number: int) -> tuple[str, ...]:
        return () if number <= self.acked else NAMES

    def owed(self, peer: str) -> int:
        return self.said - self.acked

    def retries(self, peer: str) -> tuple[()]:
        return ()

    def gauges(self) -> dict[str, int]:
        return {}


async def shell(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    # The one name there is no setting for: what the host builds.
    with patch.object(host, "machine_of", lambda config, incarnation: Counting(config.name)):
        await hybrid(me, addresses, key, count)


async def hybrid(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    other = NAMES[me == NAMES[0]]
    config = Config(
        name=me,
        algorithm=ALGORITHM,
        listen=str(addresses[me]),
        peers={other: str(addresses[other])},
        security=Config.of({"name": me, "security": {"cluster_key": str(key)}}).security,
    )
    async with Node(config) as node:
        if me == NAMES[1]:
            await anext(node)
            with Stopwatch(count):
                for _ in range(count - 1):
                    await anext(node)
            return
        while node.peers[other] != "connected":
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        with Stopwatch(count):
            for _ in range(count):
                receipt = await node.send((other,), PAYLOAD)
            await receipt.stable()


class Heard:
    """Counts messages, for whoever waits for the first and for the last one."""

    def __init__(self, count: int) -> None:
        self.left = self.count = count
        self.first, self.last = asyncio.Event(), asyncio.Event()

    async def take(self, message: Any) -> None:
        self.left -= 1
        if self.left == self.count - 1:
            self.first.set()
        if not self.left:
            self.last.set()


async def iterated(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    await nats(me, addresses, key, count, iterating=True)


async def nats(
    me: str, addresses: dict[str, Address], key: Path, count: int, iterating: bool = False
) -> None:
    import nats as client

    connection = await client.connect(f"nats://{addresses[NAMES[0]]}", connect_timeout=10)
    if me == NAMES[1]:
        heard = Heard(count)
        unbounded = {"pending_msgs_limit": -1, "pending_bytes_limit": -1}
        said = await connection.subscribe("said", cb=None if iterating else heard.take, **unbounded)
        ready = await connection.subscribe("ready?")
        await connection.flush()
        await (await ready.next_msg(timeout=20)).respond(b"")
        if iterating:
            await heard.take(await said.next_msg(timeout=20))
        await heard.first.wait()
        with Stopwatch(count):
            if iterating:
                messages = said.messages
                for _ in range(count - 1):
                    await anext(messages)
            else:
                await heard.last.wait()
        await connection.publish("done", b"")
        await connection.flush()
    else:
        done = await connection.subscribe("done")
        while True:
            try:
                await connection.request("ready?", b"", timeout=1)
                break
            except client.errors.Error:
                await asyncio.sleep(0.05)
        with Stopwatch(count):
            for _ in range(count):
                await connection.publish("said", PAYLOAD)
            await done.next_msg(timeout=60)
    await connection.close()


def has_nats() -> bool:
    return shutil.which("nats-server") is not None and importlib.util.find_spec("nats") is not None


@contextmanager
def nats_server(port: str) -> Iterator[None]:
    server = subprocess.Popen(
        ["nats-server", "--addr", "127.0.0.1", "--port", port],
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        server.terminate()
        server.wait()


class Stopwatch:
    """Prints messages per second, and the processor time of this end per message."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> None:
        self.began = time.perf_counter(), time.process_time()

    def __exit__(self, *error: object) -> None:
        seconds, busy = time.perf_counter() - self.began[0], time.process_time() - self.began[1]
        print(self.count / seconds, busy / self.count * 1e6)


def measured(what: str, key: Path, count: int) -> tuple[float, float, float]:
    """Messages per second, and microseconds of processor time per message at either end."""
    ports = [str(40_000 + (os.getpid() * 7 + offset) % 20_000) for offset in range(2)]
    command = [sys.executable, __file__, what, *ports, str(key), str(count)]
    with nats_server(ports[0]) if what in OVER_NATS else nullcontext():
        ends = [
            subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in reversed(NAMES)
        ]
        (_, receive), (rate, send) = (map(float, end.communicate(timeout=120)[0].split()) for end in ends)
    return rate, send, receive


def main(count: int, runs: int) -> None:
    found: dict[str, list[float]] = {"bare": [], "shell": [], "hybrid": []}
    if has_nats():
        found |= {what: [] for what in OVER_NATS}
    else:
        print("nats     not measured: needs nats-server (a Debian package) and nats-py")
    with tempfile.TemporaryDirectory() as directory:
        key = Path(directory) / "key"
        write_cluster_key(key)
        for _ in range(runs):
            for what, rates in found.items():
                rate, send, receive = measured(what, key, count)
                rates.append(rate)
                print(
                    f"{what:8} {rate:9,.0f} messages/s   {send:4.1f} us to send, {receive:4.1f} us to receive"
                )
    for what in [what for what in ("shell", "bare", *OVER_NATS) if what in found]:
        ratios = [ours / theirs for ours, theirs in zip(found["hybrid"], found[what], strict=True)]
        print(f"hybrid / {what}: {median(ratios):.0%} (of {runs}: {min(ratios):.0%} to {max(ratios):.0%})")


def end_of(what: str, ports: list[str], key: str, count: str, me: str) -> None:
    addresses = {name: Address("127.0.0.1", int(port)) for name, port in zip(NAMES, ports, strict=True)}
    tasks = {"bare": bare, "shell": shell, "hybrid": hybrid, "nats": nats, "iterated": iterated}
    task = tasks[what](me, addresses, Path(key), int(count))
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(task)
    else:
        uvloop.run(task)


if __name__ == "__main__":
    if len(sys.argv) > 2 and not sys.argv[1].isdecimal():
        end_of(sys.argv[1], sys.argv[2:4], *sys.argv[4:])
    else:
        main(*(int(argument) for argument in (*sys.argv[1:], "100000", "3")[:2]))
