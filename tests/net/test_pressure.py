"""Every queue is bounded, and whoever would overfill it waits."""

import asyncio
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.node import Closed
from net.dead_peer import load_on_a_dead_peer
from net.net_stage import (
    PATIENCE_S,
    complaints,
    group_configs,
    judged,
    placed_configs,
    run,
    running,
    take,
    until,
)

SMALL = {"out_messages": 50, "out_bytes": 20_000, "in_messages": 40, "in_bytes": 20_000}


async def say_for_ever(node: Node, targets: set[str], size: int, said: list[int]) -> None:
    while True:
        await node.send(targets, bytes(size))
        said.append(size)


async def hear_for_ever(node: Node, heard: list[Any]) -> None:
    async for message in node:
        heard.append(message)


def connected(node: Node, other: str) -> bool:
    return node.peers[other] == "connected"


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_dead_peer_makes_its_senders_wait_and_eviction_lets_them_go_on(transport: str) -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob", "carol"], transport=transport, queues=SMALL)
        async with running({name: configs[name] for name in ("alice", "bob")}) as nodes:
            said: list[Any] = []
            alice = nodes["alice"]
            early = await alice.send({"bob", "carol"}, b"")
            speaking = asyncio.create_task(say_for_ever(alice, {"bob", "carol"}, 100, said))
            await until(lambda: len(said) == 49, "the queue fills")
            await asyncio.sleep(0.3)
            assert len(said) == 49, "more was accepted than the queue holds"
            gauges = alice.gauges()
            assert gauges["under_way"] == 50
            assert gauges["unacked"] + gauges["unsent"] <= 100
            alice.evict("carol")
            assert await early.delivered() == {"carol"}
            heard: list[Any] = []
            listening = asyncio.create_task(hear_for_ever(nodes["bob"], heard))
            await until(lambda: len(heard) >= 500, "bob hears on")
            assert alice.peers["carol"] == "evicted"
            speaking.cancel()
            # Bob goes on to listen: else what was said to him last would leave alice no room.
            receipt = await alice.send({"carol"}, b"")
            assert await receipt.delivered() == {"carol"}
            listening.cancel()

    run(main())


@pytest.mark.parametrize(("transport", "seconds"), [("udp", 5.0), ("tcp", 2.5)])
def test_a_peer_killed_under_load_costs_no_more_than_the_queues(
    tmp_path: Path, transport: str, seconds: float
) -> None:
    async def main() -> None:
        await load_on_a_dead_peer(tmp_path, seconds, transport)

    run(main())
    assert not complaints(judged(tmp_path)[0])


def test_a_queue_is_bounded_in_bytes_too() -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], queues=SMALL, linger_s=0)
        async with Node(configs["alice"]) as alice:
            said: list[int] = []
            speaking = asyncio.create_task(say_for_ever(alice, {"bob"}, 5_000, said))
            await until(lambda: len(said) == 4, "the queue fills")
            await asyncio.sleep(0.1)
            assert len(said) == 4
            speaking.cancel()

    run(main())


@pytest.mark.parametrize(
    ("algorithm", "transport"), [("hybrid_multicast_in_order", "udp"), ("waiting", "tcp")]
)
def test_an_application_that_takes_nothing_makes_its_senders_wait(algorithm: str, transport: str) -> None:
    async def main() -> None:
        facts: dict[str, Any] = {"algorithm": algorithm, "transport": transport, "queues": SMALL}
        async with running(group_configs(["alice", "bob"], **facts)) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            said: list[int] = []

            async def speak() -> None:
                while True:
                    await alice.broadcast(bytes(100))
                    said.append(1)
                    if alice.gauges()["inbox_messages"]:
                        await take(alice, alice.gauges()["inbox_messages"])

            speaking = asyncio.create_task(speak())
            await until(lambda: bob.gauges()["inbox_messages"] >= 40, "the inbox fills")
            await asyncio.sleep(0.5)
            accepted = len(said)
            assert bob.gauges()["inbox_messages"] <= 41
            assert accepted <= 40 + 50 + 1
            await asyncio.sleep(0.2)
            assert len(said) == accepted
            heard = await take(bob, 2_000)
            assert [message.id.number for message in heard] == list(range(1, 2_001))
            speaking.cancel()

    run(main())


async def speak_and_hear(node: Node, other: str, times: int, at_once: int) -> None:
    for _ in range(times):
        for _ in range(at_once):
            await node.send({other}, bytes(10))
        await take(node, at_once)


def test_an_application_may_wait_for_room_before_it_takes_messages() -> None:
    """Two that speak first and hear afterwards do not stop each other, unless they say more than fits."""

    async def main(times: int, at_once: int) -> bool:
        async with running(group_configs(["alice", "bob"], queues=SMALL, linger_s=0)) as nodes:
            talks = [
                asyncio.create_task(speak_and_hear(nodes["alice"], "bob", times, at_once)),
                asyncio.create_task(speak_and_hear(nodes["bob"], "alice", times, at_once)),
            ]
            done, _ = await asyncio.wait(talks, timeout=1.0 if at_once > 90 else PATIENCE_S)
            for talk in talks:
                talk.cancel()
            await asyncio.gather(*talks, return_exceptions=True)
            return len(done) == 2

    assert asyncio.run(main(times=50, at_once=40))
    assert not asyncio.run(main(times=1, at_once=500))


