"""Whatever strangers send to a live node is refused and counted, delivers nothing, and costs no memory."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.transport import door
from aforesaid.wire import Codec, cluster_id, pack, shapes_of
from aforesaid.wire.packet import Clear, Header
from net.net_stage import free_addresses, group_configs, placed_configs, run, running, take, until
from net.siege import ALGORITHM, Stranger, siege

HOSTILE = 30_000


def test_hostile_datagrams_into_a_sealed_node(tmp_path: Path) -> None:
    async def main() -> None:
        await siege(tmp_path, HOSTILE)

    run(main())


def test_hostile_frames_in_valid_packets() -> None:
    """In the clear, from a known name: the frames themselves are wrong."""

    async def main() -> None:
        configs = placed_configs(["alice", "bob"], linger_s=0)
        stranger = Stranger(configs["bob"].listen, configs["alice"].listen)
        clear = Clear(Header(cluster_id("aforesaid", ALGORITHM), "bob", 1))
        codec = Codec(shapes_of(ALGORITHM, ("alice", "bob")))
        chance = random.Random(3)
        async with Node(configs["alice"]) as alice:
            for _ in range(5_000):
                frame = chance.randbytes(chance.randrange(1, 40))
                stranger.say(clear.seal(pack([frame], 1300)[0]))
                if chance.random() < 0.05:
                    await asyncio.sleep(0)
            await until(lambda: alice.refused.get("frame shape", 0) > 50, "bad shapes are refused")
            assert alice.refused["frame tag"] > 50
            assert alice.gauges()["inbox_messages"] == 0
            assert codec.frame_bytes_max
        stranger.socket.close()

    run(main())


def test_the_old_incarnation_and_the_restarted_one_are_refused() -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob"], linger_s=0)
        stranger = Stranger(configs["bob"].listen, configs["alice"].listen)
        async with Node(configs["alice"]) as alice:
            for incarnation in (5, 4, 6):
                stranger.say(Clear(Header(cluster_id("aforesaid", ALGORITHM), "bob", incarnation)).seal(b""))
            await until(lambda: alice.refused.get("incarnation", 0) == 2, "only the first one counts")
            stranger.say(Clear(Header(cluster_id("aforesaid", ALGORITHM), "dave", 5)).seal(b""))
            await until(lambda: alice.refused.get("stranger", 0) == 1, "and only members")
            alice.evict("bob")
            stranger.say(Clear(Header(cluster_id("aforesaid", ALGORITHM), "bob", 5)).seal(b""))
            await until(lambda: alice.refused.get("evicted", 0) == 1, "and nobody who was evicted")
        stranger.socket.close()

    run(main())


@pytest.mark.parametrize("secured", [False, True])
def test_hostile_streams(secured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "STRANGE_S", 0.3)

    async def main() -> None:
        facts: dict[str, Any] = {"transport": "tcp", "heartbeat_s": 0.1}
        if secured:
            write_cluster_key(tmp_path / "key")
            facts["security"] = {"cluster_key": str(tmp_path / "key")}
        chance = random.Random(5)
        async with running(group_configs(["alice", "bob"], **facts)) as nodes:
            alice = nodes["alice"]
            address = alice.address
            header = Header(cluster_id("aforesaid", ALGORITHM), "bob", 2**60).encode()
            for turn in range(60):
                _, writer = await asyncio.open_connection(*address)
                writer.write(
                    [chance.randbytes(300), header + chance.randbytes(200), header + b"\xff" * 8][turn % 3]
                )
                writer.close()
            silent = [await asyncio.open_connection(*address) for _ in range(5)]
            await nodes["bob"].send({"alice"}, b"still there?")
            assert [message.payload for message in await take(alice, 1)] == [b"still there?"]
            for reader, writer in silent if not secured else []:
                assert await asyncio.wait_for(reader.read(), 5) == b""
                writer.close()
            if not secured:
                assert alice.refused["hello too late"] == 5
                assert alice.refused["not ours"] > 10
                assert alice.refused["hello"] > 10
            for _, writer in silent:
                writer.close()
            assert alice.gauges()["inbox_messages"] == 0

    run(main())


def test_nobody_takes_the_name_of_another_with_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aforesaid.security import keyfiles

    async def main() -> None:
        keyfiles.write_authority(tmp_path)
        keyfiles.write_nodes(tmp_path, ["alice", "bob", "mallory"])
        configs = placed_configs(
            ["alice", "bob"], transport="tcp", security={"certificates": str(tmp_path)}, linger_s=0
        )
        async with Node(configs["alice"]) as alice:
            stolen = keyfiles.load_credentials(tmp_path, "mallory")
            monkeypatch.setattr(keyfiles, "load_credentials", lambda *_: replace(stolen, name="bob"))
            async with Node(configs["bob"]) as mallory:
                await mallory.send({"alice"}, b"I am bob")
                await until(lambda: alice.refused.get("certificate name", 0) > 0, "the name is not his")
                assert alice.peers == {"bob": "refused: its certificate is for another name"}

    run(main())


def test_plain_text_is_for_loopback() -> None:
    (free,) = free_addresses(1)
    for listen, peer in (("0.0.0.0:1", "127.0.0.1:1"), (free, "192.0.2.1:7000"), (free, "example.org:7000")):
        facts = {"name": "alice", "listen": listen, "peers": {"bob": peer}}
        with pytest.raises(Exception, match="allow_plaintext_on_the_network_which_anyone_can_read_and_forge"):
            Config.of(facts)
        Config.of({**facts, "allow_plaintext_on_the_network_which_anyone_can_read_and_forge": True})
