"""The ledger of ledger.py in the node's own database: fewer lines, and exactly once as well.

What is written inside `message.transaction()` and that the message is done with are there after a kill, or
neither; the node resumes by itself. One transaction for each message, forced to the disk: for hundreds of
messages a second, not for many thousands. Kill it as often as you like, and start it again in the same way.

    python examples/ledger_in_node.py north 7001 south=7002 west=7003      # And so on, in three terminals
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from aforesaid import Config, Node

SAYS_S = float(os.environ.get("LEDGER_SAYS_S", "0.5"))
"""How often each branch has something to say."""
TABLE = """
CREATE TABLE IF NOT EXISTS entries (
    offset INTEGER PRIMARY KEY, branch TEXT, number INTEGER, in_order INTEGER, UNIQUE (branch, number))
"""


async def listen(node: Node, seen: dict[str, int]) -> None:
    async for message in node:
        entry = json.loads(message.payload)
        async with message.transaction() as db:
            db.execute(TABLE)
            has = dict(db.execute("SELECT branch, max(number) FROM entries GROUP BY branch"))
            in_order = all(has.get(branch, 0) >= number for branch, number in entry["seen"].items())
            row = (message.offset, message.origin, entry["number"], in_order)
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
        seen[message.origin] = entry["number"]


async def speak(node: Node, seen: dict[str, int]) -> None:
    with Path(f"{node.name}.said").open("a") as said:
        while True:
            entry = {"number": time.time_ns(), "seen": seen}
            await node.broadcast(json.dumps(entry).encode())
            print(entry["number"], file=said, flush=True)
            await asyncio.sleep(SAYS_S)


async def branch(name: str, port: str, *others: str) -> None:
    config = Config(
        name=name,
        algorithm=os.environ.get("LEDGER_ALGORITHM", "waiting"),
        listen=f"127.0.0.1:{port}",
        peers={other: f"127.0.0.1:{at}" for other, _, at in (each.partition("=") for each in others)},
        directory=f"{name}.node",
        durability="batch",
        evict_after_s=0,
    )
    seen: dict[str, int] = {}
    async with Node(config) as node, asyncio.TaskGroup() as tasks:
        print(f"{name} goes on", flush=True)
        for work in (speak(node, seen), listen(node, seen)):
            tasks.create_task(work)


if __name__ == "__main__":
    asyncio.run(branch(*sys.argv[1:]))
