"""Two processes on loopback, 100-byte messages, sealed UDP: what it costs a node to survive.

Each way in turn, the same program: as many tasks as `TALKERS` say messages to the other end, for `send`
returns when what was said is on the disk.
- `none`: nothing is kept;
- `batch`, `always`: both ends keep all that they are told, and say nothing before it is forced;
- `forces`: `always` on a disk that takes no time (no `fdatasync`): what is left is the processor's part.
Then a restart: how long the receiver, killed at its last message, takes to be back. With `restarts`, nothing
but that, after a quarter, half and all of so many messages: snapshots bound it.

Usage: python benchmarks/bench_durable.py [messages] [runs]
       python benchmarks/bench_durable.py restarts [messages]
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from unittest.mock import patch

from aforesaid import Config, Node
from aforesaid.ground import REAL
from aforesaid.security.keyfiles import write_cluster_key

PAYLOAD = bytes(100)
NAMES = ("alice", "bob")
TALKERS = 512
WAYS = ("none", "batch", "always", "forces")


def config_of(me: str, way: str, ports: list[str], place: Path) -> Config:
    at = dict(zip(NAMES, (f"127.0.0.1:{port}" for port in ports), strict=True))
    return Config.of(
        {
            "name": me,
            "listen": at.pop(me),
            "peers": at,
            "directory": str(place / me),
            "trace": False,
            "durability": "always" if way == "forces" else way,
            "security": {"cluster_key": str(place / "key")},
        }
    )


async def talk(node: Node, other: str, count: int) -> None:
    left = iter(range(count))

    async def talker() -> None:
        for _ in left:
            await node.send((other,), PAYLOAD)

    await asyncio.gather(*(talker() for _ in range(TALKERS)))


async def end(me: str, way: str, ports: list[str], place: Path, count: int) -> None:
    """Prints seconds, and microseconds of processor time per message."""
    async with Node(config_of(me, way, ports, place)) as node:
        if me == NAMES[1]:
            await anext(node)
            began = time.perf_counter(), time.process_time()
            for _ in range(count - 1):
                await anext(node)
        else:
            while node.peers[NAMES[1]] != "connected":
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            began = time.perf_counter(), time.process_time()
            await talk(node, NAMES[1], count)
        print(time.perf_counter() - began[0], (time.process_time() - began[1]) / count * 1e6, flush=True)
        if me == NAMES[1]:
            # The other end may still have to hear that all arrived.
            await asyncio.sleep(2)
            os._exit(0)  # As a kill: nothing is closed in order.
        # A node that survives does not wait for others when it closes.
        await node.drain()


@dataclass(frozen=True)
class Measured:
    rate: float
    """Messages per second."""
    send: float
    """Microseconds of CPU per message, as the next one."""
    receive: float
    journal_bytes: int
    """What the receiver has to read when it comes back."""
    back_s: float
    back_cpu_s: float


def measured(way: str, count: int) -> Measured:
    ports = [str(40_000 + (os.getpid() * 7 + offset) % 20_000) for offset in range(2)]
    # On the disk of this checkout: where temporary files go there may be none.
    Path("build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="build") as directory:
        place = Path(directory)
        write_cluster_key(place / "key")
        command = [sys.executable, __file__, way, *ports, str(place), str(count)]
        ends = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in NAMES]
        (_, send), (seconds, receive) = (
            map(float, each.communicate(timeout=170)[0].split()) for each in ends
        )
        journal_bytes = sum(file.stat().st_size for file in place.glob(f"{NAMES[1]}/journal/*"))
        back = asyncio.run(restarted(way, ports, place)) if way == "batch" else (0.0, 0.0)
    return Measured(count / seconds, send, receive, journal_bytes, *back)


async def restarted(way: str, ports: list[str], place: Path) -> tuple[float, float]:
    began = time.perf_counter(), time.process_time()
    async with Node(config_of(NAMES[1], way, ports, place)):
        return time.perf_counter() - began[0], time.process_time() - began[1]


def main(count: int, runs: int) -> None:
    found: dict[str, list[Measured]] = {way: [] for way in WAYS}
    for _ in range(runs):
        for way, those in found.items():
            one = measured(way, count)
            those.append(one)
            restart = f", {one.back_s:.2f} s to be back" if one.back_s else ""
            cost = f"{one.send:5.1f} us to send, {one.receive:5.1f} us to receive"
            print(f"{way:7} {one.rate:8,.0f} messages/s  {cost}{restart}", flush=True)
    for way in WAYS[1:]:
        pairs = list(zip(found[way], found["none"], strict=True))
        rates = [ours.rate / plain.rate for ours, plain in pairs]
        costs = [(ours.send + ours.receive) / (plain.send + plain.receive) for ours, plain in pairs]
        print(
            f"{way} / none, of {runs}: rate {median(rates):.0%} ({min(rates):.0%} to {max(rates):.0%}), "
            f"CPU at both ends {median(costs):.2f} times ({min(costs):.2f} to {max(costs):.2f})"
        )


def restarts(most: int) -> None:
    for count in (most // 4, most // 2, most):
        one = measured("batch", count)
        back = f"{one.back_s:.2f} s to be back, {one.back_cpu_s:.2f} s of CPU"
        print(f"after {count:9,} messages: {one.journal_bytes:,} bytes in the journal, {back}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["restarts"]:
        restarts(int((*sys.argv[2:], "200000")[0]))
    elif len(sys.argv) > 2 and not sys.argv[1].isdecimal():
        way, *ports, directory, number, name = sys.argv[1:]
        with patch.object(REAL.disk, "force", (lambda _: None) if way == "forces" else REAL.disk.force):
            asyncio.run(end(name, way, ports, Path(directory), int(number)))
    else:
        main(*(int(argument) for argument in (*sys.argv[1:], "20000", "3")[:2]))
