"""Nodes that survive, in worlds of a few lines: killed, superseded, on a full disk, in a wrong directory."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Message, Node, Superseded
from aforesaid.core import Misuse
from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.transport import Address, dial
from aforesaid.world.disk import WorldDisk
from world.node_stage import PORT, Stage, play

FACTS: dict[str, Any] = {"evict_after_s": 0, "algorithm": "waiting", "durability": "batch"}
WAYS = ("udp", "sealed udp", "tcp")


@pytest.fixture(params=WAYS)
def facts(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    way: str = request.param
    key = tmp_path / "cluster.key"
    write_cluster_key(key)
    security = {"security": {"cluster_key": str(key)}} if way.startswith("sealed") else {}
    return {**FACTS, "transport": way.split()[-1], **security}


async def heard(stage: Stage, name: str, *payloads: bytes) -> None:
    await stage.until(
        lambda: stage.heard[name] == [*payloads], f"{name} has heard {stage.heard[name]}, not {payloads}"
    )


@pytest.mark.parametrize("durability", ["batch", "always"])
def test_a_killed_node_comes_back_as_itself(durability: str, facts: dict[str, Any]) -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **{**facts, "durability": durability})
        incarnation = stage.nodes["bob"].incarnation
        await stage.say("alice", b"1")
        await stage.say("alice", b"2")
        await heard(stage, "bob", b"1", b"2")
        stage.machines["bob"].kill()
        await stage.say("alice", b"3")
        await stage.again("bob")
        assert stage.nodes["bob"].incarnation == incarnation
        await stage.say("bob", b"4")
        await heard(stage, "alice", b"1", b"2", b"3", b"4")
        await heard(stage, "bob", b"3", b"4")
        assert stage.nodes["alice"].peers == {"bob": "connected"}

    play(scene)


@pytest.mark.parametrize("starts", [1, 2])
def test_an_old_backup_is_refused_and_told(starts: int, facts: dict[str, Any]) -> None:
    """Also one that was made just before the last start, and counts as far."""

    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **facts)
        await stage.say("bob", b"1")
        await heard(stage, "alice", b"1")
        backup = deepcopy(stage.world.disks["bob"].files)
        for start in range(starts):
            stage.machines["bob"].kill()
            await stage.again("bob")
            await stage.say("bob", b"after start %d" % start)
        await stage.until(lambda: len(stage.heard["alice"]) == 1 + starts, "alice lacks something")
        stage.machines["bob"].kill()
        stage.world.disks["bob"].files = backup
        await stage.again("bob")
        await stage.until(lambda: "bob" in stage.errors, "bob goes on from an old backup")
        assert isinstance(stage.errors["bob"], Superseded), stage.errors
        assert "old backup" in str(stage.errors["bob"])
        assert stage.nodes["alice"].refused["superseded"] > 0

    play(scene)


def test_a_full_disk_ends_a_node_in_order_and_it_comes_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **FACTS)
        await stage.say("alice", b"1")
        await heard(stage, "bob", b"1")
        stage.world.disks["bob"].room = 10
        await stage.say("alice", b"2")
        await stage.until(lambda: "bob" in stage.errors, "bob goes on without a disk")
        assert "cannot write the journal" in str(stage.errors["bob"])
        assert stage.heard["bob"] == [b"1"], "what is not on the disk was delivered"
        assert stage.nodes["alice"].peers["bob"] not in ("left", "evicted")
        stage.world.disks["bob"].room = None
        await stage.again("bob")
        await stage.until(lambda: stage.heard["bob"][-1:] == [b"2"], "bob lacks something")

    play(scene)


@pytest.mark.parametrize("before", [False, True])
def test_a_start_that_finds_no_room_leaves_nothing_open(before: bool) -> None:
    """Found by worlds (durable, seed 389 and twelve more): the first record of a trace segment found none,
    and its file stayed open. Here a start finds room for any number of bytes."""

    async def scene(stage: Stage) -> None:
        facts = {**FACTS, "peers": {"alice": f"{stage.world.host('alice')}:{PORT}"}}
        if before:
            await stage.start("bob", **facts)
            await stage.say("bob", b"1")
            stage.machines["bob"].kill()
        refused = set[str]()
        for room in range(4096):
            disk = stage.world.disks.setdefault("bob", WorldDisk())
            files = deepcopy(disk.files)
            disk.room = room
            stage.begin("bob", **facts)
            await stage.until(lambda: "bob" in stage.errors or "bob" in stage.nodes, "it hangs")
            if "bob" in stage.nodes:
                break
            refused.add(str(stage.errors.pop("bob")).split(":")[0])
            assert not stage.machines["bob"].open, f"with room for {room} bytes something stays open"
            disk.files = files
        assert any(".segment" in why for why in refused), refused
        assert any("journal" in why for why in refused), refused

    play(scene)


def test_a_segment_that_cannot_be_begun_leaves_nothing_open() -> None:
    """When the one before is full."""

    async def scene(stage: Stage) -> None:
        for room in range(4096, 4500, 20):
            await stage.start("bob", trace_segment_bytes=4096)
            stage.world.disks["bob"].room = room
            while "bob" not in stage.errors:
                with suppress(Misuse):
                    await stage.say("bob", bytes(100))
                await asyncio.sleep(0.01)
            assert "No space left" in str(stage.errors.pop("bob"))
            assert not stage.machines["bob"].open, f"with room for {room} bytes something stays open"
            stage.world.disks["bob"].room = None

    play(scene)


def test_who_was_away_from_the_first_message_on_is_soon_told_all_the_rest() -> None:
    """Found by a world (durable, seed 8136): the time that it was away was taken for its round trip."""

    async def scene(stage: Stage) -> None:
        facts = {**FACTS, "algorithm": "hybrid_multicast_in_order", "queues": {"in_messages": 16}}
        await stage.group("alice", "bob", **facts)
        await stage.until(lambda: stage.nodes["alice"].peers["bob"] == "connected", "they have not met")
        stage.machines["bob"].kill()
        said = [b"%d" % number for number in range(300)]
        for payload in said:
            await stage.say("alice", payload)
        await asyncio.sleep(60)
        stage.world.network.weather.jitter_s = 0.1
        await stage.again("bob")
        await stage.until(lambda: stage.heard["bob"] == said, "bob lacks something", 30.0)

    play(scene)


def test_a_lower_limit_of_payloads_does_not_keep_a_node_from_what_it_was_told() -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **FACTS)
        await stage.say("alice", bytes(9000))
        await heard(stage, "bob", bytes(9000))
        stage.machines["bob"].kill()
        await stage.again("bob", payload_bytes_max=1024)

    play(scene)


def test_who_is_gone_stays_gone_over_a_restart() -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", "carol", **FACTS)
        await stage.say("alice", b"1")
        await heard(stage, "bob", b"1")
        stage.machines["carol"].kill()
        stage.nodes["bob"].evict("carol")
        await stage.say("bob", b"2")
        stage.machines["bob"].kill()
        await stage.again("bob")
        assert stage.nodes["bob"].peers["carol"] == "evicted"
        assert stage.nodes["bob"].gauges()["link_unacked"] <= 1

    play(scene)


def test_a_peer_that_lost_its_state_while_a_node_was_away_is_not_let_in() -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **FACTS)
        await stage.say("alice", b"1")
        await heard(stage, "bob", b"1")
        for name in ("alice", "bob"):
            stage.machines[name].kill()
        stage.world.disks["alice"].files.clear()
        await stage.again("bob")
        await stage.again("alice")
        bob = stage.nodes["bob"]
        await stage.until(lambda: bob.refused.get("incarnation", 0) > 0, "a new alice was let in")

    play(scene)


def refused(then: Callable[[Stage], Awaitable[None]], match: str, **facts: Any) -> None:
    """Bob does not start again."""

    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **FACTS)
        await stage.say("bob", b"1")
        await then(stage)
        stage.begin("bob", **{**stage.facts["bob"], **facts})
        await stage.until(lambda: "bob" in stage.errors, "bob starts")
        with pytest.raises(Misuse, match=match):
            raise stage.errors["bob"]
        assert not stage.machines["bob"].open, "it has closed neither journal nor lock"

    play(scene)


async def kill(stage: Stage) -> None:
    stage.machines["bob"].kill()


async def leave(stage: Stage) -> None:
    await stage.world.on(stage.machines["bob"], stage.nodes["bob"].leave)
    assert stage.nodes["alice"].peers["bob"] == "left"


def test_a_journal_is_of_one_group_and_one_algorithm() -> None:
    refused(kill, "peers: the journal in /world/bob is of a node with", peers={"carol": "127.0.0.9:1"})
    refused(kill, "is of aforesaid/bob waiting", algorithm="hybrid_multicast")


def test_a_journal_is_told_from_another_groups_before_its_frames_are_read() -> None:
    """They may not be frames of the new group at all: a vector has a place for each of its members."""

    async def after_a_frame(stage: Stage) -> None:
        await stage.until(lambda: stage.nodes["bob"].peers["alice"] == "connected", "they have not met")
        await stage.say("alice", b"2")
        await heard(stage, "bob", b"1", b"2")
        await kill(stage)

    peers = {"alice": "127.0.0.1:1", "carol": "127.0.0.9:1"}
    refused(after_a_frame, "peers: the journal in /world/bob is of a node with", peers=peers)


def test_who_has_left_for_good_does_not_come_back() -> None:
    refused(leave, "has left its group for good")


@pytest.mark.parametrize("algorithm", ["waiting", "hybrid_multicast_in_order"])
def test_who_leaves_after_a_restart_waits_until_others_have_what_it_said_before(algorithm: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **{**FACTS, "algorithm": algorithm}, linger_s=20)
        await stage.until(lambda: stage.nodes["bob"].peers["alice"] == "connected", "they have not met")
        network = stage.world.network
        for pair in (("alice", "bob"), ("bob", "alice")):
            network.cut(*pair)
        await stage.world.on(stage.machines["bob"], lambda: said(stage.nodes["bob"]))
        stage.machines["bob"].kill()
        await stage.again("bob")
        leaving = stage.world.on(stage.machines["bob"], stage.nodes["bob"].leave)
        await asyncio.sleep(3)
        network.heal()
        await leaving
        await stage.until(lambda: b"1" in stage.heard["alice"], "alice lacks what bob had said")

    async def said(node: Node) -> None:
        await (node.send(("alice",), b"1") if node.config.entry.addressed else node.broadcast(b"1"))

    play(scene)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"directory": None}, "durability: .* needs a directory"),
        ({"algorithm": "prc_spray", "transport": "tcp"}, "durability: prc_spray cannot come back"),
        ({"durability": "sometimes"}, "durability: .*there are: none, batch, always"),
    ],
)
def test_what_cannot_survive_is_refused(wrong: dict[str, Any], match: str) -> None:
    facts = {"name": "alice", "directory": "alice", "durability": "batch", **wrong}
    with pytest.raises(Misuse, match=match):
        Config.of({key: value for key, value in facts.items() if value is not None})


def test_who_keeps_nothing_has_nothing_to_resume_from() -> None:
    with pytest.raises(Misuse, match="resume_from"):
        Node(Config(name="alice"), resume_from=3)


def test_an_application_resumes_where_it_says_or_where_it_acknowledged() -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **FACTS, acks="manual")
        for number in range(1, 6):
            await stage.say("alice", b"%d" % number)
        await heard(stage, "bob", b"1", b"2", b"3", b"4", b"5")
        stage.machines["bob"].kill()
        await stage.again("bob")
        await heard(stage, "bob", b"1", b"2", b"3", b"4", b"5")
        stage.machines["bob"].kill()
        stage.resume_from["bob"] = 4
        await stage.again("bob")
        await heard(stage, "bob", b"5")
        await stage.say("bob", b"6")
        stage.machines["bob"].kill()
        stage.resume_from["bob"] = 2
        stage.begin("bob", **stage.facts["bob"])
        await stage.until(lambda: "bob" in stage.errors, "bob has what was acknowledged")
        assert "what was acknowledged is not kept" in str(stage.errors["bob"])

    play(scene)


@pytest.mark.parametrize("algorithm", ["waiting", "hybrid_multicast_in_order"])
def test_what_waits_after_a_restart_has_waited_since_then(algorithm: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **{**FACTS, "algorithm": algorithm})
        stage.machines["bob"].kill()
        await stage.say("alice", b"for bob, who is not there")
        stage.machines["alice"].kill()
        await stage.again("alice")
        (wait,) = stage.nodes["alice"].waits()
        assert (wait["peer"], wait["message"].partition("#")[2]) == ("bob", "1")
        assert 0 <= wait["seconds"] < 1
        await asyncio.sleep(5)
        (wait,) = stage.nodes["alice"].waits()
        assert 5 <= wait["seconds"] < 7

    play(scene)


@pytest.mark.parametrize("algorithm", ["waiting", "hybrid_multicast_in_order"])
@pytest.mark.parametrize("durability", ["none", "batch"])
def test_latency_is_told_by_how_long_it_was(algorithm: str, durability: str) -> None:
    """Between bounds that are twice each other."""

    def near(facts: dict[str, Any], seconds: float) -> int:
        """How many took about as long."""
        (below,) = [[0, 0], *(each for each in facts["within_s"] if each[0] < seconds)][-1:]
        above = next(each for each in facts["within_s"] if each[0] >= seconds)
        return int(above[1] - below[1])

    async def scene(stage: Stage) -> None:
        facts = {**FACTS, "algorithm": algorithm, "durability": durability}
        await stage.group("alice", "bob", **facts)
        alice, bob = stage.nodes["alice"], stage.nodes["bob"]
        await stage.until(lambda: alice.peers["bob"] == bob.peers["alice"] == "connected", "not met")
        weather = stage.world.network.weather
        weather.delay_s, weather.jitter_s = 1.0, 0.0

        async def slow(node: Node[Any], message: Message[Any]) -> None:
            await asyncio.sleep(10 if node.name == "bob" else 0)

        stage.hear = slow
        for payload in (b"1", b"2", b"3"):
            await stage.say("alice", payload)
        await stage.until(lambda: bob.status()["latency"]["inbox"]["count"] == 3, "bob has not taken all")
        acknowledged, inbox = alice.status()["latency"]["acknowledged"], bob.status()["latency"]["inbox"]
        assert acknowledged["count"] == near(acknowledged, 2.1) == 3
        assert acknowledged["sum_s"] == pytest.approx(3 * 2, rel=0.1)
        assert near(inbox, 10) == near(inbox, 20) == 1
        assert inbox["sum_s"] == pytest.approx(10 + 20, rel=0.1)

    play(scene)


def test_metrics_are_told_in_a_world_too() -> None:
    async def scene(stage: Stage) -> None:
        alice = await stage.start("alice", metrics=f"{stage.world.host('alice')}:9100")
        await stage.say("alice", b"hello")

        async def fetched() -> bytes:
            answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            stream = await dial(Address.parse(str(alice.metrics_address)), None)
            stream.on_data = answer.set_result
            stream.write(b"GET /metrics HTTP/1.1\r\n\r\n")
            return await answer

        text = await stage.world.on(stage.machines["alice"], fetched)
        assert text.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\naforesaid_said_messages_total 1\n" in text

    play(scene)
