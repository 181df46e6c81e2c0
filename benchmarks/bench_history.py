"""How fast a newcomer has the past, and how soon a member that was away is back.

    python benchmarks/bench_history.py newcomer 1000000   # messages of 100 bytes in the log of a member
    python benchmarks/bench_history.py away 60000         # said while a member was killed
    python benchmarks/bench_history.py fixed 60000        # the same in a fixed group of two that survive

Every node is a process, on loopback, over TCP in the clear. `newcomer`: the member's log is written by this
program in the form that nodes write it, for saying a million messages one by one would take longer than the
rest; then the member starts on it. `fixed`: over UDP, by hybrid buffering, with `durability = "batch"`. The
newcomer's clock runs from the start of its node to the last message
in its application, which only counts. Its CPU is its own, without the member's. Exit code 1 if a bar is
missed: 100,000 messages a second for a newcomer, 5 s until a member is back.
"""

import asyncio
import contextlib
import itertools
import multiprocessing
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from aforesaid import Config, Node
from aforesaid.ground import REAL
from aforesaid.node.history.history import PLACE
from aforesaid.node.history.log import DeliveryLog

PAYLOAD = bytes(100)
BLOCKS = (64, 1)
"""Messages in one block of a log, which has what came in one turn: under load, and one by one."""
AUTHORS = 5
RETENTION_BYTES = 2**30
TALKERS = 512
RATE_MIN = 100_000
BACK_S_MAX = 5.0


def config_of(name: str, root: Path | None, **facts: Any) -> Config:
    return Config.of(
        {
            "name": name,
            "algorithm": "prc_spray",
            "transport": "tcp",
            "retention_bytes": RETENTION_BYTES,
            "trace": False,
            **({} if root is None else {"directory": str(root / name)}),
            **facts,
        }
    )


def write_log(root: Path, count: int, block: int) -> None:
    """As a node named alice would have written it, of a group of several who spoke in turn."""
    log = DeliveryLog(REAL.disk, root / "alice" / PLACE, "aforesaid/alice prc_spray", RETENTION_BYTES, None)
    for first in range(0, count, block):
        places = range(first, min(first + block, count))
        log.append([(f"p{at % AUTHORS}", 1, at // AUTHORS + 1, PAYLOAD) for at in places], time.time_ns())
    log.acknowledge(count)
    log.close()


async def serve(root: Path, pipe: Connection) -> None:
    """A member: says as many messages as it is told, and tells when that is done."""
    async with Node(config_of("alice", root)) as node:
        hearing = asyncio.create_task(_count(node, 1 << 62))
        await asyncio.sleep(0)
        pipe.send(str(node.address))
        while (count := await asyncio.to_thread(pipe.recv)) is not None:
            for _ in range(count):
                await node.broadcast(PAYLOAD)
            pipe.send(count)
        hearing.cancel()


async def take(config: Config, pipe: Connection, upto: int) -> None:
    """A member that counts, and tells how long it took until it had so many."""
    began, cpu = time.perf_counter(), time.process_time()
    async with Node(config, history="all" if config.keeps else None) as node:
        await _count(node, upto)
        pipe.send((time.perf_counter() - began, time.process_time() - cpu))
        await _count(node, 1 << 62)


def config_of_two(name: str, root: Path, ports: tuple[int, int]) -> Config:
    at = {each: f"127.0.0.1:{port}" for each, port in zip(("alice", "bob"), ports, strict=True)}
    return Config.of(
        {
            "name": name,
            "listen": at.pop(name),
            "peers": at,
            "directory": str(root / name),
            "durability": "batch",
            "evict_after_s": 0,
            "retention_bytes": RETENTION_BYTES,
            "trace": False,
        }
    )


async def serve_one(config: Config, pipe: Connection) -> None:
    """Says to the other one as many messages as it is told."""
    async with Node(config) as node:
        while (count := await asyncio.to_thread(pipe.recv)) is not None:
            left = iter(range(count))

            async def talk(left: Iterator[int] = left) -> None:
                for _ in left:
                    await node.send(("bob",), PAYLOAD)

            await asyncio.gather(*(talk() for _ in range(TALKERS)))
            pipe.send(count)


async def _count(node: Node, upto: int) -> None:
    async for message in node:
        if message.offset == upto:
            return


def _serve(root: Path, pipe: Connection) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(root, pipe))


def _serve_one(config: Config, pipe: Connection) -> None:
    asyncio.run(serve_one(config, pipe))


def _take(config: Config, pipe: Connection, upto: int) -> None:
    asyncio.run(take(config, pipe, upto))


def started(target: Any, *arguments: Any) -> tuple[Any, Connection]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=target, args=(*arguments[:1], theirs, *arguments[1:]), daemon=True
    )
    process.start()
    return process, ours


def newcomer(count: int) -> int:
    missed = False
    for words, block in itertools.product(("with a log on its disk", "with a log in memory"), BLOCKS):
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            write_log(root, count, block)
            member, told = started(_serve, root)
            contact = told.recv()
            place = None if "memory" in words else root
            process, pipe = started(_take, config_of("bob", place, contact=contact), count)
            seconds, cpu = pipe.recv()
            rate, per = count / seconds, cpu / count * 1e6
            print(f"newcomer {words}: {count:,} messages, {block} in a block of the member's log, ", end="")
            print(f"{rate:,.0f}/s, {per:.1f} us of CPU each", flush=True)
            missed |= rate < RATE_MIN
            process.kill()
            member.kill()
    return missed


def away(count: int, before: int = 1000) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        member, told = started(_serve, root)
        contact = told.recv()
        config = config_of("bob", root, contact=contact)
        third, third_pipe = started(_take, config_of("carol", root, contact=contact), before)
        told.send(before)
        told.recv()
        third_pipe.recv()
        process, pipe = started(_take, config, before)
        pipe.recv()
        process.kill()
        process.join()
        began = time.perf_counter()
        told.send(count)
        told.recv()
        said = time.perf_counter() - began
        process, pipe = started(_take, config, before + count)
        seconds, cpu = pipe.recv()
        print(f"said to a third one while it was away: {count:,} messages in {said:.1f} s")
        print(f"back, with all of them, after {seconds:.2f} s, {cpu:.2f} s of CPU")
        for each in (process, third, member):
            each.kill()
    return bool(seconds > BACK_S_MAX)


def fixed(count: int, before: int = 1000) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        sockets = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = sockets[0].getsockname()[1], sockets[1].getsockname()[1]
        for each in sockets:
            each.close()
        alice, bob = (config_of_two(name, Path(scratch), ports) for name in ("alice", "bob"))
        member, told = started(_serve_one, alice)
        process, pipe = started(_take, bob, before)
        told.send(before)
        told.recv()
        pipe.recv()
        process.kill()
        process.join()
        began = time.perf_counter()
        told.send(count)
        told.recv()
        print(f"said while it was away: {count:,} messages in {time.perf_counter() - began:.1f} s")
        process, pipe = started(_take, bob, before + count)
        seconds, cpu = pipe.recv()
        print(f"back, with all of them, after {seconds:.2f} s, {cpu:.2f} s of CPU")
        for each in (process, member):
            each.kill()
    return bool(seconds > BACK_S_MAX)


if __name__ == "__main__":
    sys.exit({"newcomer": newcomer, "away": away, "fixed": fixed}[sys.argv[1]](int(sys.argv[2])))
