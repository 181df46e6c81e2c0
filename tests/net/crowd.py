"""A changing group of nodes in one loop, whose members take whatever they hear."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aforesaid import Config, Node

PRC = {"algorithm": "prc_spray", "transport": "tcp", "options": {"period_ms": 500}}


class Crowd:
    """Nodes come and go; each is joined through the oldest one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.nodes: dict[str, Node] = {}
        self._names: Iterator[str] = (f"p{number}" for number in range(10_000))
        self._hearing: dict[str, asyncio.Task[None]] = {}

    async def join(self) -> Node:
        name = next(self._names)
        facts: dict[str, Any] = {"name": name, "directory": str(self.root / name), **PRC}
        if self.nodes:
            facts["contact"] = str(next(iter(self.nodes.values())).address)
        node = await Node(Config.of(facts)).__aenter__()
        self.nodes[name] = node
        self._hearing[name] = asyncio.create_task(self._hear(node))
        return node

    async def leave(self, node: Node, linger_s: float = 10.0) -> None:
        del self.nodes[node.name]
        await node.close(linger_s)
        await self._hearing[node.name]

    @property
    def empty(self) -> bool:
        """True if nobody holds anything for later."""
        return not any(any(node.gauges().values()) for node in self.nodes.values())

    @property
    def in_one_piece(self) -> bool:
        """True if everyone can be reached from the oldest over links that both ends have."""
        links = {name: set(node._running.machine.links()) for name, node in self.nodes.items()}
        reached, left = set(), [next(iter(links))]
        while left:
            name = left.pop()
            reached.add(name)
            for peer, lid in links[name]:
                if peer not in reached and (name, lid) in links.get(peer, ()):
                    left.append(peer)
        return len(reached) == len(links)

    async def _hear(self, node: Node) -> None:
        async for _ in node:
            pass


@asynccontextmanager
async def changing_group(root: Path, count: int) -> AsyncIterator[Crowd]:
    crowd = Crowd(root)
    for _ in range(count):
        await crowd.join()
    try:
        yield crowd
    finally:
        # All at once, and without handing over: the last ones of a group that ends would look for it in vain.
        await asyncio.gather(*(crowd.leave(node, linger_s=0.0) for node in list(crowd.nodes.values())))
