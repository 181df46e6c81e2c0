"""Processes on loopback, 100-byte messages, sealed UDP: hybrid buffering, its own stack without it, and NATS.

One speaks and one hears, or four do. Sockets, cipher, codec and windows of as many messages are the same in
all but NATS:
- `many`: `aforesaid.Node`, with `send_many` and `batches`;
- `hybrid`: the same, a call for each message;
- `shell`: as `hybrid`, with a protocol in it that only counts: no order, no permits, nothing sent again, and
  no runs;
- `bare`: no Node either; a loop that fills datagrams with runs and acknowledges once per wake-up.
Processor time is from the first message to the last, at each end; a hearer's is that of one of them.

Where `nats-server` and the package `nats-py` are installed, the same messages go over NATS too: published and
subscribed to through its server, in the clear, with no order between senders, nothing sent again, and no
window. `nats` takes them in a callback, which is its fastest way; `iterated` by `async for`, as from a Node.
Its server's processor time is counted with all the rest.

Latency: a message every millisecond, one hearer, from before it is said until the application has it.

Usage: python benchmarks/bench_node.py [messages] [runs]
"""

import asyncio
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

from aforesaid import Config, MessageId, Node
from aforesaid.core import CausalDelivery, Windowed
from aforesaid.node import turns
from aforesaid.node.carrying.securing import Sealed
from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg
from aforesaid.protocols.delivery.hybrid_runs import count_of, run_of
from aforesaid.security.keyfiles import load_cluster_key, write_cluster_key
from aforesaid.transport import Address, Datagrams
from aforesaid.wire import Codec, cluster_id, pack, shapes_of, unpack
from aforesaid.wire.packet import Header

PAYLOAD = bytes(100)
EVERYBODY = ("alice", "bob", "carol", "dave", "erin")
NAMES = EVERYBODY[:2]
ALGORITHM = "hybrid_multicast_in_order"
WINDOW = 1024
BATCH = 64
MANY = 256
DATAGRAM_BYTES = 8192
OVER_NATS = ("nats", "iterated", "nats late")
RATE_S = 0.001
LATE = 2000
"""How many messages their latency is measured of."""
SETTLED = 200
"""The first of them do not count."""


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
        self.socket = await Datagrams.open(self.listen, DATAGRAM_BYTES, self.take)
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
                    self.heard += count_of(message.payload)
                else:
                    self.acked = message.number
        if self.heard > before:
            self.say([Ack(self.heard, 0)])
        self.moved.set()

    def say(self, messages: list[object]) -> None:
        encode = self.codec.encode
        bodies = pack([encode(message) for message in messages], DATAGRAM_BYTES - self.seals.overhead)
        self.socket.send_all([self.seals.seal(body, self.session) for body in bodies], self.other)


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
            last = min(end.sent + BATCH, count)
            end.say([Msg(1, last, end.sent, False, run_of([PAYLOAD] * (last - end.sent)))])
            end.sent = last
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
    with patch.object(turns, "machine_of", lambda config, incarnation: Counting(config.name)):
        await hybrid(me, addresses, key, count)


def config_of(me: str, addresses: dict[str, Address], key: Path) -> Config:
    return Config(
        name=me,
        algorithm=ALGORITHM,
        listen=str(addresses[me]),
        peers={name: str(address) for name, address in addresses.items() if name != me},
        security=Config.of({"name": me, "security": {"cluster_key": str(key)}}).security,
    )


async def connected(node: Node) -> tuple[str, ...]:
    """All others, once they are there."""
    while set(node.peers.values()) != {"connected"}:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    return tuple(node.peers)


