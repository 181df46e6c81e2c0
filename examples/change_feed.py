"""A copy of a database, kept by reading the changes of each table from a feed of its own.

Feeds run apart: an order's line comes before the order, and the order before its customer. SQLite checks the
foreign keys, and would refuse. Each row names what it refers to, and `Order` hands rows on when those are in.
What was handed on is written in the transaction that remembers it, so a copy that is killed and started again
reads the feeds from where it was, and no row is in twice or lost.

    python examples/change_feed.py
"""

import json
import random
import sqlite3
from collections.abc import Iterator
from typing import Any

from aforesaid.order import Order

Row = dict[str, Any]

SCHEMA = """
create table customer (id integer primary key, name text);
create table purchase (id integer primary key, customer integer references customer);
create table line (id integer primary key, purchase integer references purchase, what text);
create table progress (feed text primary key, read integer);
create table waiting (state text);
"""
REFERS = {"customer": (), "purchase": ("customer",), "line": ("purchase",)}


class Copy:
    """A copy of the tables that can be killed at any moment."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        database.execute("pragma foreign_keys = on")
        saved = database.execute("select state from waiting").fetchone()
        self.order: Order[Row] = Order.loaded(json.loads(saved[0])) if saved else Order()

    def read(self, feeds: dict[str, list[Row]], table: str, count: int) -> None:
        """Some more of a feed, in one transaction with all that follows from it."""
        with self.database as database:
            progress = database.execute("select read from progress where feed = ?", (table,)).fetchone()
            start = progress[0] if progress else 0
            for row in feeds[table][start : start + count]:
                for ready in self.order.put(
                    (table, row["id"]), refers_to(table, row), {"table": table, **row}
                ):
                    insert(database, dict(ready.event))
            database.execute("insert or replace into progress values (?, ?)", (table, start + count))
            database.execute("delete from waiting")
            database.execute("insert into waiting values (?)", (json.dumps(self.order.saved()),))


def refers_to(table: str, row: Row) -> list[tuple[str, int]]:
    return [(other, row[other]) for other in REFERS[table]]


def insert(database: sqlite3.Connection, row: Row) -> None:
    table = row.pop("table")
    marks = ", ".join("?" for _ in row)
    database.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", tuple(row.values()))


def changes(customers: int) -> dict[str, list[Row]]:
    return {
        "customer": [{"id": number, "name": f"customer {number}"} for number in range(customers)],
        "purchase": [{"id": number, "customer": number % customers} for number in range(3 * customers)],
        "line": [{"id": number, "purchase": number // 2, "what": "tea"} for number in range(6 * customers)],
    }


def turns(feeds: dict[str, list[Row]], chance: random.Random) -> Iterator[tuple[str, int]]:
    """Lines are read first and customers last, mostly: the worst that feeds can do."""
    left = {table: len(rows) for table, rows in feeds.items()}
    while any(left.values()):
        table = chance.choices(list(left), [1, 3, 9])[0]
        count = min(left[table], chance.randrange(1, 10))
        left[table] -= count
        yield table, count


def main() -> None:
    chance, feeds = random.Random(), changes(100)
    database = sqlite3.connect(":memory:")
    database.executescript(SCHEMA)
    copy, killed, waited = Copy(database), 0, 0
    for table, count in turns(feeds, chance):
        copy.read(feeds, table, count)
        waited = max(waited, copy.order.waiting)
        if chance.random() < 0.1:
            copy, killed = Copy(database), killed + 1
    for table, rows in feeds.items():
        (held,) = database.execute(f"select count(*) from {table}").fetchone()
        print(f"{table}: {held} of {len(rows)} rows")
    assert killed, "the copy was never killed"
    assert waited, "no row ever came too early"
    print("no row came before what it refers to")


if __name__ == "__main__":
    main()
