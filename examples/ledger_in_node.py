"""The ledger of ledger.py in the node's own database: fewer lines, and exactly once as well.

What is written inside `node.transaction(batch)` and that these messages are done with are there after a kill,
or neither; the node resumes by itself. `message.transaction()` is the same for one message, and waits for the
disk each time. Kill it as often as you like, and start it again in the same way.

    python examples/ledger_in_node.py north 7001 south=7002 west=7003      # And so on, in three terminals
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from aforesaid import Node
from ledger import AT_ONCE, SAYS_S, config_of, past_of

TABLE = """
CREATE TABLE IF NOT EXISTS entries (
    offset INTEGER PRIMARY KEY, branch TEXT, number INTEGER, in_order INTEGER, UNIQUE (branch, number))
"""
LAST = "SELECT coalesce(max(number), 0) FROM entries WHERE branch = ?"


async def listen(node: Node, seen: dict[str, int]) -> None:
    async for batch in node.batches():
        async with node.transaction(batch) as db:
            db.execute(TABLE)
            for message in batch:
                entry = json.loads(message.payload)
                last = {branch: db.execute(LAST, (branch,)).fetchone()[0] for branch in entry["seen"]}
                in_order = all(last[branch] >= number for branch, number in entry["seen"].items())
                row = (message.offset, message.origin, entry["number"], in_order)
                db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
        seen |= {message.origin: json.loads(message.payload)["number"] for message in batch}


async def speak(node: Node, seen: dict[str, int]) -> None:
    with Path(f"{node.name}.said").open("a") as said:
        while True:
            entries = [{"number": time.time_ns(), "seen": seen} for _ in range(AT_ONCE)]
            await node.broadcast_many(json.dumps(entry).encode() for entry in entries)
            print(*(entry["number"] for entry in entries), file=said, flush=True)
            await asyncio.sleep(SAYS_S)


async def branch(name: str, *where: str) -> None:
    seen: dict[str, int] = {}
    config = config_of(name, *where)
    async with Node(config, history=past_of(config)) as node, asyncio.TaskGroup() as tasks:
        print(f"{name} goes on", flush=True)
        for work in (speak(node, seen), listen(node, seen)):
            tasks.create_task(work)


if __name__ == "__main__":
    asyncio.run(branch(*sys.argv[1:]))
