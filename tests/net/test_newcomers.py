"""Histories of real processes: a newcomer has the past, a killed member what it missed, transactions hold."""

import asyncio
from pathlib import Path
from typing import Any

from aforesaid import Config, Message, Node
from net.net_stage import PATIENCE_S
from net.node_process import NodeProcess, write_toml

KEEPS = {"algorithm": "prc_spray", "transport": "tcp", "retention_bytes": 2**24}
COUNT = 3000


async def taken(node: Node, count: int) -> list[Message]:
    found: list[Message] = []
    async for message in node:
        found.append(message)
        if len(found) == count:
            break
    return found


async def has(node: NodeProcess, count: int) -> list[str]:
    while len(node.delivered) < count:
        await asyncio.sleep(0.01)
    return [line["payload"] for line in node.delivered]


def test_a_newcomer_has_what_processes_said_before_and_one_that_was_killed_what_it_missed(
    tmp_path: Path,
) -> None:
    def configured(name: str, **facts: Any) -> Path:
        return write_toml(tmp_path / f"{name}.toml", {"name": name, "directory": name, **KEEPS, **facts})

    async def main() -> None:
        alice = NodeProcess(configured("alice"))
        await alice.start()
        bob = NodeProcess(configured("bob", contact=alice.address))
        await bob.start()
        for number in range(COUNT):
            await alice.broadcast(b"%d" % number)
        await has(bob, 1)
        bob.kill()
        await has(alice, COUNT)
        await bob.destroy()
        again = NodeProcess(bob.config)
        await again.start()
        await again.broadcast(b"back")
        config = Config.of({"name": "carol", **KEEPS, "contact": alice.address})
        async with Node(config, history="all") as carol:
            late = [message.payload.decode() for message in await taken(carol, COUNT)]
            await carol.broadcast(b"heard")
            while "heard" not in again.heard:
                await asyncio.sleep(0.01)
        numbers = [each for each in late if each != "back"]
        assert numbers == list(map(str, range(len(numbers))))
        assert len(numbers) >= COUNT - 1
        # With what the first start of bob was handed, everything once.
        first = [line["offset"] for line in bob.delivered]
        offsets = [line["offset"] for line in again.delivered]
        assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
        assert offsets[0] <= len(first) + 1
        numbers = [line["payload"] for line in again.delivered if line["payload"].isdigit()]
        assert numbers == list(map(str, range(offsets[0] - 1, COUNT)))
        assert await again.end() == 0
        assert await alice.end() == 0

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
