"""Every algorithm, over every transport, secured in every way: real sockets, a real verdict on the traces."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Misuse, Node
from aforesaid.security.keyfiles import write_authority, write_cluster_key, write_nodes
from net.net_stage import complaints, group_configs, judged, placed_configs, run, running, take, until

NAMES = ["alice", "bob", "carol"]


def security(kind: str, root: Path) -> dict[str, Any]:
    if kind == "cluster key":
        write_cluster_key(root / "cluster.key")
        return {"security": {"cluster_key": str(root / "cluster.key")}}
    if kind == "certificates":
        write_authority(root / "keys")
        write_nodes(root / "keys", NAMES)
        return {"security": {"certificates": str(root / "keys")}}
    return {}


def holds_nothing(node: Node) -> bool:
    return not any(node.gauges().values())


@pytest.mark.parametrize(
    ("algorithm", "transport", "secured"),
    [
        ("hybrid_multicast_in_order", "udp", "plain"),
        ("hybrid_multicast_in_order", "udp", "cluster key"),
        ("hybrid_multicast_in_order", "tcp", "cluster key"),
        ("hybrid_multicast_in_order", "tcp", "certificates"),
        ("hybrid_multicast", "udp", "cluster key"),
        ("hybrid_multicast", "tcp", "plain"),
        ("waiting", "udp", "cluster key"),
        ("waiting", "tcp", "certificates"),
    ],
)
def test_a_fixed_group_hears_everything_in_causal_order(
    algorithm: str, transport: str, secured: str, tmp_path: Path
) -> None:
    async def main() -> None:
        facts = {"algorithm": algorithm, "transport": transport, **security(secured, tmp_path)}
        async with running(group_configs(NAMES, tmp_path, **facts)) as nodes:
            for turn in range(10):
                for node in nodes.values():
                    await node.broadcast(f"{node.name} {turn}".encode())
            for node in nodes.values():
                heard = await take(node, 30)
                for name in NAMES:
                    said = [message.payload for message in heard if message.origin == name]
                    assert said == [f"{name} {turn}".encode() for turn in range(10)]
            for node in nodes.values():
                await node.drain()
                await until(partial(holds_nothing, node), "memory returns to empty")

    run(main())
    report, trace = judged(tmp_path)
    assert not complaints(report)
    assert trace.run.ended == "drained"
    assert trace.processes.fate == ["alive"] * 3
    assert trace.run.clock == "local"


def test_a_reply_is_never_heard_before_what_it_answers() -> None:
    async def main() -> None:
        async with running(group_configs(NAMES)) as nodes:
            for turn in range(50):
                await nodes["alice"].send({"bob", "carol"}, b"question")
                await take(nodes["bob"], 1)
                await nodes["bob"].send({"carol"}, b"answer")
                heard = await take(nodes["carol"], 2)
                assert [message.payload for message in heard] == [b"question", b"answer"], turn

    run(main())


def test_unicast_multicast_and_broadcast_reach_whom_they_name() -> None:
    async def main() -> None:
        async with running(group_configs(NAMES)) as nodes:
            await nodes["alice"].send(["bob"], b"one")
            await nodes["alice"].send({"bob", "carol"}, b"two")
            receipt = await nodes["alice"].broadcast(b"all")
            assert await receipt.delivered() == frozenset()
            assert await receipt.stable() == frozenset()
            assert [message.payload for message in await take(nodes["bob"], 3)] == [b"one", b"two", b"all"]
            assert [message.payload for message in await take(nodes["carol"], 2)] == [b"two", b"all"]
            (own,) = await take(nodes["alice"], 1)
            assert (own.origin, own.payload, own.id) == ("alice", b"all", receipt.id)

    run(main())


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_payloads_larger_than_a_packet_are_cut_and_put_together(transport: str) -> None:
    async def main() -> None:
        async with running(group_configs(["alice", "bob"], transport=transport)) as nodes:
            large = bytes(range(256)) * 1200
            for payload in (b"", large, b"small", large[::-1]):
                await nodes["alice"].send({"bob"}, payload)
            heard = await take(nodes["bob"], 4)
            assert [message.payload for message in heard] == [b"", large, b"small", large[::-1]]
            with pytest.raises(Misuse, match="payload_bytes_max is 1048576"):
                await nodes["alice"].send({"bob"}, bytes(2**20 + 1))

    run(main())


def test_nodes_find_each_other_whoever_starts_first() -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob"])
        async with Node(configs["alice"]) as alice:
            receipt = await alice.send({"bob"}, b"are you there?")
            async with Node(configs["bob"]) as bob:
                (message,) = await take(bob, 1)
                assert message.payload == b"are you there?"
                await receipt.delivered()

    run(main())


def test_what_others_cannot_tell_is_refused_with_a_reason() -> None:
    async def main() -> None:
        async with running(group_configs(["alice", "bob"], algorithm="waiting")) as nodes:
            receipt = await nodes["alice"].broadcast(b"hello")
            with pytest.raises(Misuse, match="waiting cannot tell who has delivered"):
                await receipt.delivered()
            with pytest.raises(Misuse, match="waiting broadcasts"):
                await nodes["alice"].send({"bob"}, b"hello")
        async with running(group_configs(["alice", "bob"])) as nodes:
            with pytest.raises(Misuse, match="dave is not in the group: alice, bob"):
                await nodes["alice"].send({"dave"}, b"hello")
            with pytest.raises(Misuse, match="a payload is bytes, not str"):
                await nodes["alice"].send({"bob"}, "hello")  # type: ignore[arg-type]

    run(main())


def test_a_stranger_to_the_key_is_not_let_in(tmp_path: Path) -> None:
    async def main() -> None:
        for name in ("right", "wrong"):
            write_cluster_key(tmp_path / name)
        configs = placed_configs(NAMES, security={"cluster_key": str(tmp_path / "right")})
        facts = {"name": "carol", "listen": configs["carol"].listen, "peers": configs["carol"].peers}
        stranger = Config.of({**facts, "security": {"cluster_key": str(tmp_path / "wrong")}, "linger_s": 0})
        async with (
            running({name: configs[name] for name in ("alice", "bob")}) as nodes,
            Node(stranger) as carol,
        ):
            await carol.send({"alice"}, b"let me in")
            await nodes["alice"].send({"bob"}, b"between us")
            await take(nodes["bob"], 1)
            await until(lambda: "key" in nodes["alice"].refused, "the stranger is refused")
            assert nodes["alice"].peers == {
                "bob": "connected",
                "carol": "refused: it uses another cluster key",
            }

    run(main())
