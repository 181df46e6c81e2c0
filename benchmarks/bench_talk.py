"""What payload types, requests and blocking calls cost, in processor time per message of both ends.

    python benchmarks/bench_talk.py [messages] [rounds]

Two nodes in one process, plain UDP on loopback, messages of about 100 bytes; the ways take turns, round by
round, and the median of each is shown.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import msgspec

from aforesaid import Cluster, Node, blocking

TEXT = "x" * 80


class Order(msgspec.Struct):
    number: int
    text: str


async def _said(payload: Any, value: Any, count: int) -> float:
    async with Cluster(["a", "b"], payload=payload) as (a, b):
        began = time.process_time()
        hearing = asyncio.create_task(_hear(b, count))
        for _ in range(count):
            await a.send(("b",), value)
        await hearing
        return time.process_time() - began


async def _hear(node: Node[Any], count: int) -> None:
    for _ in range(count):
        await anext(node)


async def _asked(count: int, at_once: int) -> float:
    async with Cluster(["a", "b"], payload=bytes) as (a, b):

        async def serve() -> None:
            for _ in range(count):
                await (await anext(b)).reply(b"y")

        async def ask() -> None:
            for _ in range(count // at_once):
                await a.request("b", b"x" * 100, timeout_s=60)

        began = time.process_time()
        await asyncio.gather(serve(), *(ask() for _ in range(at_once)))
        return time.process_time() - began


def _blocking(count: int) -> float:
    with blocking.Cluster(["a", "b"]) as (a, b):
        began = time.process_time()
        for _ in range(count):
            a.send(("b",), b"x" * 100)
        for _ in range(count):
            b.receive()
        return time.process_time() - began


def main(messages: int = 20_000, rounds: int = 5) -> None:
    few = messages // 10
    ways: dict[str, Callable[[], float]] = {
        "bytes": lambda: asyncio.run(_said(None, b"x" * 100, messages)) / messages,
        "payload=bytes": lambda: asyncio.run(_said(bytes, b"x" * 100, messages)) / messages,
        "payload=Order": lambda: asyncio.run(_said(Order, Order(1, TEXT), messages)) / messages,
        'payload="json"': lambda: (
            asyncio.run(_said("json", {"number": 1, "text": TEXT}, messages)) / messages
        ),
        "request and reply, one after the other": lambda: asyncio.run(_asked(few, 1)) / few,
        "request and reply, 100 at a time": lambda: asyncio.run(_asked(few, 100)) / few,
        "blocking send and receive": lambda: _blocking(few) / few,
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            took[name].append(way() * 1e6)
    plain = took["bytes"]
    for name, each in took.items():
        ratio = median(one / other for one, other in zip(each, plain, strict=True))
        print(f"{name:40} {median(each):7.1f} us  {min(each):7.1f} to {max(each):.1f}  {ratio:5.2f} of bytes")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
