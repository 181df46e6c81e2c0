"""Two processes on loopback, 100-byte messages, sealed UDP: what it costs a node to survive.

Each way in turn, the same program: as many tasks as `TALKERS` say messages to the other end, for `send`
returns when what was said is on the disk.
- `none`: nothing is kept;
- `batch`, `always`: both ends keep all that they are told, and say nothing before it is forced;
- `forces`: `always` on a disk that takes no time (no `fdatasync`): what is left is the processor's part.
Beside it how often the sender forced its journal, and how much of the run's time bare writes of the same
batches, each forced, take right after it: near 100 %, the disk's syncs are what bounds it.
Then a restart: how long the receiver, killed at its last message, takes to be back. With `restarts`, nothing
but that, after a hundredth, a tenth and all of so many messages, many at once: snapshots bound it.
Exit code 1 if a bar is missed: `batch` with 60 % of the rate of `none`, a restart within 2 s.

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
AT_ONCE = 256
BATCH_RATE_MIN = 0.6
BACK_S_MAX = 2.0
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
            "durability": {"forces": "always", "many": "batch"}.get(way, way),
            "security": {"cluster_key": str(place / "key")},
        }
    )


async def talk(node: Node, other: str, count: int) -> None:
    left = iter(range(count))

    async def talker() -> None:
        for _ in left:
            await node.send((other,), PAYLOAD)

    await asyncio.gather(*(talker() for _ in range(TALKERS)))


async def talk_at_once(node: Node, other: str, count: int) -> None:
    for _ in range(0, count, AT_ONCE):
        await node.send_many((other,), [PAYLOAD] * AT_ONCE)


async def take(node: Node, count: int) -> None:
    async for batch in node.batches():
        count -= len(batch)
        if count <= 0:
            return


class Forces:
    """What a process wrote and forced, batch by batch."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._unforced = 0
        self._write, self._force = REAL.disk.write, REAL.disk.force

    def write(self, file: int, data: bytes) -> int:
        self._unforced += len(data)
        return self._write(file, data)

    def force(self, file: int) -> None:
        self.sizes.append(self._unforced)
        self._unforced = 0
        self._force(file)

    def bare_s(self, place: Path) -> float:
        """How long nothing but these writes and forces takes."""
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        began = time.perf_counter()
        for size in self.sizes:
            os.write(file, bytes(size))
            os.fdatasync(file)
        os.close(file)
        return time.perf_counter() - began


async def end(me: str, way: str, ports: list[str], place: Path, count: int) -> None:
    """Prints seconds, microseconds of processor time per message, how often it forced its journal, and how
    long that takes by itself."""
    forces = Forces()
    with patch.multiple(REAL.disk, write=forces.write, force=forces.force):
        await measure(me, way, ports, place, count, forces)


async def measure(me: str, way: str, ports: list[str], place: Path, count: int, forces: Forces) -> None:
    async with Node(config_of(me, way, ports, place)) as node:
        if me == NAMES[1]:
            await anext(node)
            forces.sizes.clear()
            began = time.perf_counter(), time.process_time()
            if way == "many":
                await take(node, count - 1)
            else:
                for _ in range(count - 1):
                    await anext(node)
        else:
            while node.peers[NAMES[1]] != "connected":
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            forces.sizes.clear()
            began = time.perf_counter(), time.process_time()
            await (talk_at_once if way == "many" else talk)(node, NAMES[1], count)
        took = time.perf_counter() - began[0], (time.process_time() - began[1]) / count * 1e6
        bare_s = forces.bare_s(place / f"{me}.bare") if way in ("batch", "always") else 0.0
        print(*took, len(forces.sizes), bare_s, flush=True)
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
    forces: int
    """Of the sender."""
    bare: float
    """How much of the time bare writes and forces of the same bytes take, at the end where it is more."""
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
        (sending_s, send, forces, bare_send), (seconds, receive, _, bare_receive) = (
            map(float, each.communicate(timeout=170 + count / 1000)[0].split()) for each in ends
        )
        journal_bytes = sum(file.stat().st_size for file in place.glob(f"{NAMES[1]}/journal/*"))
        back = asyncio.run(restarted(way, ports, place)) if way in ("batch", "many") else (0.0, 0.0)
    bare = max(bare_send / sending_s, bare_receive / seconds)
    return Measured(count / seconds, send, receive, journal_bytes, int(forces), bare, *back)


async def restarted(way: str, ports: list[str], place: Path) -> tuple[float, float]:
    began = time.perf_counter(), time.process_time()
    async with Node(config_of(NAMES[1], way, ports, place)):
        return time.perf_counter() - began[0], time.process_time() - began[1]


def main(count: int, runs: int) -> int:
    found: dict[str, list[Measured]] = {way: [] for way in WAYS}
    for _ in range(runs):
        for way, those in found.items():
            one = measured(way, count)
            those.append(one)
            restart = f", {one.back_s:.2f} s to be back" if one.back_s else ""
            cost = f"{one.send:5.1f} us to send, {one.receive:5.1f} us to receive"
            syncs = f", {count / one.forces:.0f} messages a sync, bare {one.bare:.0%}" if one.bare else ""
            print(f"{way:7} {one.rate:8,.0f} messages/s  {cost}{syncs}{restart}", flush=True)
    for way in WAYS[1:]:
        pairs = list(zip(found[way], found["none"], strict=True))
        rates = [ours.rate / plain.rate for ours, plain in pairs]
        costs = [(ours.send + ours.receive) / (plain.send + plain.receive) for ours, plain in pairs]
        print(
            f"{way} / none, of {runs}: rate {median(rates):.0%} ({min(rates):.0%} to {max(rates):.0%}), "
            f"CPU at both ends {median(costs):.2f} times ({min(costs):.2f} to {max(costs):.2f})"
        )
        if way == "always":
            shares = [ours.bare for ours in found[way]]
            each = f"{median(shares):.0%} ({min(shares):.0%} to {max(shares):.0%})"
            print(f"bare writes of the same batches, each forced: {each} of the time of {way}")
    rate = median(ours.rate / plain.rate for ours, plain in zip(found["batch"], found["none"], strict=True))
    return rate < BATCH_RATE_MIN


def restarts(most: int) -> int:
    missed = False
    for count in (most // 100, most // 10, most):
        one = measured("many", count)
        back = f"{one.back_s:.2f} s to be back, {one.back_cpu_s:.2f} s of CPU"
        what = f"{one.rate:,.0f}/s, {one.journal_bytes:,} bytes in the journal"
        print(f"after {count:10,} messages: {what}, {back}", flush=True)
        missed |= one.back_s > BACK_S_MAX
    return missed


if __name__ == "__main__":
    if sys.argv[1:2] == ["restarts"]:
        sys.exit(restarts(int((*sys.argv[2:], "1000000")[0])))
    elif len(sys.argv) > 2 and not sys.argv[1].isdecimal():
        way, *ports, directory, number, name = sys.argv[1:]
        with patch.object(REAL.disk, "force", (lambda _: None) if way == "forces" else REAL.disk.force):
            asyncio.run(end(name, way, ports, Path(directory), int(number)))
    else:
        sys.exit(main(*(int(argument) for argument in (*sys.argv[1:], "20000", "3")[:2])))
