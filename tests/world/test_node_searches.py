"""How nodes find each other after something broke, or hear that they are out: worlds of a few lines.

Each was found by a world of `make campaign-nodes`.
"""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from aforesaid import Node
from aforesaid.node.endings import Evicted
from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.world.network import Weather
from world.node_stage import PORT, Stage, play


def test_a_call_that_broke_before_anybody_listened_is_made_again() -> None:
    """Fixed, seed 901: the caller waited for an answer, and took no call of the other end meanwhile."""

    async def broken_calls(stage: Stage) -> None:
        network = stage.world.network
        network.weather = Weather(delay_s=0.1, jitter_s=0.0)
        await stage.group("a", "b", transport="tcp")
        for _ in range(20):
            network.reset_streams(1.0)
            await asyncio.sleep(0.15)
        await stage.say("a", b"after")
        await stage.until(lambda: b"after" in stage.heard["b"], "a and b do not find each other", 3.0)

    play(broken_calls)


def test_a_search_far_away_is_over_before_long() -> None:
    """Changing, seed 302: a search took 20 s, a second one was needed, and by then everyone had despaired."""

    async def far_away(stage: Stage) -> None:
        world = stage.world
        world.network.weather = Weather(delay_s=0.2, jitter_s=0.0)
        nobody = [f"{world.host(name)}:{PORT}" for name in "bcdefg"]
        starting = asyncio.ensure_future(
            stage.start("a", algorithm="prc_spray", transport="tcp", contact=nobody)
        )
        await stage.until(lambda: "a" in stage.errors, "a is still looking", within_s=6.0)
        starting.cancel()
        assert "cannot reach a member" in str(stage.errors["a"])

    play(far_away)


def test_parts_of_a_group_meet_by_a_contact_that_was_down() -> None:
    """Changing, seed 323: the contact was outside when the others began, and all who knew of it died."""

    async def contact_down(stage: Stage) -> None:
        world = stage.world
        at = {name: f"{world.host(name)}:{PORT}" for name in "abc"}
        await stage.start("b", algorithm="prc_spray", transport="tcp")
        await stage.start("c", algorithm="prc_spray", transport="tcp", contact=[at["a"], at["b"]])
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        await asyncio.sleep(90)
        await stage.say("a", b"here")
        await stage.until(
            lambda: b"here" in stage.heard["b"] + stage.heard["c"], "there are two groups still"
        )

    play(contact_down)


@pytest.mark.parametrize(("transport", "sealed"), [("udp", False), ("udp", True), ("tcp", False)])
def test_of_parts_that_evicted_each_other_one_is_told(transport: str, sealed: bool, tmp_path: Path) -> None:
    """Fixed, seed 3977: words went one way only, and afterwards nobody spoke to whom it had evicted."""
    key = tmp_path / "key"
    write_cluster_key(key)

    async def mutual(stage: Stage) -> None:
        security = {"security": {"cluster_key": str(key)}} if sealed else {}
        await stage.group("a", "b", "c", "d", transport=transport, **security)
        await asyncio.sleep(2)
        for by, others in (("a", "bcd"), ("b", "a"), ("c", "a"), ("d", "a")):
            await stage.world.on(stage.machines[by], partial(_evict, stage.nodes[by], others))
        await stage.until(lambda: "a" in stage.errors, "a does not know that it is out of the group")
        assert isinstance(stage.errors["a"], Evicted)
        await stage.say("b", b"after")
        await stage.until(lambda: b"after" in stage.heard["c"] and b"after" in stage.heard["d"], "b is out")

    play(mutual)


async def _evict(node: Node, peers: str) -> None:
    for peer in peers:
        node.evict(peer)