async def hybrid(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    async with Node(config_of(me, addresses, key)) as node:
        if me != NAMES[0]:
            await anext(node)
            with Stopwatch(count):
                for _ in range(count - 1):
                    await anext(node)
            return
        others = await connected(node)
        with Stopwatch(count):
            for _ in range(count):
                receipt = await node.send(others, PAYLOAD)
            await receipt.stable()


async def many(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    """The same, many messages in one call."""
    async with Node(config_of(me, addresses, key)) as node:
        if me != NAMES[0]:
            batches = node.batches()
            heard = len(await anext(batches))
            with Stopwatch(count):
                while heard < count:
                    heard += len(await anext(batches))
            return
        others = await connected(node)
        with Stopwatch(count):
            for begin in range(0, count, MANY):
                receipt = await node.send_many(others, [PAYLOAD] * min(MANY, count - begin))
            await receipt.stable()


async def late(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    async with Node(config_of(me, addresses, key)) as node:
        if me != NAMES[0]:
            delays = Delays()
            for _ in range(LATE):
                delays.add((await anext(node)).payload)
            delays.show()
            return
        others = await connected(node)
        async for payload in paced():
            await node.send(others, payload)
        await node.drain()


async def nats_late(me: str, addresses: dict[str, Address], key: Path, count: int) -> None:
    import nats as client

    connection = await client.connect(f"nats://{addresses[NAMES[0]]}", connect_timeout=10)
    done = await connection.subscribe("done")
    if me != NAMES[0]:
        delays, all_heard = Delays(), asyncio.Event()

        async def take(message: Any) -> None:
            if len(delays.add(message.data)) == LATE:
                all_heard.set()

        await connection.subscribe("said", cb=take)
        ready = await connection.subscribe("ready?")
        await connection.flush()
        await (await ready.next_msg(timeout=20)).respond(b"")
        await all_heard.wait()
        delays.show()
        await connection.publish("done", b"")
        await connection.flush()
    else:
        await answered(connection, client)
        async for payload in paced():
            await connection.publish("said", payload)
        await done.next_msg(timeout=60)
    await connection.close()


async def answered(connection: Any, client: Any) -> None:
    while True:
        try:
            await connection.request("ready?", b"", timeout=1)
            return
        except client.errors.Error:
            await asyncio.sleep(0.05)


async def paced() -> AsyncIterator[bytes]:
    """Payloads that tell when they were made, at the rate."""
    began = time.perf_counter()
    for number in range(LATE):
        ahead = began + number * RATE_S - time.perf_counter()
        if ahead > 0:
            await asyncio.sleep(ahead)
        yield time.monotonic_ns().to_bytes(8) + PAYLOAD[8:]


class Delays:
    """How long payloads took."""

    def __init__(self) -> None:
        self.ns: list[int] = []

    def add(self, payload: bytes) -> list[int]:
        self.ns.append(time.monotonic_ns() - int.from_bytes(payload[:8]))
        return self.ns

    def show(self) -> None:
        settled = sorted(self.ns[SETTLED:])
        print(settled[len(settled) // 2] / 1e6, settled[len(settled) * 99 // 100] / 1e6)


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
    if me != NAMES[0]:
        heard = Heard(count)
        unbounded: dict[str, Any] = {"pending_msgs_limit": -1, "pending_bytes_limit": -1}
        said = await connection.subscribe("said", cb=None if iterating else heard.take, **unbounded)
        # One of them answers each question, and then asks no more to be asked.
        ready = await connection.subscribe("ready?", queue="hearers")
        await connection.flush()
        await (await ready.next_msg(timeout=20)).respond(b"")
        await ready.unsubscribe()
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
        for _ in range(len(addresses) - 1):
            await answered(connection, client)
        with Stopwatch(count):
            for _ in range(count):
                await connection.publish("said", PAYLOAD)
            for _ in range(len(addresses) - 1):
                await done.next_msg(timeout=60)
    await connection.close()


def free_ports(count: int) -> list[str]:
    """Nobody's just now, of UDP and of TCP."""
    with ExitStack() as stack:
        ports: list[str] = []
        while len(ports) < count:
            datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            datagrams.bind(("127.0.0.1", 0))
            port = datagrams.getsockname()[1]
            streams = stack.enter_context(socket.socket())
            with suppress(OSError):
                streams.bind(("127.0.0.1", port))
                ports.append(str(port))
        return ports


def has_nats() -> bool:
    return shutil.which("nats-server") is not None and importlib.util.find_spec("nats") is not None


@contextmanager
def nats_server(port: str) -> Iterator[list[float]]:
    """The list has the processor time that the server took, in seconds, when it is over."""
    server = subprocess.Popen(
        ["nats-server", "--addr", "127.0.0.1", "--port", port], stderr=subprocess.DEVNULL
    )
    took: list[float] = []
    try:
        until_it_listens(server, int(port))
        yield took
        ticks = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        took.append(sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))
    finally:
        server.terminate()
        server.wait()


def until_it_listens(server: "subprocess.Popen[bytes]", port: int) -> None:
    for _ in range(500):
        assert server.poll() is None, "nats-server has ended"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.01)
    raise TimeoutError(f"nats-server does not listen at port {port}")


class Stopwatch:
    """Prints messages per second, and the processor time of this end per message."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> None:
        self.began = time.perf_counter(), time.process_time()

    def __exit__(self, *error: object) -> None:
        seconds, busy = time.perf_counter() - self.began[0], time.process_time() - self.began[1]
        print(self.count / seconds, busy / self.count * 1e6)


class Found(NamedTuple):
    """Of one measurement."""

    rate: float
    """Messages per second."""
    send: float
    """Microseconds of processor time per message, as all that follow."""
    receive: float
    """Of the mean hearer."""
    server: float
    hearers: int

    @property
    def total(self) -> float:
        return self.send + self.hearers * self.receive + self.server


def ends_of(what: str, key: Path, count: int, hearers: int) -> tuple[list[list[float]], float]:
    """What the ends print, the speaker last; and the server's seconds."""
    ports = free_ports(hearers + 1)
    command = [sys.executable, __file__, what, str(key), str(count)]
    with nats_server(ports[0]) if what in OVER_NATS else nullcontext([0.0]) as took:
        ends = [
            subprocess.Popen([*command, name, *ports], stdout=subprocess.PIPE, text=True)
            for name in reversed(EVERYBODY[: hearers + 1])
        ]
        printed = [list(map(float, end.communicate(timeout=120)[0].split())) for end in ends]
    return printed, took[0]


def measured(what: str, key: Path, count: int, hearers: int) -> Found:
    (*heard, (rate, send)), took = ends_of(what, key, count, hearers)
    return Found(rate, send, sum(busy for _, busy in heard) / hearers, took / count * 1e6, hearers)


def main(count: int, runs: int) -> None:
    to_one, to_four = ["bare", "shell", "hybrid", "many"], ["hybrid", "many"]
    if has_nats():
        to_one, to_four = [*to_one, "nats", "iterated"], [*to_four, "nats"]
    else:
        print("nats     not measured: needs nats-server (a Debian package) and nats-py")
    with tempfile.TemporaryDirectory() as directory:
        key = Path(directory) / "key"
        write_cluster_key(key)
        for hearers, whats in ((1, to_one), (4, to_four)):
            found: dict[str, list[Found]] = {what: [] for what in whats}
            for _ in range(runs):
                for what in whats:
                    found[what].append(measured(what, key, count // hearers, hearers))
            show(found, hearers, runs)
        delays: dict[str, list[list[float]]] = {"late": []}
        if has_nats():
            delays["nats late"] = []
        for _ in range(runs):
            for what, each in delays.items():
                each.append(ends_of(what, key, LATE, 1)[0][0])
        for what, each in delays.items():
            p50, p99 = (median(column) for column in zip(*each, strict=True))
            print(f"{what:9} one each millisecond: p50 {p50:.3f} ms, p99 {p99:.3f} ms (medians of {runs})")


def show(found: dict[str, list[Found]], hearers: int, runs: int) -> None:
    print(f"to {hearers}, medians of {runs}; microseconds of processor time per message")
    for what, each in found.items():
        rate, send, receive, server, _ = (median(column) for column in zip(*each, strict=True))
        total = median(one.total for one in each)
        print(
            f"{what:9}{rate:9,.0f} messages/s   {send:5.2f} to send, {receive:5.2f} to receive, "
            f"{server:4.2f} of a server: {total:5.2f} in all"
        )
    for ours in ("hybrid", "many"):
        for theirs in [what for what in found if what not in ("hybrid", "many")]:
            pairs = list(zip(found[ours], found[theirs], strict=True))
            rates = median(one.rate / other.rate for one, other in pairs)
            totals = median(one.total / other.total for one, other in pairs)
            print(f"{ours} / {theirs}: {rates:.0%} of its throughput, {totals:.0%} of its processor time")


def end_of(what: str, key: str, count: str, me: str, *ports: str) -> None:
    names = EVERYBODY[: len(ports)]
    addresses = {name: Address("127.0.0.1", int(port)) for name, port in zip(names, ports, strict=True)}
    tasks = {
        "bare": bare,
        "shell": shell,
        "hybrid": hybrid,
        "many": many,
        "late": late,
        "nats": nats,
        "iterated": iterated,
        "nats late": nats_late,
    }
    task = tasks[what](me, addresses, Path(key), int(count))
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(task)
    else:
        uvloop.run(task)


if __name__ == "__main__":
    if len(sys.argv) > 2 and not sys.argv[1].isdecimal():
        end_of(*sys.argv[1:])
    else:
        main(*(int(argument) for argument in (*sys.argv[1:], "100000", "5")[:2]))
