"""Groups of real nodes that change: admitted, dismissed, killed meanwhile; what they say is judged."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.core import Misuse
from aforesaid.node import groups
from aforesaid.node.endings import Closed, Dismissed
from net.net_stage import complaints, free_addresses, group_configs, judged, run, take, until


def newcomer(name: str, contact: Node, root: Path | None = None, **facts: Any) -> Config:
    return Config.of(
        {
            "name": name,
            "newcomer": True,
            "peers": {contact.name: str(contact.address)},
            **({} if root is None else {"directory": str(root / name)}),
            **facts,
        }
    )


async def entered(stack: AsyncExitStack, configs: dict[str, Config]) -> dict[str, Node]:
    nodes = {name: await stack.enter_async_context(Node(config)) for name, config in configs.items()}
    at = {name: str(node.address) for name, node in nodes.items()}
    for name, node in nodes.items():
        node.introduce({peer: at[peer] for peer in at if peer != name})
    return nodes


async def admitted(stack: AsyncExitStack, by: Node, config: Config) -> Node:
    """A newcomer that starts before it is admitted: where it listens must be known."""
    (at,) = free_addresses(1)
    config = Config.of({**{key: getattr(config, key) for key in config.__struct_fields__}, "listen": at})
    starting = asyncio.create_task(stack.enter_async_context(Node(config)))
    await by.admit(config.name, at)
    return await starting


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_newcomer_learns_of_everyone_and_is_heard(tmp_path: Path, transport: str) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            nodes = await entered(
                stack, group_configs(["alice", "bob", "carol"], tmp_path, transport=transport)
            )
            await nodes["bob"].broadcast(b"before")
            nodes["dave"] = await admitted(
                stack, nodes["alice"], newcomer("dave", nodes["alice"], tmp_path, transport=transport)
            )
            assert set(nodes["dave"].config.peers) == {"alice", "bob", "carol"}
            await nodes["dave"].broadcast(b"hello")
            for name in ("alice", "bob", "carol"):
                heard = await take(nodes[name], 2)
                assert [message.payload for message in heard] == [b"before", b"hello"]
                assert "dave" in nodes[name].config.peers
            await nodes["carol"].broadcast(b"welcome")
            assert [message.payload for message in await take(nodes["dave"], 2)] == [b"hello", b"welcome"]

    run(main())
    report, _ = judged(tmp_path)
    assert complaints(report) == []


def test_who_is_dismissed_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            nodes = await entered(stack, group_configs(["alice", "bob", "carol"], tmp_path))
            for number in range(50):
                await nodes["bob"].broadcast(b"bob %d" % number)
                await nodes["carol"].broadcast(b"carol %d" % number)
            await nodes["alice"].dismiss("bob")
            heard = [message.payload async for message in nodes["bob"]]
            assert len(heard) == 100
            with pytest.raises(Closed):
                await nodes["bob"].broadcast(b"too late")
            for name in ("alice", "carol"):
                payloads = [message.payload for message in await take(nodes[name], 100)]
                assert sum(each.startswith(b"bob") for each in payloads) == 50
                await until(lambda name=name: "bob" not in nodes[name].members, "bob has left")  # type: ignore[misc]
            await nodes["alice"].broadcast(b"we go on")
            assert (await take(nodes["carol"], 1))[0].payload == b"we go on"

    run(main())
    report, _ = judged(tmp_path)
    assert complaints(report) == []


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "ADMIT_S", 0.3)

    async def main() -> None:
        async with AsyncExitStack() as stack:
            nodes = await entered(stack, group_configs(["alice", "bob"]))
            alice = nodes["alice"]
            with pytest.raises(Misuse, match="bob is a member already"):
                await alice.admit("bob", "127.0.0.1:1")
            with pytest.raises(Misuse, match=r"dave is not heard at 127.0.0.1:1: start it first"):
                await alice.admit("dave", "127.0.0.1:1")
            assert "dave" not in alice.config.peers
            with pytest.raises(Misuse, match="eve is not in the group: alice, bob"):
                await alice.dismiss("eve")
            await alice.broadcast(b"goes on")
            assert (await take(nodes["bob"], 1))[0].payload == b"goes on"
            await alice.dismiss("alice")
            with pytest.raises(Dismissed):
                await alice.send(["bob"], b"too late")
            assert [message.payload async for message in alice] == [b"goes on"]
        async with Node(Config(name="x", algorithm="waiting")) as fixed:
            with pytest.raises(Misuse, match="admit: waiting has a fixed group; hybrid_multicast_in_order,"):
                await fixed.admit("y", "127.0.0.1:1")

    run(main())
    with pytest.raises(Misuse, match="newcomer: waiting has a fixed group"):
        Config.of({"name": "x", "algorithm": "waiting", "newcomer": True, "peers": {"y": "127.0.0.1:1"}})
    with pytest.raises(Misuse, match="newcomer: x is admitted by one of its peers: name one"):
        Config.of({"name": "x", "newcomer": True})


def test_a_group_survives_a_restart(tmp_path: Path) -> None:
    """Membership is part of the state that comes back: carol's, who was configured with alice and bob only,
    and dave's, who was configured with alice only."""

    async def main() -> None:
        durable = {"durability": "batch", "evict_after_s": 0}
        async with AsyncExitStack() as stack:
            at = dict(zip(["alice", "bob", "carol"], free_addresses(3), strict=True))
            configs = {
                name: Config.of(
                    {
                        "name": name,
                        "listen": at[name],
                        "directory": str(tmp_path / name),
                        "peers": {peer: at[peer] for peer in at if peer != name},
                        **durable,
                    }
                )
                for name in at
            }
            nodes = {name: await stack.enter_async_context(Node(config)) for name, config in configs.items()}
            nodes["dave"] = await admitted(
                stack, nodes["alice"], newcomer("dave", nodes["alice"], tmp_path, **durable)
            )
            await until(lambda: "dave" in nodes["carol"].config.peers, "carol knows dave")
            dave = Config.of({**{k: getattr(nodes["dave"].config, k) for k in Config.__struct_fields__}})
            for name in ("carol", "dave"):
                await nodes[name].close()
            again = await stack.enter_async_context(Node(configs["carol"]))
            assert set(again.config.peers) == {"alice", "bob", "dave"}
            back = await stack.enter_async_context(
                Node(Config.of({**newcomer_data(dave, nodes["alice"]), **durable}))
            )
            assert set(back.config.peers) == {"alice", "bob", "carol"}
            await again.broadcast(b"from carol")
            await back.broadcast(b"from dave")
            for node in (nodes["alice"], nodes["bob"]):
                assert {message.payload for message in await take(node, 2)} == {b"from carol", b"from dave"}

    run(main())