def test_manual_acks_free_the_queue() -> None:
    async def main() -> None:
        facts: dict[str, Any] = {"acks": "manual", "queues": {**SMALL, "in_messages": 10}}
        async with running(group_configs(["alice", "bob"], **facts)) as nodes:
            bob = nodes["bob"]
            speaking = asyncio.create_task(say_for_ever(nodes["alice"], {"bob"}, 1, []))
            held = await take(bob, 10)
            await asyncio.sleep(0.2)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await anext(bob)
            for message in held:
                message.ack()
                message.ack()
            assert len(await take(bob, 10)) == 10
            speaking.cancel()

    run(main())


@pytest.mark.parametrize("in_batches", [False, True])
def test_who_holds_fewer_than_the_queue_has_room_for_gets_the_next_run(in_batches: bool) -> None:
    """A run may be as large as the queue: who waits for more before it acknowledges anything gets it."""

    async def main() -> None:
        facts: dict[str, Any] = {"acks": "manual", "queues": {**SMALL, "in_messages": 10}}
        async with running(group_configs(["alice", "bob"], **facts)) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            await alice.send({"bob"}, b"first")
            held = await take(bob, 1)
            speaking = asyncio.create_task(alice.send_many({"bob"}, [b"then"] * 15))
            batches = bob.batches()
            async with asyncio.timeout(PATIENCE_S):
                while len(held) < 10:
                    held += await anext(batches) if in_batches else [await anext(bob)]
            assert len(held) <= 11
            for message in held:
                message.ack()
            async with asyncio.timeout(PATIENCE_S):
                while len(held) < 16:
                    held += await anext(batches) if in_batches else [await anext(bob)]
            await speaking
            await batches.aclose()  # type: ignore[attr-defined]

    run(main())


def test_a_cancelled_send_has_said_nothing_and_a_cancelled_take_loses_nothing() -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob"], queues=SMALL)
        async with Node(configs["alice"]) as alice:
            for _ in range(50):
                await alice.send({"bob"}, b"first")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await alice.send({"bob"}, b"cancelled")
            async with Node(configs["bob"]) as bob:
                await take(bob, 50)
                heard: list[Any] = []
                for turn in range(200):
                    await alice.send({"bob"}, b"%d" % turn)
                    waiting = asyncio.create_task(first_of(bob))
                    for _ in range(turn % 5):
                        await asyncio.sleep(0)
                    waiting.cancel()
                    heard += await asyncio.gather(waiting, return_exceptions=True)
                before = [payload for payload in heard if isinstance(payload, bytes)]
                assert 0 < len(before) < 200, "some were cancelled, and some were not"
                after = [message.payload for message in await take(bob, 200 - len(before))]
                assert before + after == [b"%d" % turn for turn in range(200)]

    run(main())


async def first_of(node: Node) -> bytes | None:
    async for message in node:
        return message.payload
    return None


def test_closing_wakes_whoever_waits() -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], queues=SMALL, linger_s=0)
        async with Node(configs["alice"]) as alice:
            receipts = [await alice.send({"bob"}, b"") for _ in range(50)]
            sending = asyncio.create_task(alice.send({"bob"}, b""))
            delivering = asyncio.create_task(receipts[0].delivered())
            taking = asyncio.create_task(first_of(alice))
            await asyncio.sleep(0.05)
        outcomes = await asyncio.gather(sending, delivering, taking, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Closed, Closed, type(None)]
        with pytest.raises(Closed):
            await alice.send({"bob"}, b"")

    run(main())


def test_a_silent_peer_is_evicted_if_so_configured() -> None:
    async def main() -> None:
        configs = placed_configs(["alice", "bob", "carol"], heartbeat_s=0.05, evict_after_s=0.4, linger_s=0)
        async with running({name: configs[name] for name in ("alice", "bob")}) as nodes:
            carol = Node(configs["carol"])
            async with carol:
                await until(lambda: nodes["alice"].peers["carol"] == "connected", "carol is heard")
                await asyncio.sleep(0.6)
                assert nodes["alice"].peers == {"bob": "connected", "carol": "connected"}
                carol._running.carrier.beat = lambda now: None  # type: ignore[method-assign]
                await until(lambda: nodes["alice"].peers["carol"] == "evicted", "carol is evicted")
                await until(lambda: nodes["bob"].peers["carol"] == "evicted", "by both")
            assert nodes["alice"].peers["bob"] == "connected"

    run(main())


def test_who_stood_still_itself_evicts_nobody_for_it() -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], heartbeat_s=0.05, evict_after_s=0.3, linger_s=0)
        async with running(configs) as nodes:
            for name, other in (("alice", "bob"), ("bob", "alice")):
                await until(partial(connected, nodes[name], other), "heard")
            for _ in range(3):
                time.sleep(0.5)  # The loop, and so either node, stands still.
                await asyncio.sleep(0.2)
            assert nodes["alice"].peers == {"bob": "connected"}
            assert nodes["bob"].peers == {"alice": "connected"}

    run(main())


def test_an_idle_node_with_a_hundred_peers_hardly_works() -> None:
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    async def main() -> None:
        (config,) = group_configs(["alice"]).values()
        peers = {f"p{number}": "127.0.0.1:9" for number in range(100)}
        async with Node(Config.of({"name": "alice", "listen": config.listen, "peers": peers})):
            await asyncio.sleep(0.2)
            sys.setprofile(count)
            await asyncio.sleep(2.0)
            sys.setprofile(None)

    run(main())
    assert 0 < calls < 6_000, f"{calls} calls and returns of functions in two seconds"
