"""Huge payloads between two nodes in one process: how long the longest turn of the loop is, and the whole.

Usage: python benchmarks/bench_huge.py [MEBIBYTES...]
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from aforesaid import Config, Node
from aforesaid.security.keyfiles import write_cluster_key

MB = 2**20
ANYWHERE = "127.0.0.1:0"


async def longest_turn() -> float:
    """In seconds of CPU; cancelled, it tells."""
    last, longest = time.process_time(), 0.0
    try:
        while True:
            await asyncio.sleep(0)
            now = time.process_time()
            last, longest = now, max(longest, now - last)
    except asyncio.CancelledError:
        return longest


async def measure(transport: str, size: int, key: str) -> tuple[float, float]:
    """The longest turn, and until it was delivered."""
    queues = {"out_bytes": 4 * size, "in_bytes": 4 * size, "link_bytes": 4 * size}
    facts: dict[str, Any] = {
        "transport": transport,
        "payload_bytes_max": size,
        "queues": queues,
        "linger_s": 0,
    }
    facts["security"] = {"cluster_key": key}
    alice_config = Config.of({"name": "alice", "peers": {"bob": ANYWHERE}, **facts})
    bob_config = Config.of({"name": "bob", "peers": {"alice": ANYWHERE}, **facts})
    async with Node(alice_config) as alice, Node(bob_config) as bob:
        alice.introduce({"bob": str(bob.address)})
        bob.introduce({"alice": str(alice.address)})
        await (await alice.send({"bob"}, b"")).delivered()
        await anext(bob)
        payload = bytes(size)
        watching, began = asyncio.create_task(longest_turn()), time.perf_counter()
        receipt = await alice.send({"bob"}, payload)
        await receipt.delivered()
        took = time.perf_counter() - began
        watching.cancel()
        assert len((await anext(bob)).payload) == size
        return await watching, took


def main(sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        key = Path(directory) / "cluster.key"
        write_cluster_key(key)
        for size in sizes:
            for transport in ("tcp", "udp"):
                turn, took = asyncio.run(measure(transport, size * MB, str(key)))
                sys.stdout.write(
                    f"{size:3} MiB {transport}: longest turn {1e3 * turn:.0f} ms, {took:.2f} s\n"
                )


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [1, 10, 50])
