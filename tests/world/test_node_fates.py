"""What becomes of a group when one of its nodes fails, told by worlds of a few lines."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Misuse, Node
from aforesaid.security.keyfiles import write_cluster_key
from world.node_stage import PORT, Stage, play, told


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_node_that_has_failed_says_goodbye_and_nobody_waits_for_it(transport: str) -> None:
    async def full_disk(stage: Stage) -> None:
        await stage.group("a", "b", "c", transport=transport)
        await asyncio.sleep(1)
        stage.world.disks["a"].room = 0
        await stage.say("a", b"lost")
        await stage.until(lambda: stage.nodes["b"].peers["a"] == "left", "b takes a for alive", 2.0)
        await stage.until(lambda: "a" in stage.errors, "a does not tell its application", 5.0)
        assert "No space left" in str(stage.errors["a"])
        await stage.say("b", b"after")
        await stage.until(lambda: b"after" in stage.heard["c"], "b and c wait for a", 2.0)

    play(full_disk)


def test_a_full_disk_that_shows_when_a_connection_ends_fails_the_node(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """World 2001 of changing groups: the loop tells of the end, and nobody else stands above."""

    async def neighbour_gone(stage: Stage) -> None:
        facts = {"algorithm": "prc_spray", "transport": "tcp", "receipts": True}
        await stage.start("a", **facts)
        await stage.start("b", contact=f"{stage.world.host('a')}:{PORT}", **facts)
        await asyncio.sleep(1)
        stage.world.disks["a"].room = 0
        stage.machines["b"].kill()
        await stage.until(lambda: "a" in stage.errors, "a does not tell its application", 5.0)
        assert "No space left" in str(stage.errors["a"])
        assert not stage.world.loop.failures
        assert not told(caplog, "rejoining")

    play(neighbour_gone)


def test_who_restarts_finds_its_group_by_what_its_directory_remembers() -> None:
    async def founder_back(stage: Stage) -> None:
        world = stage.world
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        for name in "bc":
            await stage.start(
                name, algorithm="prc_spray", transport="tcp", contact=[f"{world.host('a')}:{PORT}"]
            )
        await asyncio.sleep(15)
        stage.machines["a"].kill()
        del stage.nodes["a"]
        await asyncio.sleep(5)
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        await stage.say("a", b"back")
        await stage.until(lambda: b"back" in stage.heard["b"], "a has founded a group of its own")
        await stage.until(lambda: b"back" in stage.heard["c"], "c is elsewhere")

    play(founder_back)


def test_who_is_left_alone_founds_the_group_anew_after_a_while() -> None:
    async def alone(stage: Stage) -> None:
        world = stage.world
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        await stage.start("b", algorithm="prc_spray", transport="tcp", contact=f"{world.host('a')}:{PORT}")
        await asyncio.sleep(3)
        stage.machines["a"].kill()
        await asyncio.sleep(5)
        began = world.now_s
        await stage.say("b", b"alone")
        assert world.now_s - began < 30
        await stage.until(lambda: b"alone" in stage.heard["b"], "b does not hear itself")

    play(alone)


def test_descriptors_that_ran_out_do_not_end_a_node_whose_segment_is_full() -> None:
    async def no_descriptors(stage: Stage) -> None:
        await stage.group("a", "b", trace_segment_bytes=4096)
        stage.machines["a"].descriptors_max = 0
        for number in range(300):
            await stage.say("a", b"%d" % number)
        stage.machines["a"].descriptors_max = 100
        for _ in range(100):
            await stage.say("a", b"more")
        await stage.say("a", b"last")
        await stage.until(lambda: b"last" in stage.heard["b"], "b does not hear a")
        assert not stage.errors
        segments = [path for path in stage.world.disks["a"].files if path.parent.name == "segments"]
        assert len(segments) > 1

    play(no_descriptors)


def test_descriptors_that_ran_out_do_not_end_a_node_that_has_lost_its_group() -> None:
    """It cannot even listen then; it does when there are some again."""

    async def no_descriptors(stage: Stage) -> None:
        world = stage.world
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        facts: dict[str, Any] = {"contact": f"{world.host('a')}:{PORT}", "trace": False}
        await stage.start("b", algorithm="prc_spray", transport="tcp", **facts)
        await asyncio.sleep(3)
        stage.machines["b"].descriptors_max = 0
        stage.machines["a"].kill()
        del stage.nodes["a"]
        await asyncio.sleep(30)
        assert world.network.did["no descriptor left"]
        assert not stage.errors
        stage.machines["b"].descriptors_max = 100
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        await asyncio.sleep(30)
        await stage.say("a", b"together")
        await stage.until(lambda: b"together" in stage.heard["b"], "b has not come back")

    play(no_descriptors)


def test_a_peer_whose_name_is_not_known_yet_is_found_later() -> None:
    async def later(stage: Stage) -> None:
        world = stage.world
        clear = {"allow_plaintext_on_the_network_which_anyone_can_read_and_forge": True}
        await stage.start("a", peers={"b": "b.example:7000"}, **clear)
        await stage.say("a", b"early")
        await asyncio.sleep(30)
        world.network.add("b.example")
        await stage.start("b", listen="b.example:7000", peers={"a": f"{world.host('a')}:{PORT}"}, **clear)
        await stage.until(lambda: b"early" in stage.heard["b"], "b does not hear a")

    play(later)


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_peer_that_comes_back_elsewhere_is_found_by_its_name(transport: str) -> None:
    async def moved(stage: Stage) -> None:
        facts = {
            "allow_plaintext_on_the_network_which_anyone_can_read_and_forge": True,
            "durability": "batch",
            "transport": transport,
        }
        network, at = stage.world.network, f"{stage.world.host('a')}:{PORT}"
        for place in ("here", "there"):
            network.add(place)
        network.names["b.example"] = "here"
        await stage.start("a", peers={"b": f"b.example:{PORT}"}, **facts)
        await stage.start("b", listen=f"here:{PORT}", peers={"a": at}, **facts)
        await stage.say("a", b"here")
        await stage.until(lambda: b"here" in stage.heard["b"], "b does not hear a")
        stage.machines["b"].kill()
        network.names["b.example"] = "there"
        await stage.again("b", listen=f"there:{PORT}")
        await stage.say("a", b"there")
        await stage.until(lambda: b"there" in stage.heard["b"], "a looks for b where it was")

    play(moved)


def sealed(tmp_path: Path) -> dict[str, Any]:
    write_cluster_key(tmp_path / "key")
    return {"security": {"cluster_key": str(tmp_path / "key")}}


def test_a_greeting_recorded_at_an_earlier_start_keeps_nobody_out(tmp_path: Path) -> None:
    facts = sealed(tmp_path)

    async def replayed(stage: Stage) -> None:
        world, recorded = stage.world, list[tuple[Any, bytes]]()
        network = world.network
        send = network.datagram

        def record(source: Any, address: Any, data: bytes) -> None:
            if source.name == "a":
                recorded.append((address, data))
            send(source, address, data)

        network.datagram = record  # type: ignore[method-assign]
        await stage.group("a", "b", **facts)
        await asyncio.sleep(3)
        for name in "ab":
            stage.machines[name].kill()
            del stage.nodes[name]
        network.datagram = send  # type: ignore[method-assign]
        peers = {name: f"{world.host(name)}:{PORT}" for name in "ab"}
        await stage.start("b", peers={"a": peers["a"]}, **facts)
        mallory = world.boot("mallory")
        for address, data in recorded:
            send(mallory, address, data)
        await asyncio.sleep(1)
        await stage.start("a", peers={"b": peers["b"]}, **facts)
        await stage.say("a", b"it is me")
        await stage.until(lambda: b"it is me" in stage.heard["b"], "b takes a for another", 5.0)

    play(replayed)


def test_a_second_start_of_a_name_does_not_cut_off_the_first(tmp_path: Path) -> None:
    facts = sealed(tmp_path)

    async def twice(stage: Stage) -> None:
        await stage.group("a", "b", **facts)
        await stage.say("a", b"before")
        await stage.until(lambda: b"before" in stage.heard["b"], "b does not hear a")
        first, host = (stage.nodes.pop("a"), stage.machines["a"]), stage.world.host("b")
        await stage.start(
            "a",
            listen=f"{stage.world.host('a2')}:{PORT}",
            directory="/a2",
            peers={"b": f"{host}:{PORT}"},
            **facts,
        )
        await stage.say("a", b"another")
        await asyncio.sleep(20)
        stage.nodes["a"], stage.machines["a"] = first
        await stage.say("a", b"after")
        await stage.until(lambda: b"after" in stage.heard["b"], "the first a is cut off", 5.0)
        assert b"another" not in stage.heard["b"]

    play(twice)


def test_a_node_whose_inbox_is_full_leaves_in_order_all_the_same() -> None:
    """Found by a world (changing, seed 75): who leaves listens no more, and never came to rest."""

    async def deaf_leaver(stage: Stage) -> None:
        facts = {"algorithm": "prc_spray", "transport": "tcp"}
        founder = await stage.start("a", **facts)
        await stage.start("b", contact=f"{stage.world.host('a')}:{PORT}", **facts)
        deaf = stage.world.boot("deaf")
        leaving = asyncio.Event()
        stage.world.on(deaf, lambda: hear_nothing(stage, leaving))
        await stage.until(lambda: "deaf" in founder.peers, "the deaf one is no member")
        for number in range(200):
            await stage.say("b", bytes([number]))
            await asyncio.sleep(0.01)
        leaving.set()
        await stage.until(lambda: "deaf" in stage.heard, "it does not leave", 3.0)
        await stage.until(lambda: len(stage.heard["a"]) == 200, "those who stay lack something")

    async def hear_nothing(stage: Stage, leaving: asyncio.Event) -> None:
        facts = {"algorithm": "prc_spray", "transport": "tcp", "queues": {"in_messages": 16}}
        where = {"listen": f"{stage.world.host('deaf')}:{PORT}", "contact": f"{stage.world.host('a')}:{PORT}"}
        async with Node(Config.of({"name": "deaf", **where, **facts})):
            await leaving.wait()
        stage.heard["deaf"] = []

    play(deaf_leaver)


def test_a_group_that_lost_itself_does_not_wait_for_newcomers_to_found_it() -> None:
    """Found by a world (changing, seed 410): newcomers called meanwhile, one the first by name."""

    async def torn(stage: Stage) -> None:
        facts = {"algorithm": "prc_spray", "transport": "tcp"}
        at = [f"{stage.world.host(name)}:{PORT}" for name in "abc"]
        await stage.start("a", **facts)
        for name in "bc":
            await stage.start(name, contact=at[0], **facts)
        await stage.until(lambda: all(len(stage.nodes[name].peers) > 1 for name in "abc"), "they do not link")
        before = {name: stage.nodes[name].incarnation for name in "abc"}
        stage.world.network.reset_streams(1.0)
        for name in ("0", "1"):
            where = {"listen": f"{stage.world.host(name)}:{PORT}", "contact": at}
            config = Config.of({"name": name, **where, **facts})
            stage.world.on(stage.world.boot(name), partial(keep_coming, stage, config))
        await stage.until(
            lambda: all(stage.nodes[name].incarnation > before[name] for name in "abc"), "some found nobody"
        )
        await stage.until(lambda: {"0", "1"} <= stage.nodes.keys(), "the newcomers are not let in")

    async def keep_coming(stage: Stage, config: Config) -> None:
        while True:
            try:
                async with Node(config) as node:
                    stage.nodes[config.name] = node
                    await asyncio.Event().wait()
            except Misuse:
                await asyncio.sleep(0.1)

    play(torn)
