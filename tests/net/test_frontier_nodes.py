"""Real nodes give applications what each message follows; what waits in the inbox has not been seen."""

import asyncio
from contextlib import AsyncExitStack
from itertools import product
from random import Random
from typing import Any

import pytest

from aforesaid import Config, Message, Misuse, Node
from aforesaid.core import MessageId
from net.crowd import PRC
from net.net_stage import free_addresses, links_of, run, take, until

FRONTIER: dict[str, Any] = {**PRC, "options": {"period_ms": 500, "frontier": True}}


async def linked(*nodes: Node) -> None:
    await until(lambda: all(links_of(node) for node in nodes), "all are linked")


async def said(node: Node, payload: bytes) -> Message:
    """Say it, and take it when it is delivered here."""
    receipt = await node.broadcast(payload)
    message = (await take(node, 1))[0]
    assert message.id == receipt.id
    return message


def test_an_application_is_told_what_follows_what() -> None:
    async def main() -> None:
        async with (
            Node(Config.of({"name": "a", **FRONTIER})) as a,
            Node(Config.of({"name": "b", **FRONTIER, "contact": str(a.address)})) as b,
        ):
            await linked(a, b)
            first = await said(a, b"first")
            assert first.after == ()
            # b speaks before it has taken what a says: it lies in its inbox, and is not seen.
            one = await said(a, b"one")
            await until(lambda: b.gauges()["inbox_messages"] == 2, "b has two messages to take")
            unseen = await b.broadcast(b"unseen")
            (other,) = await take(a, 1)
            assert other.id == unseen.id
            assert (one.after, other.after) == ((first.id,), ())
            assert one.concurrent_with(other) is other.concurrent_with(one) is True
            assert (one.follows(first), first.follows(one), one.follows(other)) == (True, False, False)
            assert other.concurrent_with(first) is True
            # What follows both is concurrent with neither; b agrees.
            last = await said(a, b"last")
            assert set(last.after) == {one.id, other.id}
            assert last.concurrent_with(one) is last.concurrent_with(other) is False
            assert last.concurrent_with(last) is last.follows(last) is False
            at_b = {message.id: message for message in await take(b, 4)}
            assert {each: at_b[each].after for each in at_b} == {
                first.id: (),
                one.id: (first.id,),
                other.id: (),
                last.id: last.after,
            }
            assert at_b[last.id].follows(first.id) is True
            assert at_b[one.id].concurrent_with(other.id) is True
            assert at_b[one.id].concurrent_with(MessageId("c", 0, 1)) is None

    run(main())


def test_a_newcomer_does_not_follow_what_it_never_heard() -> None:
    async def main() -> None:
        async with Node(Config.of({"name": "a", **FRONTIER})) as a:
            early = await said(a, b"early")
            async with Node(Config.of({"name": "b", **FRONTIER, "contact": str(a.address)})) as b:
                await linked(a, b)
                mine = await said(b, b"mine")
                assert mine.after == ()
                await take(a, 1)
                late = await said(a, b"late")
                (heard,) = await take(b, 1)
                assert set(heard.after) == {early.id, mine.id} == set(late.after)
                # What b never heard is named, and nothing more is known of it here but its number.
                assert heard.follows(mine) is True
                assert heard.follows(early.id) is True, "two of one process"
                assert mine.follows(early.id) is None

    run(main())


def test_messages_older_than_the_window_are_forgotten() -> None:
    options = {**FRONTIER["options"], "window": 2}

    async def main() -> None:
        async with (
            Node(Config.of({"name": "a", **FRONTIER, "options": options})) as a,
            Node(Config.of({"name": "b", **FRONTIER, "options": options, "contact": str(a.address)})) as b,
        ):
            await linked(a, b)
            first = await said(b, b"first")
            (heard,) = await take(a, 1)
            second = await said(a, b"second")
            assert second.concurrent_with(heard) is False
            third = await said(a, b"third")
            assert third.concurrent_with(heard) is third.follows(first.id) is None
            assert third.after == (second.id,)

    run(main())


def test_who_carries_no_frontier_says_so_and_is_a_stranger_to_those_who_do() -> None:
    async def main() -> None:
        async with Node(Config.of({"name": "a", **PRC})) as a:
            alone = await said(a, b"alone")
            for ask in (
                lambda: alone.after,
                lambda: alone.follows(alone),
                lambda: alone.concurrent_with(alone),
            ):
                with pytest.raises(Misuse, match="set frontier = true"):
                    ask()
            with pytest.raises(Misuse, match="contact"):
                await asyncio.wait_for(
                    Node(Config.of({"name": "b", **FRONTIER, "contact": str(a.address)})).__aenter__(), 30
                )

    run(main())


def test_who_has_a_vector_has_no_such_option() -> None:
    facts = {"name": "a", "listen": free_addresses(1)[0], "algorithm": "waiting"}
    with pytest.raises(Misuse, match=r"options\.frontier: waiting has no such option"):
        Config.of({**facts, "options": {"frontier": True}})


def test_what_nodes_are_told_is_what_brute_force_finds() -> None:
    """Each application says and takes as it likes; its view of the others runs behind what its node has."""
    seed = 7
    chance = Random(seed)

    async def main() -> None:
        async with AsyncExitStack() as stack:
            nodes: list[Node] = []
            for name in "abcd":
                contact = {"contact": str(nodes[0].address)} if nodes else {}
                nodes.append(
                    await stack.enter_async_context(Node(Config.of({"name": name, **FRONTIER, **contact})))
                )
            await linked(*nodes)
            learned: dict[str, set[MessageId]] = {node.name: set() for node in nodes}
            pasts: dict[MessageId, frozenset[MessageId]] = {}
            true: dict[MessageId, set[MessageId]] = {}
            taken: dict[str, list[Message]] = {node.name: [] for node in nodes}

            async def take_one(node: Node) -> None:
                (message,) = await take(node, 1)
                assert set(message.after) == true[message.id], f"{message.id}, seed {seed}"
                taken[node.name].append(message)
                learned[node.name].add(message.id)

            for _ in range(120):
                node = chance.choice(nodes)
                if chance.random() < 0.4:
                    known = learned[node.name]
                    followed = frozenset().union(*(pasts[each] for each in known))
                    said = (await node.broadcast(b"")).id
                    pasts[said], true[said] = frozenset(known) | followed, known - followed
                    known.add(said)
                elif node.gauges()["inbox_messages"]:
                    await take_one(node)
                await asyncio.sleep(0)
            for node in nodes:
                while len(taken[node.name]) < len(pasts):
                    await take_one(node)
                for one, other in product(taken[node.name], repeat=2):
                    assert one.follows(other) is (other.id in pasts[one.id]), f"{one}, {other}, seed {seed}"
            concurrent = {bool(one.concurrent_with(other)) for one, other in product(taken["a"], repeat=2)}
            assert concurrent == {True, False}
            assert max(map(len, true.values())) > 1

    run(main())
