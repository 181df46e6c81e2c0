"""Streams that break: what is lost is sent again or was a suffix, and nobody waits for a dead connection."""

import asyncio
import random
import time
from functools import partial
from pathlib import Path

import pytest

from aforesaid import Config, Misuse, Node
from aforesaid.node.carrying.streams import StreamCarrier
from aforesaid.node.carrying.switchboard import Peer
from aforesaid.wire import record
from net.crowd import PRC, changing_group
from net.net_stage import (
    complaints,
    group_configs,
    judged,
    links_of,
    placed_configs,
    run,
    running,
    take,
    until,
)


def carrier(node: Node) -> StreamCarrier:
    found = node._running.carrier
    assert isinstance(found, StreamCarrier)
    return found


def break_streams(node: Node, chance: random.Random) -> int:
    """Some streams of a node break, as when a router forgets them."""
    broken = 0
    for peer in list(carrier(node).peers.values()):
        if peer.stream is not None and chance.random() < 0.5:
            peer.stream._transport.abort()
            broken += 1
    return broken


def knows_all(node: Node) -> bool:
    return set(node.peers.values()) == {"connected"}


@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "hybrid_adaptive_multicast", "waiting"])
def test_a_fixed_group_loses_nothing_when_streams_break(algorithm: str, tmp_path: Path) -> None:
    async def main() -> None:
        names, chance, broken = ["a", "b", "c"], random.Random(4), 0
        async with running(group_configs(names, tmp_path, algorithm=algorithm, transport="tcp")) as nodes:
            hearing = [asyncio.create_task(take(node, 300)) for node in nodes.values()]
            for turn in range(100):
                for node in nodes.values():
                    await node.broadcast(b"%d" % turn)
                if turn % 10 == 5:
                    broken += break_streams(nodes[chance.choice(names)], chance)
                await asyncio.sleep(0.01)
            await asyncio.gather(*hearing)
            for node in nodes.values():
                await node.drain()
        assert broken > 3

    run(main())
    assert not complaints(judged(tmp_path)[0])


def test_of_two_calls_that_cross_one_counts() -> None:
    async def main() -> None:
        names = list("abcdef")
        nodes = [Node(config) for config in placed_configs(names, transport="tcp").values()]
        await asyncio.gather(*(node.__aenter__() for node in nodes))
        for node in nodes:
            await until(partial(knows_all, node), "all are connected")
        await asyncio.sleep(0.3)
        epochs = [peer.epoch for node in nodes for peer in carrier(node).peers.values()]
        crossed = sum(node.refused.get("crossed", 0) for node in nodes)
        await asyncio.gather(*(node.close() for node in nodes))
        assert epochs == [1] * 30, "a stream was given up for another"
        assert crossed > 0, "no calls crossed"

    run(main())


def test_a_stream_without_a_word_is_lost_and_made_again() -> None:
    """Half-open: one end believes in a stream of which the other knows nothing."""

    async def main() -> None:
        async with running(group_configs(["a", "b"], transport="tcp", heartbeat_s=0.1)) as nodes:
            await until(lambda: nodes["a"].peers["b"] == "connected", "they are connected")
            peer = carrier(nodes["a"]).peers["b"]
            await until(lambda: peer.stream is not None, "the stream stands")
            epoch = peer.epoch
            other = carrier(nodes["b"]).peers["a"]
            assert other.stream is not None
            # b goes on without a word: its end hears nothing and says nothing.
            other.stream._transport.pause_reading()
            other.stream.write = lambda data: None  # type: ignore[method-assign]
            await until(lambda: peer.epoch > epoch, "a new stream stands")
            await nodes["a"].send({"b"}, b"hello")
            assert [message.payload for message in await take(nodes["b"], 1)] == [b"hello"]

    run(main())


def test_who_stood_still_itself_does_not_take_others_for_silent() -> None:
    """As when a whole machine is paused: nobody said anything meanwhile, and everybody is there."""

    async def main() -> None:
        configs = placed_configs(["a", "b"], transport="tcp", heartbeat_s=0.1, linger_s=0)
        async with running(configs) as nodes:
            ends = [carrier(nodes["a"]).peers["b"], carrier(nodes["b"]).peers["a"]]
            # Both may have called: one of two streams goes, which must not happen meanwhile.
            await until(
                lambda: all(end.stream is not None and end.calling is None for end in ends), "it stands"
            )
            before = [end.stream for end in ends]
            for _ in range(3):
                time.sleep(0.5)  # The loop, and so either node, stands still.
                await asyncio.sleep(0.25)
            assert [end.stream for end in ends] == before

    run(main())


def test_idle_streams_stay() -> None:
    async def main() -> None:
        async with running(group_configs(["a", "b"], transport="tcp", heartbeat_s=0.05)) as nodes:
            await until(lambda: nodes["a"].peers["b"] == "connected", "they are connected")
            await asyncio.sleep(0.1)
            epoch = carrier(nodes["a"]).peers["b"].epoch
            await asyncio.sleep(0.8)
            assert carrier(nodes["a"]).peers["b"].epoch == epoch
            assert nodes["b"].peers["a"] == "connected"

    run(main())


