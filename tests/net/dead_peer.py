"""A peer that dies under load: what its silence costs the others until they are told."""

import asyncio
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

from aforesaid import Config, Node
from net.net_stage import free_addresses, until
from net.node_process import NodeProcess, write_toml

QUEUES = {"out_messages": 200, "out_bytes": 100_000, "in_messages": 200, "in_bytes": 100_000}
PAYLOAD = bytes(400)
OVERHEAD = 3
"""Bytes of Python objects for a byte of a full queue, at most: small messages in several tables."""


class Survivor:
    """A node whose application always has something to say to everyone, and takes all it hears."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.said = 0
        self.heard: Counter[str] = Counter()
        self._tasks = [asyncio.create_task(self._speak()), asyncio.create_task(self._hear())]

    async def stop(self) -> None:
        """Say no more, and hear on until others have what was said."""
        self._tasks[0].cancel()
        await self.node.drain()
        await asyncio.sleep(0.5)
        self._tasks[1].cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _speak(self) -> None:
        while True:
            await self.node.broadcast(PAYLOAD)
            self.said += 1

    async def _hear(self) -> None:
        async for message in self.node:
            self.heard[message.origin] += 1


async def load_on_a_dead_peer(root: Path, seconds: float, transport: str = "udp") -> dict[str, Any]:
    """Three talk; one is killed with -9, and evicted after so long. What was measured meanwhile."""
    names = ["alice", "bob", "carol"]
    addresses = dict(zip(names, free_addresses(3), strict=True))
    facts = {
        name: {
            "name": name,
            "listen": addresses[name],
            "directory": name if name == "carol" else str(root / name),
            "transport": transport,
            "queues": QUEUES,
            "evict_after_s": 0,
            "peers": {peer: addresses[peer] for peer in names if peer != name},
        }
        for name in names
    }
    carol = NodeProcess(write_toml(root / "carol.toml", facts["carol"]))
    await carol.start()
    tracemalloc.start()
    try:
        async with Node(Config.of(facts["alice"])) as alice, Node(Config.of(facts["bob"])) as bob:
            idle, _ = tracemalloc.get_traced_memory()
            survivors = [Survivor(alice), Survivor(bob)]
            await until(lambda: len(carol.delivered) > 1_000, "carol takes part")
            carol.kill()
            carol.lines.clear()
            found = await _stuck(survivors, idle, seconds)
            alice.evict("carol")
            goal = [survivor.said + 1_000 for survivor in survivors]
            await until(
                lambda: all(each.said > least for each, least in zip(survivors, goal, strict=True)),
                "after the eviction the others go on",
            )
            assert bob.peers["carol"] == "evicted"
            await asyncio.gather(*(survivor.stop() for survivor in survivors))
            for one, other in (survivors, survivors[::-1]):
                assert one.heard[other.node.name] == other.said
    finally:
        tracemalloc.stop()
        await carol.end()
    return found | {"said in all": sum(survivor.said for survivor in survivors)}


async def _stuck(survivors: list[Survivor], idle: int, seconds: float) -> dict[str, Any]:
    """Senders wait, and nothing grows, for as long as nobody says that the peer is dead."""
    await asyncio.sleep(1.0)
    said = [survivor.said for survivor in survivors]
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    await asyncio.sleep(seconds)
    assert [survivor.said for survivor in survivors] == said, "more was accepted than the queues hold"
    after, peak = tracemalloc.get_traced_memory()
    caps = len(survivors) * (QUEUES["out_bytes"] + QUEUES["in_bytes"])
    held = peak - idle
    assert held < OVERHEAD * caps, f"{held:,} bytes for queues of {caps:,}"
    assert after - before < caps / 10, f"{after - before:,} bytes more after {seconds} s"
    for survivor in survivors:
        gauges = survivor.node.gauges()
        assert 0 < gauges["under_way"] <= QUEUES["out_messages"]
        assert gauges["inbox_messages"] <= QUEUES["in_messages"]
        assert survivor.node.peers["carol"] == "silent"
    return {
        "seconds stuck": seconds,
        "bytes held": held,
        "bytes of the queues": caps,
        "bytes grown": after - before,
    }
