"""A node that survives as a process of its own: its lines have offsets, and an operator may begin anew."""

import asyncio
import subprocess
from pathlib import Path

from aforesaid import Config, Node
from aforesaid.security.keyfiles import write_cluster_key
from net.net_stage import PATIENCE_S, command, free_addresses, run, until
from net.node_process import NodeProcess, write_toml


def configured(place: Path) -> Path:
    facts = {"name": "alice", "algorithm": "waiting", "directory": "alice", "durability": "batch"}
    return write_toml(place / "alice.toml", facts)


def test_lines_have_offsets_that_go_on_after_a_kill(tmp_path: Path) -> None:
    async def main() -> None:
        config = configured(tmp_path)
        first = NodeProcess(config)
        await first.start()
        await first.broadcast(b"one")
        await first.broadcast(b"two")
        while len(first.delivered) < 2:
            await asyncio.sleep(0.01)
        assert [line["offset"] for line in first.delivered] == [1, 2]
        first.kill()
        await first.destroy()
        second = NodeProcess(config)
        await second.start()
        await second.broadcast(b"three")
        while not second.delivered or second.delivered[-1]["payload"] != "three":
            await asyncio.sleep(0.01)
        assert second.delivered[-1]["offset"] == 3
        ready = [line["incarnation"] for line in (first.lines[0], second.lines[0])]
        assert ready[0] == ready[1]
        assert await second.end() == 0

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


def test_a_node_is_upgraded_in_place_if_it_was_closed_in_order(tmp_path: Path) -> None:
    config = configured(tmp_path)

    async def lives(version: str, says: str, killed: bool = False) -> int:
        """The offset that a start of this version gives to what it says."""
        node = NodeProcess(config, version)
        await node.start()
        await node.broadcast(says.encode())
        await until(lambda: says in node.heard, says)
        if killed:
            node.kill()
            await node.destroy()
        else:
            assert await node.end() == 0
        offsets: list[int] = [line["offset"] for line in node.delivered if line["payload"] == says]
        return offsets[0]

    async def main() -> None:
        assert await lives("1.0", "one") == 1
        assert await lives("1.1", "two") == 2
        assert await lives("1.1", "three", killed=True) == 3
        arguments = command("node", "--config", config, version="1.2")
        refused = await asyncio.create_subprocess_exec(*arguments, stderr=asyncio.subprocess.PIPE)
        _, told = await refused.communicate()
        assert refused.returncode == 2
        assert told.count(b"\n") == 1
        assert b"start it once more with 1.1 and close it, then start 1.2" in told
        assert await lives("1.1", "four") == 4
        assert await lives("1.2", "five") == 5

    run(main())


def test_a_new_identity_is_the_operators_word(tmp_path: Path) -> None:
    config = configured(tmp_path)

    def ran(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command("node", "--config", config), *options],
            input="",
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    assert ran().returncode == 0
    journal = tmp_path / "alice" / "journal"
    segment = next(journal.glob("*.snapshot"))
    segment.write_bytes(segment.read_bytes()[:-1])
    damaged = ran()
    assert damaged.returncode == 2
    assert "damaged" in damaged.stderr
    again = ran("--new-identity")
    assert again.returncode == 0, again.stderr
    assert "journal set aside" in again.stderr
    assert (tmp_path / "alice" / "journal-1" / segment.name).exists()
    assert any(journal.iterdir())


def test_over_tls_a_node_that_was_closed_comes_back(tmp_path: Path) -> None:
    key = tmp_path / "cluster.key"
    write_cluster_key(key)
    at = dict(zip(("alice", "bob"), free_addresses(2), strict=True))

    def config(name: str) -> Config:
        return Config.of(
            {
                "name": name,
                "algorithm": "waiting",
                "transport": "tcp",
                "listen": at[name],
                "peers": {other: where for other, where in at.items() if other != name},
                "directory": str(tmp_path / name),
                "durability": "always",
                "security": {"cluster_key": str(key)},
            }
        )

    async def main() -> None:
        async with Node(config("alice")) as alice:
            async with Node(config("bob")) as bob:
                await alice.broadcast(b"1")
                assert (await anext(bob)).payload == b"1"
            await alice.broadcast(b"2")
            async with Node(config("bob"), resume_from=1) as bob:
                message = await anext(bob)
                assert (message.payload, message.offset) == (b"2", 2)
                await bob.broadcast(b"3")
                assert [(await anext(alice)).payload for _ in range(3)] == [b"1", b"2", b"3"]
                assert alice.peers == {"bob": "connected"}

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
