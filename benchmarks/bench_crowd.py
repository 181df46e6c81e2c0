"""What a changing group costs: its nodes while nobody says anything, and a message that one of them delivers.

    python benchmarks/bench_crowd.py [--nodes N] [--rounds R] [--rate PER_SECOND] [--against SRC]

Real nodes of `prc_spray` in one process, streams on loopback in the clear, default settings. Once the overlay
has come to rest and streams are closed that it does not use: the processor time of the whole process over
some seconds of silence, as a share of one core; then 100-byte messages, said by the nodes in turn, and
processor time over deliveries; then a thousand said by one node as fast as it can. Both ends of every stream
and every application, which does nothing but take messages, are in that process. A message comes to a node
once over each of its links, so links per node are told, too.

With --against, the code in another source tree plays the same, in turn with this one.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from aforesaid import Config, Node
from aforesaid.ground import ground

PAYLOAD = bytes(100)
MEASURED = ("idle", "delivery", "poured", "links")
SETTLED_S = 20.0
"""Longer than a stream without use is kept."""
REST_S = 60.0
"""The overlay must have come to rest by then."""


class Crowd:
    """Nodes, and what they have delivered."""

    def __init__(self) -> None:
        self.nodes: list[Node[Any]] = []
        self.delivered = 0
        self._hearing: list[asyncio.Task[None]] = []

    async def join(self) -> None:
        facts: dict[str, Any] = {
            "name": f"p{len(self.nodes)}",
            "algorithm": "prc_spray",
            "transport": "tcp",
            "linger_s": 0.0,
        }
        if self.nodes:
            facts["contact"] = str(self.nodes[0].address)
        node: Node[Any] = Node(Config.of(facts))
        self.nodes.append(await node.__aenter__())
        self._hearing.append(asyncio.create_task(self._hear(node)))

    async def rest(self) -> None:
        """Until nobody opens or closes a link."""
        late = time.monotonic() + REST_S
        while any(any(node.gauges().values()) for node in self.nodes):
            if time.monotonic() > late:
                raise SystemExit("the overlay does not come to rest")
            await asyncio.sleep(0.2)

    @property
    def links(self) -> float:
        """Of a node, on average."""
        return sum(len(node._running.neighbours()) for node in self.nodes) / len(self.nodes)

    async def say(self, rate: float, seconds: float) -> None:
        """So many messages a second in all, by one after the other; returns when all have delivered all."""
        count, began = round(rate * seconds), time.monotonic()
        owed = self.delivered + count * len(self.nodes)
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            await self.nodes[number % len(self.nodes)].broadcast(PAYLOAD)
        await self._heard(owed)

    async def pour(self, count: int) -> None:
        """One node says so many messages as fast as it can."""
        owed = self.delivered + count * len(self.nodes)
        for _ in range(count):
            await self.nodes[-1].broadcast(PAYLOAD)
        await self._heard(owed)

    async def _heard(self, owed: int) -> None:
        while self.delivered < owed:
            await asyncio.sleep(0.01)

    async def end(self) -> None:
        await asyncio.gather(*(node.close() for node in self.nodes))
        await asyncio.gather(*self._hearing)

    async def _hear(self, node: "Node[Any]") -> None:
        async for _ in node:
            self.delivered += 1


async def _measure(nodes: int, rate: float, seconds: float, seed: int) -> dict[str, float]:
    ground().chance.seed(seed)
    crowd = Crowd()
    for _ in range(nodes):
        await crowd.join()
    await crowd.rest()
    # The first heartbeats tell many addresses, and the streams of those who joined are closed by and by.
    await asyncio.sleep(SETTLED_S)
    began = time.process_time()
    await asyncio.sleep(seconds)
    idle = (time.process_time() - began) / seconds
    await crowd.say(rate, 1.0)
    heard, began = crowd.delivered, time.process_time()
    await crowd.say(rate, seconds)
    each = (time.process_time() - began) / (crowd.delivered - heard)
    heard, began = crowd.delivered, time.process_time()
    await crowd.pour(1000)
    poured = (time.process_time() - began) / (crowd.delivered - heard)
    links = crowd.links
    await crowd.end()
    return {"idle": 100 * idle, "delivery": 1e6 * each, "poured": 1e6 * poured, "links": links}


def _play(source: str, arguments: argparse.Namespace, seed: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", str(seed), "--nodes", str(arguments.nodes)]
    command += ["--rate", str(arguments.rate), "--seconds", str(arguments.seconds)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=100.0, help="messages a second, of all nodes together")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each of the two is measured")
    parser.add_argument("--against", metavar="SRC", help="this code and the one there, in turn")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        one = _measure(arguments.nodes, arguments.rate, arguments.seconds, arguments.one)
        print(json.dumps(asyncio.run(one)))
        return
    sources = {"this code": str(Path(__file__).parent.parent / "src")}
    if arguments.against:
        sources["against"] = arguments.against
    took: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    for seed in range(arguments.rounds):
        for name, source in sources.items():
            took[name].append(_play(source, arguments, seed))
    print(f"{arguments.nodes} nodes, {arguments.rate:g} messages of {len(PAYLOAD)} bytes a second, medians")
    for name, each in took.items():
        idle, delivery, poured, links = (median(one[what] for one in each) for what in MEASURED)
        print(
            f"{name:12} idle {idle:5.2f} % of a core   {delivery:6.1f} us a delivery, {poured:.1f} "
            f"of messages said at once   {links:.1f} links a node"
        )
    if arguments.against:
        for what in MEASURED[:3]:
            ratios = [a[what] / b[what] for a, b in zip(*took.values(), strict=True)]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            print(f"{what}: {median(ratios):.2f} of the other ({spread})")


if __name__ == "__main__":
    main()
