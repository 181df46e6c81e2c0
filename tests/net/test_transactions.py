"""`async with message.transaction() as db`: what is written and that the message is done with are one."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, HistoryLost, Message, Misuse, Node
from net.net_stage import PATIENCE_S

KINDS: dict[str, dict[str, Any]] = {
    "survives": {"algorithm": "waiting", "durability": "batch"},
    "keeps its history": {"algorithm": "prc_spray", "transport": "tcp", "retention_bytes": 2**20},
}
TABLE = "CREATE TABLE IF NOT EXISTS heard (offset INTEGER PRIMARY KEY, payload BLOB)"


@pytest.fixture(params=KINDS)
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    return Config.of({"name": "alice", "directory": str(tmp_path / "alice"), **KINDS[request.param]})


def run(config: Config, *scenes: Callable[[Node], Awaitable[None]]) -> None:
    """Each in a start of its own."""

    async def main() -> None:
        for scene in scenes:
            async with Node(config) as node:
                await scene(node)

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


async def write(message: Message) -> None:
    async with message.transaction() as db:
        db.execute(TABLE)
        db.execute("INSERT INTO heard VALUES (?, ?)", (message.offset, message.payload))


def written(config: Config) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(Path(str(config.directory)) / "application.db")) as database:
        return list(database.execute("SELECT offset, payload FROM heard ORDER BY offset"))


def test_the_next_start_goes_on_after_the_last_transaction(config: Config) -> None:
    async def first(node: Node) -> None:
        for number in range(3):
            await node.broadcast(b"%d" % number)
        await write(await anext(node))
        await write(await anext(node))

    async def second(node: Node) -> None:
        message = await anext(node)
        assert (message.offset, message.payload) == (3, b"2")
        await write(message)

    run(config, first, second)
    assert written(config) == [(1, b"0"), (2, b"1"), (3, b"2")]


def test_what_fails_is_not_written_and_comes_again(config: Config) -> None:
    async def fails(node: Node) -> None:
        await node.broadcast(b"1")
        message = await anext(node)

        async def half() -> None:
            async with message.transaction() as db:
                db.execute(TABLE)
                db.execute("INSERT INTO heard VALUES (1, 'half')")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await half()

    async def again(node: Node) -> None:
        await write(await anext(node))

    run(config, fails, again)
    assert written(config) == [(1, b"1")]


def test_transactions_are_in_the_order_of_the_messages(config: Config) -> None:
    config = Config.of({**config_facts(config), "acks": "manual"})

    async def scene(node: Node) -> None:
        await node.broadcast(b"1")
        await node.broadcast(b"2")
        first, second = await anext(node), await anext(node)
        with pytest.raises(Misuse, match="transactions are in their order"):
            await write(second)
        await write(first)
        with pytest.raises(Misuse, match="the message is acknowledged"):
            await write(first)
        await write(second)

    run(config, scene)
    assert written(config) == [(1, b"1"), (2, b"2")]


def test_one_transaction_of_a_batch_is_of_all_its_messages(config: Config) -> None:
    async def wrongly(node: Node, batch: list[Message]) -> None:
        async with node.transaction(batch):
            raise AssertionError("it has begun")

    async def first(node: Node) -> None:
        await node.broadcast_many(b"%d" % number for number in range(5))
        batch = await anext(node.batches())
        with pytest.raises(Misuse, match="transactions are in their order"):
            await wrongly(node, batch[1:])
        with pytest.raises(Misuse, match="transactions are in their order"):
            await wrongly(node, [batch[0], batch[2]])
        with pytest.raises(Misuse, match="of no message"):
            await wrongly(node, [])
        async with node.transaction(batch[:3]) as db:
            db.execute(TABLE)
            rows = [(message.offset, message.payload) for message in batch[:3]]
            db.executemany("INSERT INTO heard VALUES (?, ?)", rows)
        with pytest.raises(Misuse, match="the message is acknowledged"):
            await wrongly(node, batch)

    async def second(node: Node) -> None:
        batch = await anext(node.batches())
        assert [message.offset for message in batch] == [4, 5]

    run(config, first, second)
    assert written(config) == [(1, b"0"), (2, b"1"), (3, b"2")]


def config_facts(config: Config) -> dict[str, Any]:
    names = ("name", "directory", "algorithm", "transport", "durability", "retention_bytes")
    return {name: getattr(config, name) for name in names}


def test_who_is_cancelled_while_it_is_forced_has_done_it(config: Config) -> None:
    async def cancelled(node: Node) -> None:
        await node.broadcast(b"1")
        message, begun = await anext(node), asyncio.Event()

        async def work() -> None:
            async with message.transaction() as db:
                db.execute(TABLE)
                db.execute("INSERT INTO heard VALUES (1, ?)", (message.payload,))
                begun.set()

        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def nothing_comes_again(node: Node) -> None:
        await node.broadcast(b"2")
        assert (await anext(node)).payload == b"2"

    run(config, cancelled, nothing_comes_again)
    assert written(config) == [(1, b"1")]


def test_batches_and_their_transactions_go_on_behind_what_is_lost(tmp_path: Path) -> None:
    keeps = {**KINDS["keeps its history"], "retention_bytes": 2**16}

    async def main() -> None:
        async with Node(Config.of({"name": "alice", **keeps})) as alice:
            for _ in range(100):
                await alice.broadcast(bytes(2000))
                await anext(alice)
            facts = {"name": "bob", "contact": str(alice.address), "directory": str(tmp_path / "bob")}
            async with Node(Config.of({**facts, **keeps}), history="all") as bob:
                with pytest.raises(HistoryLost) as lost:
                    await anext(bob.batches())
                assert lost.value.offset == 1
                batch = await anext(bob.batches())
                async with bob.transaction(batch) as db:
                    db.execute("CREATE TABLE heard (offset INTEGER PRIMARY KEY)")

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


def test_a_node_that_keeps_nothing_has_no_transactions() -> None:
    async def scene(node: Node) -> None:
        await node.broadcast(b"1")
        with pytest.raises(Misuse, match="its node keeps nothing"):
            (await anext(node)).transaction()

    run(Config(name="alice"), scene)
