"""Who is not let in, and who does not let others in, says so: a line, a state in `peers`, an exception."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Unwelcome
from aforesaid.security.keyfiles import write_cluster_key
from world.node_stage import PORT, Stage, play, told

TRANSPORTS = pytest.mark.parametrize("transport", ["udp", "tcp"])


def at(stage: Stage, *names: str) -> dict[str, str]:
    return {name: f"{stage.world.host(name)}:{PORT}" for name in names}


@TRANSPORTS
def test_a_node_that_was_started_again_hears_that_its_messages_go_nowhere(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def restarted(stage: Stage) -> None:
        await stage.group("a", "b", transport=transport, evict_after_s=0)
        await asyncio.sleep(3)
        stage.machines["a"].kill()
        del stage.nodes["a"]
        await asyncio.sleep(1)
        await stage.start("a", peers=at(stage, "b"), transport=transport)
        words = "it goes by another start of this node; start the group anew"
        node = stage.nodes["a"]
        await stage.until(lambda: node.peers == {"b": f"refuses us: {words}"}, "a takes b for connected", 5.0)
        assert {"name": "a", "peer": "b", "reason": words} in told(caplog, "turned away")
        with pytest.raises(Unwelcome, match=f"b does not let this node in: {words}"):
            await stage.say("a", b"is anyone there?")
        theirs = "it is another start of the peer, without what the group relies on; start the group anew"
        assert {"name": "b", "peer": "a", "source": "a", "reason": theirs} in told(caplog, "refused")
        await stage.until(
            lambda: stage.nodes["b"].peers == {"a": f"refused: {theirs}"}, "b does not say", 5.0
        )

    caplog.set_level("INFO", "aforesaid.node")
    play(restarted)


@TRANSPORTS
def test_who_waits_for_room_hears_that_it_is_not_let_in(transport: str) -> None:
    async def waiting(stage: Stage) -> None:
        await stage.group("a", "b", transport=transport, evict_after_s=0)
        await asyncio.sleep(3)
        stage.machines["a"].kill()
        stage.machines["b"].halt()
        del stage.nodes["a"]
        await stage.start("a", peers=at(stage, "b"), transport=transport, queues={"out_messages": 1})
        await stage.say("a", b"one")
        second = asyncio.ensure_future(stage.say("a", b"two"))
        await asyncio.sleep(2)
        assert not second.done()
        stage.machines["b"].go_on()
        await asyncio.sleep(20)
        with pytest.raises(Unwelcome):
            await asyncio.wait_for(second, 5)

    play(waiting)


@pytest.mark.parametrize(("transport", "told_back"), [("udp", False), ("tcp", True)])
def test_lists_of_peers_that_differ_are_told_of(
    transport: str, told_back: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def differing(stage: Stage) -> None:
        await stage.start("a", peers=at(stage, "b", "c"), transport=transport)
        await stage.start("b", peers=at(stage, "a"), transport=transport)
        await stage.start("c", peers=at(stage, "a", "b"), transport=transport)
        await asyncio.sleep(15)
        refusal = {"name": "b", "source": "c", "reason": "it is not among our peers"}
        assert refusal in told(caplog, "refused")
        node = stage.nodes["c"]
        assert node.peers["a"] == "connected"
        if told_back:
            assert node.peers["b"] == "refuses us: this node is not among its peers"
            with pytest.raises(Unwelcome, match="b does not let this node in"):
                await stage.say("c", b"for all")
        else:
            # Where c is, b does not know.
            assert node.peers["b"] == "silent"
            assert [fields["peer"] for fields in told(caplog, "never heard")] == ["b"]

    play(differing)


def mismatches(tmp_path: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any], str]]:
    for name in ("one", "other"):
        write_cluster_key(tmp_path / name)
    one, other = ({"security": {"cluster_key": str(tmp_path / name)}} for name in ("one", "other"))
    algorithm = {"algorithm": "hybrid_multicast_sps"}
    return {
        "key": (one, other, "it uses another cluster key"),
        "algorithm": ({}, algorithm, "it is of another cluster, or runs another algorithm"),
        "cluster": ({}, {"cluster": "orders"}, "it is of another cluster, or runs another algorithm"),
        "seal": (one, {}, "it has a cluster key and this node has none, or the other way round"),
    }


@pytest.mark.parametrize("what", ["key", "algorithm", "cluster", "seal"])
def test_what_does_not_match_is_told_in_words_and_not_for_every_datagram(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ones, others, words = mismatches(tmp_path)[what]

    async def strangers(stage: Stage) -> None:
        await stage.start("a", peers=at(stage, "b"), **ones)
        await stage.start("b", peers=at(stage, "a"), **others)
        await asyncio.sleep(25)
        assert [node.peers for node in stage.nodes.values()] == [
            {"b": f"refused: {words}"},
            {"a": f"refused: {words}"},
        ]
        lines = [fields for fields in told(caplog, "refused") if fields["peer"] == "b"]
        assert 2 <= len(lines) <= 3
        assert lines[0] == {"name": "a", "peer": "b", "source": "b", "reason": words}

    play(strangers)


def test_streams_of_another_algorithm_are_told_of_too() -> None:
    async def strangers(stage: Stage) -> None:
        await stage.start("a", peers=at(stage, "b"), transport="tcp")
        await stage.start("b", peers=at(stage, "a"), transport="tcp", algorithm="waiting")
        await asyncio.sleep(5)
        words = "refused: it is of another cluster, or runs another algorithm"
        assert [list(node.peers.values()) for node in stage.nodes.values()] == [[words], [words]]

    play(strangers)


def test_in_a_changing_group_it_is_nothing_special_to_start_again(caplog: pytest.LogCaptureFixture) -> None:
    async def back(stage: Stage) -> None:
        facts = {"algorithm": "prc_spray", "transport": "tcp"}
        await stage.start("a", **facts)
        for name in "bc":
            await stage.start(name, contact=at(stage, "a")["a"], **facts)
        await asyncio.sleep(5)
        stage.nodes["a"]._running.not_let_in("b", "incarnation")
        assert not told(caplog, "refused")
        stage.nodes["a"]._running.not_let_in("d", "cluster")
        assert [fields["source"] for fields in told(caplog, "refused")] == ["d"]

    play(back)
