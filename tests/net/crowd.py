"""A changing group of nodes in one loop, whose members take whatever they hear."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aforesaid import Config, Node
from net.net_stage import until

PRC = {"algorithm": "prc_spray", "transport": "tcp", "options": {"period_ms": 500}}

SETTLE_S = 100.0
"""How long a crowd may take to come to rest: parts that were apart find each other within a minute or so."""

TURNOVERS_MAX = 8
"""Joins and leaves that are under way at once: a machine that is too busy for more sees fewer of them."""


class Crowd:
    """Nodes come and go; each is joined through the oldest one, or through the one that is named."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.nodes: dict[str, Any] = {}
        self.did: Counter[str] = Counter()
        self._names: Iterator[str] = (f"p{number}" for number in range(10_000))
        self._hearing: dict[str, asyncio.Task[None]] = {}

    async def join(self, contact: Any = None) -> Any:
        name = next(self._names)
        contact = contact or next(iter(self.nodes.values()), None)
        facts = {"name": name, **PRC} | ({} if contact is None else {"contact": str(contact.address)})
        node = await self._begin(facts)
        self.nodes[name] = node
        self.did["joined"] += 1
        return node

    async def leave(self, node: Any, linger_s: float = 10.0) -> None:
        del self.nodes[node.name]
        await self._end(node, linger_s)
        self.did["left"] += 1

    async def kill(self, node: Any) -> None:
        """As kill -9: without a word."""
        raise NotImplementedError("a node within this process cannot be killed")

    async def rest(self) -> None:
        """Returns once the overlay is in one piece and nobody holds anything for later."""
        await until(lambda: self.in_one_piece, "the overlay is in one piece", SETTLE_S)
        await until(lambda: self.empty, "memory returns to empty", SETTLE_S)

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

    async def _begin(self, facts: dict[str, Any]) -> Any:
        name = facts["name"]
        node = await Node(Config.of({**facts, "directory": str(self.root / name)})).__aenter__()
        self._hearing[name] = asyncio.create_task(self._hear(node))
        return node

    async def _end(self, node: Any, linger_s: float) -> None:
        await node.close(linger_s)
        await self._hearing[node.name]

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


async def churn(crowd: Crowd, seconds: float, chance: random.Random, kill_every: int = 0) -> None:
    """Every second one joins and one leaves, or now and then is killed; somebody speaks all the time."""
    contacts: Counter[str] = Counter()
    """Through whom somebody joins just now: these stay."""

    async def turn_over(killing: bool) -> None:
        contact = chance.choice(list(crowd.nodes.values()))
        contacts[contact.name] += 1
        await crowd.join(contact)
        contacts[contact.name] -= 1
        goes = chance.choice([node for node in crowd.nodes.values() if not contacts[node.name]])
        await (crowd.kill(goes) if killing else crowd.leave(goes))

    async with asyncio.TaskGroup() as group:
        speaking = group.create_task(_speak(crowd, chance))
        turnovers: set[asyncio.Task[None]] = set()
        for second in range(1, round(seconds) + 1):
            await asyncio.sleep(1.0)
            if len(turnovers) < TURNOVERS_MAX:
                killing = kill_every > 0 and second % kill_every == 0
                turnovers.add(task := group.create_task(turn_over(killing)))
                task.add_done_callback(turnovers.discard)
        await asyncio.gather(*turnovers)
        speaking.cancel()


async def _speak(crowd: Crowd, chance: random.Random) -> None:
    while True:
        await chance.choice(list(crowd.nodes.values())).broadcast(b"%d" % crowd.did["said"])
        crowd.did["said"] += 1
        await asyncio.sleep(0.2)
