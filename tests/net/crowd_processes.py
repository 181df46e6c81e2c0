"""A changing group in which every node is a process of its own, as `aforesaid node` runs it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from net.crowd import SETTLE_S, Crowd
from net.net_stage import free_addresses
from net.node_process import NodeProcess, write_toml

BATCH = 4
"""So many processes of a crowd are started at a time."""

LINGER_S = 10.0

HEARD_S = 10.0
"""How long a message may take to everyone on a busy machine; longer, and the overlay is in pieces."""


class ProcessCrowd(Crowd):
    """Node processes come and go, and some are killed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.started: list[NodeProcess] = []
        """All there ever were."""

    async def kill(self, node: Any) -> None:
        del self.nodes[node.name]
        await node.destroy()
        self.did["killed"] += 1

    async def rest(self) -> None:
        """Returns once the overlay is in one piece and nobody holds anything for later."""
        await self._empty()
        while not await self._all_hear_all():
            assert self.did["roll calls"] * HEARD_S < SETTLE_S, "the overlay is in pieces"
        await self._empty()

    async def _empty(self) -> None:
        await asyncio.gather(*(node.emptied(SETTLE_S) for node in self.nodes.values()))

    async def _all_hear_all(self) -> bool:
        """Everyone calls: in an overlay of one piece, and in no other, everyone hears every call."""
        self.did["roll calls"] += 1
        calls = {name: f"roll call {self.did['roll calls']} of {name}" for name in self.nodes}
        for name, call in calls.items():
            self.nodes[name].say(payload=call)
        for _ in range(round(HEARD_S / 0.1)):
            if all(node.heard.issuperset(calls.values()) for node in self.nodes.values()):
                return True
            await asyncio.sleep(0.1)
        return False

    async def _begin(self, facts: dict[str, Any]) -> NodeProcess:
        name = facts["name"]
        # An address that stays, though the process may join again: others join through it.
        facts = facts | {"directory": name, "listen": free_addresses(1)[0], "linger_s": LINGER_S}
        node = NodeProcess(write_toml(self.root / f"{name}.toml", facts))
        self.started.append(node)
        await node.start()
        return node

    async def _end(self, node: Any, linger_s: float) -> None:
        """In order: by the end of its input, or by SIGTERM."""
        assert await node.end(by_signal=self.did["left"] % 2 == 0) == 0, node.log


@asynccontextmanager
async def process_group(root: Path, count: int) -> AsyncIterator[ProcessCrowd]:
    crowd = ProcessCrowd(root)
    try:
        await crowd.join()
        for first in range(1, count, BATCH):
            await asyncio.gather(*(crowd.join() for _ in range(min(BATCH, count - first))))
        yield crowd
        # One after the other: who lost all its neighbours at once would look for its group in vain.
        for node in list(crowd.nodes.values()):
            await crowd.leave(node)
    finally:
        for node in crowd.started:
            await node.destroy()
