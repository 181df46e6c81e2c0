"""A ledger that is killed in the middle of things, and has every entry once, in an order that makes sense.

Each branch writes down what all branches say, in a database of its own. In the same transaction it keeps the
offset of the last message; when it starts again it resumes from there. So an entry is there with its offset,
or comes again. Kill it as often as you like, and start it again with the same words.

    python examples/ledger.py north 7001 south=7002 west=7003      # And so on, in three terminals

With LEDGER_ALGORITHM=prc_spray the group changes and keeps its history. The first branch founds it, and names
no others; the others name one or some.
"""

import asyncio
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any, Literal

from aforesaid import Config, Message, Node

RESERVED = 1000
"""So many numbers of entries are set aside at a time: none is used twice, whenever we are killed."""
COMMIT_S = 0.02
SAYS_S = float(os.environ.get("LEDGER_SAYS_S", "0.5"))
"""How often each branch has something to say."""
AT_ONCE = int(os.environ.get("LEDGER_AT_ONCE", "1"))
"""How many entries it then says."""


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
        numbers = [ledger.number() for _ in range(AT_ONCE)]
        entries = [{"number": number, "seen": ledger.seen} for number in numbers]
        await node.broadcast_many(json.dumps(entry).encode() for entry in entries)
        ledger.database.executemany("INSERT INTO said VALUES (?)", ((number,) for number in numbers))
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


def config_of(name: str, port: str, *others: str, **more: Any) -> Config:
    """Of a fixed group whose members survive, or of one that changes and keeps what was said."""
    algorithm = os.environ.get("LEDGER_ALGORITHM", "waiting")
    at = {other: f"127.0.0.1:{port}" for other, _, port in (each.partition("=") for each in others)}
    if algorithm == "prc_spray":
        more |= {"transport": "tcp", "contact": list(at.values()), "retention_bytes": 2**30}
    else:
        more |= {"peers": at, "durability": "batch", "evict_after_s": 0}
    return Config(
        name=name, algorithm=algorithm, listen=f"127.0.0.1:{port}", directory=f"{name}.node", **more
    )


def past_of(config: Config) -> Literal["all"] | None:
    """Who comes late to a group that keeps what was said has all of it."""
    return "all" if config.keeps else None


async def branch(name: str, port: str, *others: str) -> None:
    config = config_of(name, port, *others, acks="manual")
    ledger = Ledger(Path(f"{name}.db"))
    entered: list[Message] = []
    node = Node(config, resume_from=ledger.offset, history=past_of(config))
    async with node, asyncio.TaskGroup() as tasks:
        print(f"{name} has {ledger.offset} entries, and goes on", flush=True)
        for work in (speak(node, ledger), listen(node, ledger, entered), commit(ledger, entered)):
            tasks.create_task(work)


if __name__ == "__main__":
    asyncio.run(branch(*sys.argv[1:]))
