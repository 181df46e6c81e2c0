"""Nodes find out how long a datagram passes to a peer, and go back to short ones on a way that narrows."""

import asyncio
from dataclasses import replace
from pathlib import Path as File

import msgspec
import pytest

from aforesaid import Config, Node
from aforesaid.node.carrying.paths import ASKED_BEATS, NARROW_BYTES, TRIES, WIDE_BYTES, Path
from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.transport import Address
from aforesaid.transport.proxy import LossyRelay, Weather
from net.net_stage import PATIENCE_S, placed_configs, run, take, until

BEAT = 1000
STILL = Weather(loss=0.0, duplication=0.0, delay_s_max=0.0, spike=0.0)
ETHERNET = replace(STILL, bytes_max=1472)
SAID = [b"%d" % number + bytes(500) for number in range(400)]


def path(first_step: int) -> Path:
    path = Path(NARROW_BYTES)
    path.leads(first_step, moved=True)
    return path


def test_a_way_is_narrow_until_a_long_datagram_has_passed() -> None:
    way = path(65_507)
    assert way.size == NARROW_BYTES
    assert way.asks(5, BEAT) == WIDE_BYTES
    assert way.asks(6, BEAT) == 0
    way.passed(WIDE_BYTES - 1)
    assert way.size == NARROW_BYTES
    way.passed(WIDE_BYTES)
    assert way.size == WIDE_BYTES
    assert way.asks(4 + ASKED_BEATS * BEAT, BEAT) == 0
    assert way.asks(5 + ASKED_BEATS * BEAT, BEAT) == WIDE_BYTES


def test_a_way_that_leaves_several_unanswered_is_narrow_and_is_asked_less_often() -> None:
    way = path(9000)
    way.asks(1, BEAT)
    way.passed(WIDE_BYTES)
    asked = [now for now in range(2, 60 * BEAT, BEAT // 2) if way.asks(now, BEAT)]
    first = next(now for now in range(2, 60 * BEAT, BEAT // 2) if now - 1 >= ASKED_BEATS * BEAT)
    assert asked[: TRIES + 1] == [first + beat * BEAT for beat in range(TRIES + 1)]
    assert asked[TRIES + 1] - asked[TRIES] == ASKED_BEATS * BEAT
    assert way.size == NARROW_BYTES
    way.passed(WIDE_BYTES)
    assert way.size == WIDE_BYTES


def test_one_loss_makes_no_way_narrow() -> None:
    way = path(9000)
    for now in range(1, 100 * BEAT, BEAT):
        if way.asks(now, BEAT) and now // BEAT % 2:
            way.passed(WIDE_BYTES)
        assert way.size == (WIDE_BYTES if now > BEAT else NARROW_BYTES)


@pytest.mark.parametrize("first_step", [0, 576, 1472])
def test_where_the_first_step_is_narrow_nothing_is_asked(first_step: int) -> None:
    assert not any(path(first_step).asks(now, BEAT) for now in range(1, 50 * BEAT, BEAT))


def test_who_is_at_another_place_is_asked_anew() -> None:
    way = path(9000)
    way.asks(1, BEAT)
    way.passed(WIDE_BYTES)
    way.leads(9000, moved=False)
    assert way.size == WIDE_BYTES
    way.leads(9000, moved=True)
    assert way.size == NARROW_BYTES
    assert way.asks(2, BEAT) == WIDE_BYTES


async def pair(relay: LossyRelay, key: File | None) -> list[Node]:
    """Alice, who reaches Bob through the relay, and Bob, who reaches her at once; both beat quickly."""
    configs = placed_configs(["alice", "bob"], heartbeat_s=0.05)
    if key is not None:
        write_cluster_key(key)
        configs = {
            name: msgspec.structs.replace(
                config, security=Config.of({"name": name, "security": {"cluster_key": str(key)}}).security
            )
            for name, config in configs.items()
        }
    way = await relay.route("alice", "bob", Address.parse(configs["bob"].listen))
    configs["alice"] = msgspec.structs.replace(configs["alice"], peers={"bob": str(way)})
    nodes = [Node(config) for config in configs.values()]
    for node in nodes:
        await node.__aenter__()
    await until(lambda: set(nodes[0].peers.values()) == {"connected"}, "they have met")
    return nodes


async def said_and_heard(alice: Node, bob: Node) -> None:
    async with asyncio.timeout(PATIENCE_S):
        talk = asyncio.create_task(alice.send_many("bob", SAID))
        assert [message.payload for message in await take(bob, len(SAID))] == SAID
        await (await talk).stable()


@pytest.mark.parametrize("sealed", [True, False])
def test_long_datagrams_leave_where_they_pass_and_short_ones_where_not(sealed: bool, tmp_path: File) -> None:
    async def main() -> None:
        relay = LossyRelay(ETHERNET, seed=1)
        alice, bob = await pair(relay, tmp_path / "key" if sealed else None)
        try:
            # Nothing but the questions is too long for a narrow way, and all arrives.
            await said_and_heard(alice, bob)
            await until(lambda: relay.did["too long"] > 2, "it was asked about")
            await said_and_heard(alice, bob)
            assert NARROW_BYTES - 600 < relay.longest <= NARROW_BYTES
            assert relay.did["too long"] < 20

            # It becomes wide, and that is made use of.
            relay.weather = STILL
            await until(lambda: relay.longest == WIDE_BYTES, "it was asked about again")
            await asyncio.sleep(0.1)
            relay.longest = 0
            await alice.send_many("bob", [b""])
            await take(bob, 1)
            await said_and_heard(alice, bob)
            assert WIDE_BYTES - 600 < relay.longest <= WIDE_BYTES

            # It becomes narrow again: what was to leave in long datagrams leaves in short ones, and arrives.
            relay.weather, relay.longest = ETHERNET, 0
            await said_and_heard(alice, bob)
            assert relay.longest <= NARROW_BYTES
        finally:
            for node in (alice, bob):
                await node.close()
            relay.close()

    run(main())
