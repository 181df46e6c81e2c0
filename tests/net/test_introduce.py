"""Port 0: a node finds a free port itself, and is told where the others are."""

import asyncio
from pathlib import Path

import pytest

from aforesaid import Config, Misuse, Node
from net.net_stage import ANYWHERE, group_configs, introduced, run, take, until
from net.node_process import NodeProcess, write_toml


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_what_was_said_before_the_peer_was_told_of_arrives(transport: str) -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], transport=transport)
        async with Node(configs["alice"]) as alice, Node(configs["bob"]) as bob:
            assert alice.address.port != bob.address.port != 0
            receipt = await alice.send({"bob"}, b"wherever you are")
            await asyncio.sleep(0.1)
            assert alice.peers == {"bob": "silent"}
            introduced({"alice": alice, "bob": bob})
            await receipt.delivered()
            assert [message.payload for message in await take(bob, 1)] == [b"wherever you are"]

    run(main())


def test_of_two_ends_of_a_stream_one_must_know() -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], transport="tcp")
        async with Node(configs["alice"]) as alice, Node(configs["bob"]) as bob:
            bob.introduce({"alice": str(alice.address)})
            await (await alice.send({"bob"}, b"hello")).delivered()

    run(main())


def test_only_peers_are_introduced_and_where_they_may_be() -> None:
    async def main() -> None:
        async with Node(Config.of({"name": "alice", "peers": {"bob": ANYWHERE}})) as alice:
            for peers, error in (
                ({"dave": "127.0.0.1:1"}, "dave is no peer of alice"),
                ({"bob": "nowhere"}, "peers.bob: 'nowhere' is no address"),
                ({"bob": "192.0.2.1:7"}, "peers.bob: .* nothing is secured"),
                ({"bob": str(alice.address)}, "peers.bob: .* is where this node itself listens"),
            ):
                with pytest.raises(Misuse, match=error):
                    alice.introduce(peers)
            assert alice.config.peers == {"bob": ANYWHERE}

    run(main())


def test_processes_are_told_in_a_line(tmp_path: Path) -> None:
    async def main() -> None:
        nodes = [
            NodeProcess(
                write_toml(
                    tmp_path / f"{name}.toml",
                    {"name": name, "directory": name, "peers": {other: ANYWHERE}},
                )
            )
            for name, other in (("alice", "bob"), ("bob", "alice"))
        ]
        try:
            await asyncio.gather(*(node.start() for node in nodes))
            for node, other in (nodes, nodes[::-1]):
                node.say(peers={other.name: other.address})
                node.say(payload=f"from {node.name}")
            for node, other in (nodes, nodes[::-1]):
                await until(lambda node=node, other=other: f"from {other.name}" in node.heard, "heard")  # type: ignore[misc]
            assert [await node.end() for node in nodes] == [0, 0]
        finally:
            for node in nodes:
                await node.destroy()

    run(main())
