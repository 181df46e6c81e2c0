"""Whatever a program does with a node, nothing of it is left behind and nobody waits for ever."""

import asyncio
import contextlib
import os
import resource
from pathlib import Path
from typing import Literal

import pytest

from aforesaid import Config, Misuse, Node
from aforesaid.core import MessageId
from aforesaid.node import Closed
from net.net_stage import free_addresses, group_configs, placed_configs, run, running, take, until


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_an_address_in_use_is_told_in_one_line(transport: Literal["udp", "tcp"]) -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob"], transport=transport)
        async with Node(configs["alice"]):
            second = Node(
                Config.of({"name": "bob", "listen": configs["alice"].listen, "transport": transport})
            )
            with pytest.raises(Misuse, match=f"cannot listen at {configs['alice'].listen}"):
                await second.__aenter__()
            with pytest.raises(Closed, match="has not been started"):
                await second.broadcast(b"")
            await second.close()

    run(main())


def test_whoever_closes_a_node_goes_on_once_it_has_stopped() -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob"])
        alone = asyncio.all_tasks()
        async with Node(configs["alice"]) as alice:
            await alice.send({"bob"}, b"who is not there")
            closing = asyncio.create_task(alice.close(linger_s=0.3))
            await asyncio.sleep(0.05)
        assert asyncio.all_tasks() - {closing} == alone
        await closing

    run(main())


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("after_s", [0.0, 0.002, 0.05, 0.2])
def test_who_is_cancelled_again_and_again_leaves_nothing_behind(
    transport: str, after_s: float, tmp_path: Path
) -> None:
    async def life(configs: dict[str, Config]) -> None:
        async with running(configs) as nodes:
            await nodes["alice"].send({"bob"}, b"hello")
            await take(nodes["bob"], 1)
            await nodes["bob"].send({"carol"}, b"who is not there")

    async def main() -> None:
        before = open_files()
        configs = placed_configs(["alice", "bob", "carol"], tmp_path, transport=transport)
        living = asyncio.create_task(life({name: configs[name] for name in ("alice", "bob")}))
        await asyncio.sleep(after_s)
        for _ in range(8):
            living.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await living
        await asyncio.sleep(0.02)  # A transport that was closed lets go of its file a little later.
        assert open_files() == before

    run(main())


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_start_may_be_cancelled_at_any_step(transport: Literal["udp", "tcp"]) -> None:
    async def main() -> None:
        before = open_files()
        for steps in range(12):
            starting = asyncio.create_task(Node(Config(name="alice", transport=transport)).__aenter__())
            for _ in range(steps):
                await asyncio.sleep(0)
            starting.cancel()
            (node,) = await asyncio.gather(starting, return_exceptions=True)
            if isinstance(node, Node):
                await node.close()
            assert open_files() == before, f"after {steps} steps"

    run(main())


def test_a_receipt_tells_of_no_delivery_that_never_was() -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob", "carol"], linger_s=0)
        async with running({name: configs[name] for name in ("alice", "bob")}) as nodes:
            alice = nodes["alice"]
            to_carol = await alice.send({"carol"}, b"who is not there")
            to_bob = await alice.send({"bob"}, b"")
            to_nobody = await alice.send([], b"")
            assert await to_bob.delivered() == frozenset()
        for receipt in (to_bob, to_nobody):
            assert await receipt.delivered() == frozenset()
            with pytest.raises(Closed):
                await receipt.stable()
        for _ in range(2):
            with pytest.raises(Closed):
                await to_carol.delivered()
        with pytest.raises(Closed):
            alice.evict("carol")

    run(main())


def test_who_waits_for_the_next_incarnation_hears_that_the_node_closes() -> None:
    async def main() -> None:
        here, there = free_addresses(2)
        facts = {"algorithm": "prc_spray", "transport": "tcp", "linger_s": 0}
        async with Node(Config.of({**facts, "name": "alice", "listen": there})) as alice:
            bob = Node(Config.of({**facts, "name": "bob", "listen": here, "contact": there}))
            await bob.__aenter__()
            await alice.broadcast(b"")
            await take(bob, 1)
        await until(lambda: not bob._member.is_set(), "bob is isolated")
        speaking = asyncio.create_task(bob.broadcast(b"to whom?"))
        await asyncio.sleep(0.05)
        assert not speaking.done()
        await bob.close()
        with pytest.raises(Closed):
            await asyncio.wait_for(speaking, 5)

    run(main())


def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def main() -> None:
        before = open_files()
        alice = Node(group_configs(["alice", "bob"], tmp_path)["alice"])
        await alice.__aenter__()
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
        try:
            receipt = await alice.send({"bob"}, b"")
            with contextlib.suppress(OSError, Misuse):
                await alice.close()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        with pytest.raises((OSError, Misuse)):
            await receipt.delivered()
        assert open_files() == before

    run(main())


def test_targets_are_names_and_a_payload_is_what_it_was_when_it_was_said() -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob"], queues={"out_messages": 1})
        async with running(configs) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            with pytest.raises(Misuse, match="is not in the group: alice, bob"):
                await alice.send(b"bob", b"")  # type: ignore[arg-type]
            with pytest.raises(Misuse, match="dave is not in the group: alice, bob"):
                alice.explain(MessageId("dave", 0, 1))
            buffer = bytearray(b"1")
            # A type checker refuses what can change; at run time it is copied.
            speaking = [asyncio.create_task(alice.send(["bob", "bob"], buffer)) for _ in range(5)]  # type: ignore[arg-type]
            await asyncio.sleep(0)
            buffer[:] = b"2"
            await asyncio.gather(*speaking)
            await alice.send("bob", memoryview(b"end")[::2])  # type: ignore[arg-type]
            assert [message.payload for message in await take(bob, 6)] == [b"1"] * 5 + [b"ed"]

    run(main())


@pytest.mark.parametrize("facts", [{}, {"algorithm": "prc_spray", "transport": "tcp"}])
def test_nobody_is_evicted_who_is_no_peer(facts: dict[str, str]) -> None:
    """In a group of one, or a changing one, any name was taken."""

    async def main() -> None:
        async with Node(Config.of({"name": "alice", "linger_s": 0, **facts})) as alice:
            for name in ("alice", "bob"):
                with pytest.raises(Misuse, match=f"{name} is no peer of alice"):
                    alice.evict(name)

    run(main())


def test_what_a_node_writes_is_for_its_owner_only_and_the_mask_stays(tmp_path: Path) -> None:
    async def main() -> None:
        config = Config.of({"name": "alice", "listen": "127.0.0.1:0", "directory": str(tmp_path / "alice")})
        async with Node(config) as node:
            await node.broadcast(b"hello")
            written = {path.name: path.lstat().st_mode for path in tmp_path.rglob("*")}
            assert {"alice", "incarnation", "segments", "control.sock", "lock"} <= written.keys()
            assert {name for name, mode in written.items() if mode & 0o077} == set()
            assert os.umask(0) == 0

    before = os.umask(0)
    try:
        run(main())
    finally:
        os.umask(before)
