"""The second way of exactly once: the application writes into the node's own database.

What it writes while it works on a message and the message's offset are one transaction of SQLite. So after a
kill both are there, or neither; the node resumes from the offset that stands there, by itself. A message is
acknowledged once its transaction is on the disk. Transactions are in the order of the messages: one at a
time, and none before all that came before is acknowledged, or a kill would lose what was left out. One may be
of several messages: the disk is then waited for once.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aforesaid.core import Misuse
from aforesaid.node.awaiting import to_the_end
from aforesaid.node.messages import Message

FILE = "application.db"
"""In the directory of a node."""
TABLE = "aforesaid_offset"

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS {TABLE} (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL);
"""
_STORE = f"INSERT OR REPLACE INTO {TABLE} VALUES (1, ?)"
_STORED = f"SELECT last FROM {TABLE}"


class Transactions:
    """Acknowledges messages, by themselves or with what is written for them."""

    def __init__(
        self,
        directory: str,
        acknowledge: Callable[[Message[Any]], None],
        unacknowledged: Callable[[int], Iterable[int]],
    ) -> None:
        """`unacknowledged`: of the deliveries up to this offset, those that are not acknowledged."""
        self._path = Path(directory) / FILE
        self._acknowledge, self._unacknowledged = acknowledge, unacknowledged
        self._database: sqlite3.Connection | None = None
        self._turn = asyncio.Lock()

    def __call__(self, message: Message[Any]) -> None:
        self._acknowledge(message)

    def stored(self) -> int | None:
        """The offset of the last message whose transaction is on the disk; None: there never was one."""
        if not self._path.exists():
            return None
        row = self._opened().execute(_STORED).fetchone()
        return None if row is None else int(row[0])

    @asynccontextmanager
    async def transaction(self, messages: Sequence[Message[Any]]) -> AsyncIterator[sqlite3.Connection]:
        async with self._turn:
            offsets = {message.offset or 0 for message in messages}
            last = max(offsets)
            if not offsets.issuperset(self._unacknowledged(last)):
                await asyncio.sleep(0)  # What is not for the application is acknowledged a turn later.
            if not offsets.issuperset(self._unacknowledged(last)):
                raise Misuse(
                    f"{messages[-1].id}: a message before it is not acknowledged; transactions are in their "
                    "order"
                )
            database = self._opened()
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute(_STORE, (last,))
            except BaseException:
                database.rollback()
                raise
            try:
                # A thread waits for the disk.
                await to_the_end(asyncio.to_thread(database.commit))
            finally:
                if not database.in_transaction:
                    for message in messages:
                        message.ack()

    def close(self) -> None:
        if self._database is not None:
            database, self._database = self._database, None
            database.close()

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            try:
                self._database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
                self._database.executescript(_SCHEMA)
            except sqlite3.Error as error:
                raise Misuse(f"cannot open {self._path}: {error}") from error
        return self._database