def test_a_group_that_is_joined_by_one_address_and_left(tmp_path: Path) -> None:
    async def main() -> None:
        chance = random.Random(2)
        async with changing_group(tmp_path, 6) as crowd:
            for turn in range(40):
                speaker = chance.choice(list(crowd.nodes.values()))
                await speaker.broadcast(b"%d" % turn)
                if turn % 8 == 3:
                    await crowd.join()
                if turn % 8 == 7:
                    await crowd.leave(list(crowd.nodes.values())[chance.randrange(1, len(crowd.nodes))])
                await asyncio.sleep(0.02)
            last = await speaker.broadcast(b"last")
            assert last.id.origin == speaker.name
            await until(lambda: crowd.empty, "memory returns to empty")
            await asyncio.sleep(1.3)

    run(main())
    report, trace = judged(tmp_path)
    assert not complaints(report)
    assert trace.processes.fate.count("left") == 5
    assert trace.processes.fate.count("alive") == 6


def test_a_changing_group_whose_streams_break(tmp_path: Path) -> None:
    """Order is kept, and nothing comes twice; whoever is cut off joins again as a new incarnation."""

    async def main() -> None:
        chance, broken = random.Random(6), 0
        async with changing_group(tmp_path, 6) as crowd:
            for turn in range(60):
                speaker = chance.choice(list(crowd.nodes.values()))
                await speaker.broadcast(b"%d" % turn)
                if turn % 6 == 0:
                    broken += break_streams(chance.choice(list(crowd.nodes.values())), chance)
                await asyncio.sleep(0.03)
            await asyncio.sleep(1.5)
        assert broken > 5

    run(main())
    report, _ = judged(tmp_path)
    for name in ("no_duplicate", "no_creation", "fifo", "causal", "recorded"):
        assert report.verdicts[name].value == "kept", report.verdicts[name]


def test_a_member_that_takes_nothing_makes_its_neighbour_wait() -> None:
    async def main() -> None:
        sizes = {"queues": {"in_messages": 20, "link_bytes": 100_000}, "payload_bytes_max": 10_000}
        founder = Node(Config.of({"name": "founder", **PRC, **sizes}))
        async with founder:
            late = Config.of({"name": "late", **PRC, **sizes, "contact": str(founder.address)})
            async with Node(late) as node:
                said = 0

                async def speak() -> None:
                    nonlocal said
                    for said in range(2_000):
                        await founder.broadcast(said.to_bytes(2) * 5_000)
                        await take(founder, 1)

                speaking = asyncio.create_task(speak())
                await until(lambda: founder.gauges()["link_bytes"] >= 50_000, "the link fills")
                await asyncio.sleep(0.3)  # What it was saying just then
                before = said
                await asyncio.sleep(0.3)
                assert said == before, "the founder waits"
                assert founder.gauges()["link_bytes"] <= 100_000
                heard = await take(node, 2_000)
                assert [int.from_bytes(message.payload[:2]) for message in heard] == list(range(2_000))
                await speaking

    run(main())


def test_a_founder_that_was_cut_off_finds_its_group_again() -> None:
    async def main() -> None:
        async with Node(Config.of({"name": "a", **PRC})) as a:
            others = [Config.of({"name": name, **PRC, "contact": str(a.address)}) for name in "bcd"]
            async with Node(others[0]) as b, Node(others[1]) as c, Node(others[2]):
                first = a.incarnation
                await until(lambda: len(links_of(b)) > 1, "b has links to others than a")
                for peer in list(carrier(a).peers.values()):
                    if peer.stream is not None:
                        peer.stream._transport.abort()
                await until(lambda: a.incarnation > first, "a begins again")
                await a.broadcast(b"here I am")
                for node in (b, c):
                    assert [message.payload for message in await take(node, 1)] == [b"here I am"]

    run(main())


def test_nobody_at_the_contact_address_is_said_in_one_line() -> None:
    async def main() -> None:
        node = Node(Config.of({"name": "late", **PRC, "contact": "127.0.0.1:9"}))
        with pytest.raises(Misuse, match=r"contact: cannot reach a member at 127\.0\.0\.1:9"):
            await node.__aenter__()

    run(main())


def test_a_node_that_loses_its_group_while_it_closes_still_closes() -> None:
    async def main() -> None:
        async with Node(Config.of({"name": "a", **PRC})) as a:
            b = await Node(Config.of({"name": "b", **PRC, "contact": str(a.address)})).__aenter__()
            # Something waits for a member that cannot be reached any more.
            nobody = carrier(b).peers["nobody"] = Peer("nobody")
            carrier(b)._pushing.write(nobody, [record(b"")])
            closing = asyncio.create_task(b.close(linger_s=10.0))
            await asyncio.sleep(0)
            assert not closing.done(), "it waits for whoever does not hear"
            b._running.isolated()
            await asyncio.wait_for(closing, 5.0)

    run(main())
