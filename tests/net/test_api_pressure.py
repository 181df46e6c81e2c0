"""Many who speak at once, and some who do not listen: everyone has their turn, and nothing stands still."""

import asyncio
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.reproduce.costs import lines_of
from net.net_stage import PATIENCE_S, free_addresses, group_configs, placed_configs, run, running, take, until


async def hear_all(node: Node, heard: list[bytes], pause_every: int = 0) -> None:
    async for message in node:
        heard.append(message.payload)
        if pause_every and len(heard) % pause_every == 0:
            await asyncio.sleep(0.005)


def test_nobody_who_comes_later_is_served_first() -> None:
    async def main() -> None:
        queues = {"out_messages": 4, "out_bytes": 1024}
        async with running(group_configs(["alice", "bob"], queues=queues)) as nodes:
            alice = nodes["alice"]
            hearing = asyncio.create_task(hear_all(nodes["bob"], []))
            receipts = await asyncio.gather(*[alice.send({"bob"}, bytes(1000)) for _ in range(300)])
            displaced = max(abs(receipt.id.number - 1 - at) for at, receipt in enumerate(receipts))
            assert displaced <= 2, "one in many gives way to the rest of the loop, and to no more"
            await alice.drain()
            hearing.cancel()

    run(main())


def test_to_wait_for_many_deliveries_costs_no_more_than_to_wait_for_few() -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], queues={"out_messages": 6000}, linger_s=0)
        async with Node(configs["alice"]) as alice:
            receipts = [await alice.send({"bob"}, b"") for _ in range(5000)]
            waiting = [receipt.delivered() for receipt in receipts]
            first = lines_of(lambda: waiting[0].send(None), rooms=["aforesaid"])
            for each in waiting[1:-1]:
                each.send(None)
            last = lines_of(lambda: waiting[-1].send(None), rooms=["aforesaid"])
            assert 0 < last <= first
            for each in waiting:
                each.close()

    run(main())


def test_a_speaker_does_not_overrun_its_own_links() -> None:
    """A broadcast waits when a link is half full, counting what was said in this very turn of the loop."""

    async def main() -> None:
        here, there = free_addresses(2)
        queues = {"link_bytes": 200_000, "in_messages": 10_000}
        facts: dict[str, Any] = {
            "algorithm": "prc_spray",
            "transport": "tcp",
            "linger_s": 0,
            "queues": queues,
            "payload_bytes_max": 20_000,
        }
        async with (
            Node(Config.of({**facts, "name": "alice", "listen": here})) as alice,
            Node(Config.of({**facts, "name": "bob", "listen": there, "contact": here})) as bob,
        ):
            speaking = [asyncio.create_task(speak(alice, 10)) for _ in range(10)]
            assert len(await take(bob, 100)) == 100
            await asyncio.wait_for(asyncio.gather(*speaking), PATIENCE_S)
            assert "slow peer" not in alice.refused

    async def speak(node: Node, times: int) -> None:
        for _ in range(times):
            await node.broadcast(bytes(20_000))

    run(main())


@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "hybrid_adaptive_multicast", "waiting"])
def test_more_than_a_link_holds_gets_through_part_by_part(algorithm: str) -> None:
    """Bob is not there yet, and what waits for him is more than his link's queue holds."""

    async def main() -> None:
        sizes: dict[str, Any] = {"queues": {"link_bytes": 300_000}, "payload_bytes_max": 15_000}
        options = {"resend_ms": 200} if algorithm == "hybrid_multicast_in_order" else {}
        configs = placed_configs(
            ["alice", "bob"], transport="tcp", algorithm=algorithm, linger_s=0, options=options, **sizes
        )
        async with Node(configs["alice"]) as alice:
            for _ in range(60):
                await alice.broadcast(bytes(15_000))
            async with Node(configs["bob"]) as bob:
                assert len(await take(bob, 60)) == 60

    run(main())


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_word_of_an_eviction_gets_through_to_a_full_inbox(transport: str) -> None:
    """Else an application that waits for room before it takes messages waits for the evicted for ever."""

    async def main() -> None:
        queues = {"out_messages": 20, "in_messages": 10}
        configs = placed_configs(["alice", "bob", "carol"], transport=transport, queues=queues, linger_s=0)
        async with running({name: configs[name] for name in ("alice", "bob")}) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            for _ in range(12):
                await alice.send({"bob"}, b"before")

            async def speak_first() -> None:
                for _ in range(60):
                    await bob.send({"carol"}, b"who is not there")

            speaking = asyncio.create_task(speak_first())
            await asyncio.sleep(0.2)
            assert bob.gauges()["inbox_messages"] == 10
            assert not speaking.done()
            alice.evict("carol")
            await alice.send({"bob"}, b"after")
            await asyncio.wait_for(speaking, PATIENCE_S)
            assert bob.peers["carol"] == "evicted"
            assert [message.payload for message in await take(bob, 13)] == [b"before"] * 12 + [b"after"]

    run(main())


def test_no_frame_overtakes_those_that_wait_for_room_in_the_inbox() -> None:
    """The protocol would drop what comes too early, and by stream it comes again only after seconds."""

    async def main() -> None:
        configs = placed_configs(["alice", "bob"], transport="tcp", queues={"in_messages": 2}, linger_s=0)
        async with Node(configs["bob"]) as bob:
            frames = [Msg(1, number, number - 1, False, b"") for number in range(1, 21)]
            bob._running.received("alice", frames[:10])
            first = await anext(bob)
            bob._running.received("alice", frames[10:])
            assert [message.id.number for message in (first, *await take(bob, 19))] == list(range(1, 21))

    run(main())


@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "hybrid_adaptive_multicast", "waiting"])
def test_a_slow_application_loses_no_frame_that_came_by_stream(algorithm: str) -> None:
    """A frame that is dropped comes again; by stream only after seconds."""

    async def main() -> None:
        queues = {"in_bytes": 1024, "out_messages": 5}
        facts: dict[str, Any] = {"algorithm": algorithm, "transport": "tcp", "queues": queues}
        async with running(group_configs(["alice", "bob", "carol"], **facts)) as nodes:
            heard: dict[str, list[bytes]] = {name: [] for name in nodes}
            hearing = [
                asyncio.create_task(hear_all(node, heard[name], pause_every=3))
                for name, node in nodes.items()
            ]
            speaking = [speak(node) for node in nodes.values()]
            await asyncio.wait_for(asyncio.gather(*speaking), 4)
            for node in nodes.values():
                await asyncio.wait_for(node.drain(), 4)
                assert "inbox full" not in node.refused
            await until(lambda: all(len(each) == 120 for each in heard.values()), "all is taken", 4)
            for each in hearing:
                each.cancel()

    async def speak(node: Node) -> None:
        for number in range(40):
            await node.broadcast(b"%s %d" % (node.name.encode(), number) + bytes(500))

    run(main())


@pytest.mark.parametrize(("size", "turns"), [(100, range(3)), (50_000, range(30, 65))])
def test_who_speaks_without_waiting_gives_the_loop_its_turn(size: int, turns: range) -> None:
    """By bytes, too: a few large messages are as much work as many small ones."""

    async def main() -> None:
        async with Node(group_configs(["alice", "bob"], linger_s=0)["alice"]) as alice:
            had = 0

            async def count() -> None:
                nonlocal had
                while True:
                    await asyncio.sleep(0)
                    had += 1

            counting = asyncio.create_task(count())
            for _ in range(64):
                await alice.send({"bob"}, bytes(size))
            assert had in turns
            counting.cancel()

    run(main())
