"""A ledger that is killed in the middle of things, and has every entry once, in an order that makes sense.

Each branch writes down what all branches say, in a database of its own. In the same transaction it keeps the
offset of the last message; when it starts again it resumes from there. So an entry is there with its offset,
or comes again. Kill it as often as you like, and start it again with the same words.

    python examples/ledger.py north 7001 south=7002 west=7003      # And so on, in three terminals
"""

import asyncio
import json
import os
import sqlite3
import sys
from pathlib import Path

from aforesaid import Config, Message, Node

RESERVED = 1000
"""So many numbers of entries are set aside at a time: none is used twice, whenever we are killed."""
COMMIT_S = 0.02
SAYS_S = float(os.environ.get("LEDGER_SAYS_S", "0.5"))
"""How often each branch has something to say."""


class Ledger:
    """What a branch keeps."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path)
        self.database.executescript(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS entries (
                offset INTEGER PRIMARY KEY, branch TEXT, number INTEGER, in_order INTEGER,
                UNIQUE (branch, number));
            CREATE TABLE IF NOT EXISTS said (number INTEGER PRIMARY KEY);
            CREATE TABLE IF NOT EXISTS reserved (below INTEGER PRIMARY KEY);
            """
        )
        ((self.offset,),) = self.database.execute("SELECT coalesce(max(offset), 0) FROM entries")
        self.seen: dict[str, int] = dict(
            self.database.execute("SELECT branch, max(number) FROM entries GROUP BY branch")
        )
        ((self.reserved,),) = self.database.execute("SELECT coalesce(max(below), 1) FROM reserved")
        self.next: int = self.reserved

    def number(self) -> int:
        """Of the next entry."""
        if self.next == self.reserved:
            self.reserved += RESERVED
            self.database.execute("INSERT INTO reserved VALUES (?)", (self.reserved,))
            self.database.commit()
        self.next += 1
        return self.next - 1

    def enter(self, message: Message) -> None:
        """The entry and its offset; in order if we have all that its author had."""
        entry = json.loads(message.payload)
        in_order = all(self.seen.get(branch, 0) >= number for branch, number in entry["seen"].items())
        row = (message.offset, message.origin, entry["number"], in_order)
        self.database.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
        self.seen[message.origin] = entry["number"]


async def speak(node: Node, ledger: Ledger) -> None:
    while True:
        entry = {"number": ledger.number(), "seen": ledger.seen}
        await node.broadcast(json.dumps(entry).encode())
        ledger.database.execute("INSERT INTO said VALUES (?)", (entry["number"],))
        await asyncio.sleep(SAYS_S)


async def listen(node: Node, ledger: Ledger, entered: list[Message]) -> None:
    async for message in node:
        ledger.enter(message)
        entered.append(message)


async def commit(ledger: Ledger, entered: list[Message]) -> None:
    """Many entries in one transaction; what is on the disk need not come again."""
    while True:
        await asyncio.sleep(COMMIT_S)
        ledger.database.commit()
        for message in entered:
            message.ack()
        entered.clear()


async def branch(name: str, port: str, *others: str) -> None:
    config = Config(
        name=name,
        algorithm=os.environ.get("LEDGER_ALGORITHM", "waiting"),
        listen=f"127.0.0.1:{port}",
        peers={other: f"127.0.0.1:{at}" for other, _, at in (each.partition("=") for each in others)},
        directory=f"{name}.node",
        durability="batch",
        acks="manual",
        evict_after_s=0,
    )
    ledger = Ledger(Path(f"{name}.db"))
    entered: list[Message] = []
    async with Node(config, resume_from=ledger.offset) as node, asyncio.TaskGroup() as tasks:
        print(f"{name} has {ledger.offset} entries, and goes on", flush=True)
        for work in (speak(node, ledger), listen(node, ledger, entered), commit(ledger, entered)):
            tasks.create_task(work)


if __name__ == "__main__":
    asyncio.run(branch(*sys.argv[1:]))
