"""Topics: who subscribes hears; one stream, one order; what a late subscriber gets."""

import asyncio
from typing import Any

import pytest

from aforesaid import Cluster, Misuse, Node
from aforesaid.node.letters import TOPICS_MAX
from net.net_stage import run, take, until


async def subscribed(node: Node[Any], *topics: str) -> None:
    """And everyone knows it."""
    await (await node.subscribe(*topics)).delivered()


async def nothing_waits(*nodes: Node[Any]) -> None:
    await until(lambda: not any(node.gauges()["inbox_messages"] for node in nodes), "something is kept")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_who_subscribed_hears_it_and_nobody_else(transport: str) -> None:
    async def main() -> None:
        async with Cluster(["a", "b", "c"], payload="json", transport=transport) as (a, b, c):
            await subscribed(b, "tea", "jam")
            await subscribed(c, "jam")
            assert b.subscriptions == {"tea", "jam"}
            assert (a.audience("tea"), a.audience("jam"), a.audience("none")) == (("b",), ("b", "c"), ())
            for number, topic in enumerate(["tea", "jam", "none", "tea"]):
                await a.publish(topic, number)
            await a.send(["c"], "besides")
            heard = [(message.topic, message.payload) for message in await take(b, 3)]
            assert heard == [("tea", 0), ("jam", 1), ("tea", 3)]
            heard = [(message.topic, message.payload) for message in await take(c, 2)]
            assert heard == [("jam", 1), (None, "besides")]
            await nothing_waits(a, b, c)

    run(main())


def test_the_author_hears_what_it_publishes_if_it_subscribed() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            await subscribed(a, "tea")
            await a.publish("tea", 1)
            assert [message.payload for message in await take(a, 1)] == [1]
            receipt = await b.publish("nobody", 1)
            assert await receipt.delivered() == frozenset()
            await nothing_waits(a, b)

    run(main())


def test_a_late_subscriber_hears_from_then_on() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            await a.publish("tea", "before")
            await subscribed(b, "tea")
            await a.publish("tea", "after")
            assert [message.payload for message in await take(b, 1)] == ["after"]
            await (await b.unsubscribe("tea")).delivered()
            await a.publish("tea", "too late")
            await a.broadcast("all")
            assert [message.payload for message in await take(b, 1)] == ["all"]
            assert b.subscriptions == frozenset()

    run(main())


def test_subscriptions_at_once_lose_none() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            names = [f"t{number}" for number in range(100)]
            receipts = await asyncio.gather(*map(b.subscribe, names))
            await receipts[-1].stable()
            assert b.subscriptions == set(names)
            assert all(a.audience(name) == ("b",) for name in names)
            cancelled = asyncio.create_task(b.subscribe("never"))
            cancelled.cancel()
            await asyncio.gather(cancelled, return_exceptions=True)
            await subscribed(b, "last")
            assert a.audience("never") == ()
            assert a.audience("last") == ("b",)

    run(main())


def test_who_is_evicted_is_no_audience() -> None:
    async def main() -> None:
        async with Cluster(["a", "b", "c"], payload="json") as (a, b, c):
            await subscribed(b, "tea")
            await subscribed(c, "tea")
            await b.close(linger_s=5.0)
            await until(lambda: a.audience("tea") == ("c",), "b has left")
            assert await (await a.publish("tea", 1)).delivered() == frozenset()

    run(main())


@pytest.mark.parametrize("algorithm", ["waiting", "prc_spray"])
def test_where_all_is_broadcast_who_does_not_want_it_leaves_it_out(algorithm: str) -> None:
    async def main() -> None:
        async with Cluster(["a", "b", "c"], payload="json", algorithm=algorithm) as (a, b, c):
            await b.subscribe("tea")
            for number in range(3):
                await a.publish("tea", number)
                await a.publish("jam", number)
            await a.broadcast("end")
            assert [message.payload for message in await take(b, 4)] == [0, 1, 2, "end"]
            assert [message.payload for message in await take(c, 1)] == ["end"]
            assert [message.payload for message in await take(a, 1)] == ["end"]
            await nothing_waits(a, b, c)
            with pytest.raises(Misuse, match=f"{algorithm} broadcasts, and who wants it takes it"):
                a.audience("tea")

    run(main())


def test_what_is_left_out_is_what_was_not_wanted_when_it_came() -> None:
    """A subscription counts from its place in the order on, however late the application takes things."""

    async def main() -> None:
        async with Cluster(["a", "b"], payload="json", algorithm="waiting") as (a, b):
            await a.broadcast("first")
            await a.publish("tea", "not wanted")
            await until(lambda: b.delivered == 2, "they do not come")
            await b.subscribe("tea")
            await a.publish("tea", "wanted")
            await until(lambda: b.delivered == 4, "it does not come")
            await b.unsubscribe("tea")
            await a.publish("tea", "not any more")
            await a.broadcast("last")
            assert [message.payload for message in await take(b, 3)] == ["first", "wanted", "last"]

    run(main())


def test_the_frontier_is_kept_by_who_leaves_something_out() -> None:
    """What a process says follows what it left out, as what it took."""

    async def main() -> None:
        facts: dict[str, Any] = {"algorithm": "prc_spray", "options": {"frontier": True}}
        async with Cluster(["a", "b", "c"], payload="json", **facts) as (a, b, c):
            await c.subscribe("tea")
            await a.publish("tea", "first")
            (first,) = await take(c, 1)
            await until(lambda: b.delivered >= 2, "b has it")
            await nothing_waits(b)
            await b.broadcast("second")
            (second,) = await take(c, 1)
            assert second.follows(first)

    run(main())


@pytest.mark.parametrize("topic", ["", "a b", "x" * 65, "-x", 5, None])
def test_a_topic_is_a_name(topic: Any) -> None:
    async def main() -> None:
        async with Cluster(1, payload="json") as (node,):
            for call in (node.subscribe(topic), node.unsubscribe(topic), node.publish(topic, 1)):
                with pytest.raises(Misuse, match=r"topic: .*; it has 1 to 64 letters"):
                    await call
            assert node.said == 0

    run(main())


def test_a_process_hears_so_many_topics_and_no_more() -> None:
    async def main() -> None:
        async with Cluster(1, payload="json") as (node,):
            await node.subscribe(*(f"t{number}" for number in range(TOPICS_MAX)))
            with pytest.raises(
                Misuse, match=f"{TOPICS_MAX + 1} topics; a process hears {TOPICS_MAX} at most"
            ):
                await node.subscribe("more")
            await node.unsubscribe("t0")
            await node.subscribe("more")
            with pytest.raises(Misuse, match="no topic is named"):
                await node.subscribe()

    run(main())
