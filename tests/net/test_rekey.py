"""The cluster key of live nodes is replaced while they speak, and nothing is lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Misuse, Node
from aforesaid.node.operating.control import ask
from aforesaid.security.keyfiles import write_cluster_key
from net.net_stage import group_configs, placed_configs, run, running, take, until

NAMES = ["alice", "bob", "carol"]


def keys(root: Path) -> tuple[str, str]:
    for name in ("old", "new"):
        write_cluster_key(root / f"{name}.key")
    return str(root / "old.key"), str(root / "new.key")


async def rotated(nodes: dict[str, Node], old: str, new: str) -> None:
    """The three rounds, one node after the other."""
    for using, accepted in ((old, [new]), (new, [old]), (new, [])):
        for node in nodes.values():
            await node.rekey(using, accepted)
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("algorithm", "transport"),
    [("hybrid_multicast_in_order", "udp"), ("hybrid_multicast_in_order", "tcp"), ("waiting", "tcp")],
)
def test_nothing_is_lost_meanwhile(tmp_path: Path, algorithm: str, transport: str) -> None:
    old, new = keys(tmp_path)
    facts: dict[str, Any] = {"algorithm": algorithm, "transport": transport, "security": {"cluster_key": old}}

    async def main() -> None:
        async with running(group_configs(NAMES, **facts)) as nodes:
            said, quiet = 0, asyncio.Event()

            async def speak() -> None:
                nonlocal said
                while not quiet.is_set():
                    await nodes["alice"].broadcast(b"%d" % said)
                    said += 1
                    await asyncio.sleep(0.002)

            speaking = asyncio.create_task(speak())
            hearing = [asyncio.create_task(hear(nodes[name])) for name in NAMES]
            await rotated(nodes, old, new)
            if transport == "tcp":
                # What is said on streams that are open was sealed long ago; new ones need the new key.
                carrier: Any = nodes["alice"]._running.carrier
                for peer in carrier.peers.values():
                    peer.stream._transport.abort()
                await until(lambda: len(carrier.connected()) == 2, "they meet again")
            quiet.set()
            await speaking
            await nodes["alice"].broadcast(b"the end")
            heard = [await asyncio.wait_for(each, 20) for each in hearing]
            assert said > 20
            assert heard == [[b"%d" % number for number in range(said)]] * 3

    async def hear(node: Node) -> list[bytes]:
        heard = []
        while (payload := (await take(node, 1))[0].payload) != b"the end":
            heard.append(payload)
        return heard

    run(main())


def test_who_uses_the_old_key_when_nobody_accepts_it_is_not_let_in(tmp_path: Path) -> None:
    old, new = keys(tmp_path)

    async def main() -> None:
        configs = placed_configs(["alice", "bob"], security={"cluster_key": old}, linger_s=0)
        async with Node(configs["alice"]) as alice, Node(configs["bob"]) as bob:
            await alice.rekey(new)
            await bob.send({"alice"}, b"do you hear me?")
            await until(lambda: alice.refused.get("key", 0) > 0, "the old key is refused")
            assert not alice.gauges()["inbox_messages"]
            await bob.rekey(new)
            assert [message.payload for message in await take(alice, 1)] == [b"do you hear me?"]

    run(main())


def test_a_key_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    old, _ = keys(tmp_path)

    async def main() -> None:
        configs = placed_configs(["alice", "bob"], security={"cluster_key": old}, linger_s=0)
        directory = tmp_path / "alice"
        (config,) = group_configs(["solo"], directory=str(directory), linger_s=0).values()
        async with Node(configs["alice"]) as alice, Node(configs["bob"]) as bob:
            for bad in (tmp_path / "none.key", tmp_path):
                with pytest.raises(Misuse, match="cannot read"):
                    await alice.rekey(str(bad))
            await alice.send({"bob"}, b"still here")
            assert [message.payload for message in await take(bob, 1)] == [b"still here"]
        async with Node(config) as solo:
            with pytest.raises(Misuse, match="solo uses no cluster key"):
                await asyncio.to_thread(ask, str(directory), {"rekey": [old]})
            with pytest.raises(Misuse, match="a request is"):
                await asyncio.to_thread(ask, str(directory), {"rekey": [old, 7]})
            assert solo.peers == {}

    run(main())
