"""A peer that falls silent: warned of within 5 s, evicted after the time-out, told so if it lives."""

import asyncio
from typing import Any

import pytest

from aforesaid import Config, Evicted
from world.node_stage import PORT, Stage, play, told

TIMEOUT_S = Config(name="anyone").evict_after_s
RATE = 200.0
NORMAL_S = 0.1
"""A broadcast takes some milliseconds there, and what was heard is looked at every 10."""

CRASH_TOLERANT = ["hybrid_multicast_in_order", "hybrid_adaptive_multicast"]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_silent_peer_is_told_of_within_five_seconds(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def silence(stage: Stage) -> None:
        await stage.group("a", "b", transport=transport)
        await asyncio.sleep(2)
        assert not told(caplog, "suspected")
        stage.machines["b"].halt()
        for payload in (b"waits", b"waits, too"):
            await stage.say("a", payload)
        await stage.until(lambda: bool(told(caplog, "suspected")), "nobody is warned", 5.0)
        first = f"a~{stage.nodes['a'].incarnation}#1"
        warning = {"name": "a", "peer": "b", "silent_s": 0, "owed": 2, "oldest": first}
        assert told(caplog, "suspected")[0] | {"silent_s": 0} == warning
        node = stage.nodes["a"]
        assert node.peers == {"b": "silent"}
        assert str(node.suspects["b"]).endswith(f"messages that wait for it: 2, {first} first")
        assert node.gauges()["suspects"] == 1
        assert node.gauges()["owed_to_suspects"] == 2
        stage.machines["b"].go_on()
        await stage.until(lambda: bool(told(caplog, "heard again")), "b is back", 5.0)
        assert node.peers == {"b": "connected"}
        assert not node.suspects

    caplog.set_level("INFO", "aforesaid.node")
    play(silence)


class Talk:
    """Everyone broadcasts at a rate; how long each message of those who are left took to the others."""

    def __init__(self, stage: Stage, names: str) -> None:
        self.stage = stage
        self.talking = set(names)
        self.waits: list[tuple[float, float]] = []
        """When each was said, and how long it took."""
        self._looking = [asyncio.ensure_future(self._look(name)) for name in names]
        for name in names:
            stage.world.on(stage.machines[name], lambda name=name: self._talk(name))  # type: ignore[misc]

    def kill(self, name: str) -> None:
        self.stage.machines[name].kill()
        self.talking.discard(name)

    async def _talk(self, name: str) -> None:
        while True:
            await asyncio.sleep(1 / RATE)
            await self.stage.nodes[name].broadcast(f"{name} {self.stage.world.now_s}".encode())

    async def _look(self, name: str) -> None:
        seen, heard = 0, self.stage.heard[name]
        while name in self.talking:
            await asyncio.sleep(0.01)
            for payload in heard[seen:]:
                source, said = payload.decode().split()
                if source in self.talking - {name}:
                    self.waits.append((float(said), self.stage.world.now_s - float(said)))
            seen = len(heard)


def test_after_a_crash_the_others_are_back_to_normal_within_the_time_out_and_two_seconds() -> None:
    async def crash(stage: Stage) -> None:
        await stage.group(*"abc")
        talk = Talk(stage, "abc")
        await asyncio.sleep(2)
        talk.kill("c")
        killed = stage.world.now_s
        await asyncio.sleep(TIMEOUT_S + 4)
        frozen = max(wait for said, wait in talk.waits if killed < said < killed + 2)
        assert frozen > TIMEOUT_S - 5, "nothing waited for c"
        after = [wait for said, wait in talk.waits if said > killed + TIMEOUT_S + 2]
        assert len(after) > RATE
        assert max(after) < NORMAL_S
        assert {stage.nodes[name].peers["c"] for name in "ab"} == {"evicted"}

    play(crash)


def test_the_adaptive_algorithm_freezes_nobody_until_its_window_is_full() -> None:
    async def crash(stage: Stage) -> None:
        await stage.group(*"abcd", algorithm="hybrid_adaptive_multicast")
        talk = Talk(stage, "abcd")
        await asyncio.sleep(1)
        talk.kill("d")
        killed = stage.world.now_s
        await asyncio.sleep(3)
        assert max(wait for said, wait in talk.waits if said < killed + 2.5) < NORMAL_S
        assert {stage.nodes[name].peers["d"] for name in "abc"} == {"silent"}

    play(crash)


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("algorithm", CRASH_TOLERANT)
def test_a_pause_of_half_the_time_out_evicts_nobody(transport: str, algorithm: str) -> None:
    async def pause(stage: Stage) -> None:
        await stage.group(*"abc", transport=transport, algorithm=algorithm)
        await asyncio.sleep(1)
        stage.machines["c"].halt()
        await stage.say("a", b"meanwhile")
        await asyncio.sleep(TIMEOUT_S / 2)
        stage.machines["c"].go_on()
        await stage.until(lambda: b"meanwhile" in stage.heard["c"], "c does not hear what was said", 10.0)
        await asyncio.sleep(TIMEOUT_S)
        assert all(how == "connected" for node in stage.nodes.values() for how in node.peers.values())
        assert not stage.errors

    play(pause)


def test_who_slept_for_longer_than_the_time_out_evicts_nobody_when_it_wakes() -> None:
    async def sleep(stage: Stage) -> None:
        at = {name: f"{stage.world.host(name)}:{PORT}" for name in "abc"}
        for name in "abc":
            peers = {other: at[other] for other in at if other != name}
            await stage.start(name, peers=peers, evict_after_s=TIMEOUT_S if name == "a" else 0)
        await asyncio.sleep(1)
        stage.machines["a"].halt()
        await asyncio.sleep(3 * TIMEOUT_S)
        stage.machines["a"].go_on()
        await asyncio.sleep(10)
        assert stage.nodes["a"].peers == {"b": "connected", "c": "connected"}

    play(sleep)


@pytest.mark.parametrize("facts", [{"transport": "udp"}, {"transport": "tcp"}, {"algorithm": "waiting"}])
def test_who_was_evicted_alive_is_told_at_once_and_stops(
    facts: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def alive(stage: Stage) -> None:
        await stage.group(*"abc", **facts)
        await asyncio.sleep(1)
        stage.machines["c"].halt()
        await asyncio.sleep(TIMEOUT_S + 3)
        assert {stage.nodes[name].peers["c"] for name in "ab"} == {"evicted"}
        assert not told(caplog, "evicted")
        stage.machines["c"].go_on()
        await stage.until(lambda: "c" in stage.errors, "c is not told", 5.0)
        assert isinstance(stage.errors["c"], Evicted)
        assert told(caplog, "evicted")[0]["by"] in ("a", "b")
        with pytest.raises(Evicted, match="c was evicted, says"):
            await stage.nodes["c"].broadcast(b"am I here?")
        await stage.say("a", b"after")
        await stage.until(lambda: b"after" in stage.heard["b"], "a and b wait for c", 2.0)
        assert b"after" not in stage.heard["c"]

    play(alive)


def test_a_part_that_hears_less_than_half_of_the_group_evicts_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def parted(stage: Stage) -> None:
        await stage.group(*"abcde")
        await asyncio.sleep(1)
        network = stage.world.network
        for one in "ab":
            for other in "cde":
                network.cut(one, other)
                network.cut(other, one)
        await asyncio.sleep(TIMEOUT_S + 5)
        assert {fields["peer"] for fields in told(caplog, "not evicted")} == set("cde")
        assert all(stage.nodes[one].peers[other] == "silent" for one in "ab" for other in "cde")
        assert all(stage.nodes[one].peers[other] == "evicted" for one in "cde" for other in "ab")
        network.heal()
        await stage.until(lambda: stage.errors.keys() == set("ab"), "a and b are not told", 10.0)
        await stage.say("c", b"we are left")
        await stage.until(lambda: b"we are left" in stage.heard["e"], "c and e wait", 2.0)

    play(parted)


def test_of_two_the_first_by_name_goes_on_alone() -> None:
    async def pair(stage: Stage) -> None:
        await stage.group(*"ab")
        await asyncio.sleep(1)
        network = stage.world.network
        network.cut("a", "b")
        network.cut("b", "a")
        await asyncio.sleep(TIMEOUT_S + 5)
        assert stage.nodes["a"].peers == {"b": "evicted"}
        assert stage.nodes["b"].peers == {"a": "silent"}
        network.heal()
        await stage.until(lambda: "b" in stage.errors, "b is not told", 10.0)

    play(pair)


def test_a_time_out_of_zero_evicts_nobody() -> None:
    async def never(stage: Stage) -> None:
        await stage.group(*"abc", evict_after_s=0)
        await asyncio.sleep(1)
        stage.machines["c"].kill()
        await asyncio.sleep(10 * TIMEOUT_S)
        assert {stage.nodes[name].peers["c"] for name in "ab"} == {"silent"}
        stage.nodes["a"].evict("c")

    play(never)