def newcomer_data(config: Config, contact: Node) -> dict[str, Any]:
    """As it was configured before it was admitted."""
    return {
        "name": config.name,
        "listen": config.listen,
        "directory": config.directory,
        "newcomer": True,
        "peers": {contact.name: str(contact.address)},
    }


def test_waiting_passes_an_eviction_on() -> None:
    """The operator tells one; all others hear of it, and stop waiting for who is gone."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            names = ["alice", "bob", "carol", "dave"]
            # Dave says no more: to whoever has evicted it that would be a reason to tell it.
            quiet: dict[str, Any] = {"evict_after_s": 0, "heartbeat_s": 30}
            nodes = await entered(stack, group_configs(names, algorithm="waiting", **quiet))
            await nodes["dave"].broadcast(b"all talk")
            for node in nodes.values():
                await take(node, 1)
            nodes["alice"].evict("dave")
            await until(
                lambda: all(nodes[name].peers["dave"] == "evicted" for name in ("bob", "carol")), "told"
            )
            await nodes["bob"].broadcast(b"without dave")
            for name in ("alice", "bob", "carol"):
                assert (await take(nodes[name], 1))[0].payload == b"without dave"
            await asyncio.wait_for(nodes["bob"].drain(), 10)

    run(main())


def test_what_has_a_fixed_group_says_so_and_keeps_it() -> None:
    """The adaptive algorithm is of the family, and its group is fixed."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            names = ["alice", "bob"]
            nodes = await entered(stack, group_configs(names, algorithm="hybrid_adaptive_multicast"))
            with pytest.raises(Misuse, match="admit: hybrid_adaptive_multicast has a fixed group"):
                await nodes["alice"].admit("dave", "127.0.0.1:1")
            await nodes["alice"].broadcast(b"to both")
            assert (await take(nodes["bob"], 1))[0].payload == b"to both"
            assert nodes["alice"].members == ("alice", "bob")

    run(main())
