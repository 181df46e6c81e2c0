"""Many messages at a time: runs, `send_many`, `broadcast_many` and `batches`, on real nodes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Cluster, Misuse, Node
from aforesaid.core import Run
from aforesaid.protocols.delivery.hybrid_frames import Msg
from net.net_stage import PATIENCE_S, group_configs, run, running, take, until

PAIR = ["alice", "bob"]


async def noting_frames(node: Node[Any]) -> list[Any]:
    """All frames with messages that this node hands to its carrier, once all peers are there."""
    noted: list[Any] = []
    await until(lambda: set(node.peers.values()) == {"connected"}, "all are there")
    carrier = node._running.carrier
    send = carrier.send

    def note(peer: str, frames: Any) -> None:
        noted.extend(frame for frame in frames if isinstance(frame, Msg))
        send(peer, frames)

    carrier.send = note  # type: ignore[method-assign]
    return noted


async def taken(node: Node[Any], count: int) -> list[Any]:
    messages: list[Any] = []
    async with asyncio.timeout(PATIENCE_S):
        async for batch in node.batches():
            assert batch, "nobody is handed nothing"
            messages += batch
            if len(messages) >= count:
                return messages
    raise AssertionError("it ended")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_what_is_said_in_one_turn_travels_as_one_frame(transport: str) -> None:
    async def main() -> None:
        async with running(group_configs(PAIR, transport=transport)) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            frames = await noting_frames(alice)
            receipts = [await alice.send({"bob"}, b"%d" % number) for number in range(20)]
            assert [receipt.id.number for receipt in receipts] == list(range(1, 21))
            await receipts[3].delivered()
            messages = await take(bob, 20)
            assert [message.payload for message in messages] == [b"%d" % number for number in range(20)]
            assert [message.id for message in messages] == [receipt.id for receipt in receipts]
            assert [(frame.number, type(frame.payload)) for frame in frames] == [(20, Run)]

    run(main())


def test_a_run_is_for_one_audience_and_no_larger_than_a_datagram() -> None:
    async def main() -> None:
        facts: dict[str, Any] = {"datagram_bytes_max": 1400}
        async with running(group_configs([*PAIR, "carol"], **facts)) as nodes:
            alice = nodes["alice"]
            frames = await noting_frames(alice)
            for target in ("bob", "bob", "carol", "bob"):
                await alice.send({target}, b"")
            for _ in range(3):
                await alice.send({"carol"}, bytes(500))
            await (await alice.send({"carol"}, bytes(5000))).stable()
            assert sorted(frame.number for frame in frames) == [2, 3, 4, 6, 7, 8]
            assert len(await take(nodes["carol"], 5)) == 5

    run(main())


@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "hybrid_adaptive_multicast", "waiting"])
def test_many_are_said_and_taken_at_a_time(algorithm: str) -> None:
    async def main() -> None:
        async with running(group_configs(PAIR, algorithm=algorithm)) as nodes:
            said = [b"%d" % number for number in range(3000)]
            taking = [asyncio.create_task(taken(node, 3000)) for node in nodes.values()]
            async with asyncio.timeout(PATIENCE_S):
                await nodes["alice"].broadcast_many(said)
                heard = await asyncio.gather(*taking)
            assert [[message.payload for message in each] for each in heard] == [said, said]
            assert [message.id.number for message in heard[1]] == list(range(1, 3001))
            assert nodes["alice"].said == 3000
            await until(lambda: nodes["bob"].gauges()["inbox_messages"] == 0, "all is done with")

    run(main())


def test_the_receipt_of_many_is_that_of_the_last() -> None:
    async def main() -> None:
        async with running(group_configs(PAIR)) as nodes:
            receipt = await nodes["alice"].send_many("bob", [b"x" * 100] * 1500)
            assert receipt.id.number == 1500
            assert await receipt.stable() == frozenset()
            assert nodes["alice"].gauges()["under_way"] == 0
            assert len(await taken(nodes["bob"], 1500)) == 1500

    run(main())


@pytest.mark.parametrize("durability", ["none", "batch"])
def test_what_is_said_to_oneself_is_delivered_and_stable_at_once(durability: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with running(group_configs(PAIR, tmp_path, durability=durability)) as nodes:
            alice = nodes["alice"]
            async with asyncio.timeout(PATIENCE_S):
                first = await alice.send({"alice"}, b"")
                assert await first.stable() == frozenset()
                receipts = [await alice.send({"alice"}, b"") for _ in range(3)]
                await receipts[1].delivered()
                await receipts[2].stable()
            assert alice.gauges()["under_way"] == 0
            assert len(await take(alice, 4)) == 4

    run(main())


def test_nothing_is_said_of_many_if_one_cannot_be() -> None:
    async def main() -> None:
        async with running(group_configs(PAIR)) as nodes:
            alice = nodes["alice"]
            for wrong in ([b"", "text"], [], 5):
                with pytest.raises(Misuse):
                    await alice.send_many({"bob"}, wrong)  # type: ignore[arg-type]
            for nobody in (None, 5, [["bob"]]):
                with pytest.raises(Misuse, match="is not in the group: alice, bob"):
                    await alice.send_many(nobody, [b""])  # type: ignore[arg-type]
                with pytest.raises(Misuse, match="is not in the group: alice, bob"):
                    await alice.send(nobody, b"")  # type: ignore[arg-type]
            with pytest.raises(Misuse, match="mallory is not in the group"):
                await alice.send_many({"mallory"}, [b""])
            assert alice.said == 0

    run(main())


def test_with_manual_acks_a_batch_stays_in_the_queue_until_it_is_acknowledged() -> None:
    async def main() -> None:
        facts: dict[str, Any] = {"acks": "manual", "queues": {"in_messages": 10}}
        async with running(group_configs(PAIR, **facts)) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            await alice.send_many({"bob"}, [b""] * 25)
            messages = await taken(bob, 10)
            assert len(messages) == 10
            await asyncio.sleep(0.2)
            assert bob.gauges()["inbox_messages"] == 10
            for message in messages:
                message.ack()
            assert len(await taken(bob, 10)) == 10

    run(main())


def test_batches_of_values_end_where_an_answer_stands() -> None:
    """What was said before an answer is taken before it is handed over, and what follows it afterwards."""

    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            happened: list[Any] = []

            async def serve() -> None:
                asked = await anext(b)
                await b.send_many({"a"}, ["before"] * 5)
                await asked.reply("answer")
                await b.send_many({"a"}, ["after"] * 5)

            async def ask() -> None:
                happened.append(await a.request("b", "question", timeout_s=PATIENCE_S))

            tasks = [asyncio.create_task(serve()), asyncio.create_task(ask())]
            async for batch in a.batches():
                happened += [message.payload for message in batch]
                if happened[-1] == "after" and len(happened) == 11:
                    break
            await asyncio.gather(*tasks)
            assert happened == ["before"] * 5 + ["answer"] + ["after"] * 5
            await until(lambda: a.gauges()["inbox_messages"] == 0, "all is done with")

    run(main())


def test_a_node_that_survives_keeps_its_runs(tmp_path: Path) -> None:
    """Said together, they are one record; after a restart what was not done with comes again."""

    async def main() -> None:
        facts: dict[str, Any] = {"durability": "batch", "trace": True}
        configs = group_configs(PAIR, tmp_path, **facts)
        async with running(configs) as nodes:
            await nodes["alice"].send_many({"bob"}, [b"%d" % number for number in range(100)])
            concurrently = [nodes["alice"].send({"bob"}, b"last") for _ in range(20)]
            receipts = await asyncio.gather(*concurrently)
            assert [receipt.id.number for receipt in receipts] == list(range(101, 121))
            await until(lambda: nodes["bob"].delivered == 120, "all is delivered")
            first = await anext(nodes["bob"].batches())
            assert [message.offset for message in first] == list(range(1, len(first) + 1))
        async with running(configs) as nodes:
            again = await taken(nodes["bob"], 120)
            assert [message.id.number for message in again] == list(range(1, 121))
            receipt = await nodes["alice"].send({"bob"}, b"and one more")
            assert receipt.id.number == 121

    run(main())
