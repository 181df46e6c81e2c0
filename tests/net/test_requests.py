"""Requests: one answer, in its place in the order; none, and why, is said clearly."""

import asyncio
from typing import Any

import pytest

from aforesaid import Closed, Cluster, Evicted, Misbehaviour, Misuse, NoAnswer, Node, PeerGone
from aforesaid.node import requests
from net.net_stage import PATIENCE_S, run, take, until


async def answering(node: Node[Any], count: int = 1) -> None:
    """Answer so many requests with what they ask, twice."""
    for _ in range(count):
        message = await anext(node)
        assert message.asks
        await message.reply([message.payload, message.payload])


@pytest.mark.parametrize("facts", [{"transport": "udp"}, {"transport": "tcp"}, {"acks": "manual"}])
def test_a_request_is_answered(facts: dict[str, Any]) -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json", **facts) as (a, b):
            serving = asyncio.create_task(answering(b))
            assert await a.request("b", "x", timeout_s=PATIENCE_S) == ["x", "x"]
            await serving
            await until(lambda: a.gauges()["inbox_messages"] == 0, "the answer keeps its place")

    run(main())


def test_many_requests_at_once_each_have_their_own_answer() -> None:
    async def main() -> None:
        async with Cluster(["a", "b", "c"], payload="json") as nodes:
            serving = [asyncio.create_task(answering(node, 201)) for node in nodes]
            names = ["a", "b", "c"]
            asking = [
                node.request(names[number % 3], [node.name, number], timeout_s=PATIENCE_S)
                for node in nodes
                for number in range(201)
            ]
            answers = await asyncio.gather(*asking)
            wanted = [[node.name, number] for node in nodes for number in range(201)]
            assert answers == [[each, each] for each in wanted]
            await asyncio.gather(*serving)

    run(main())


def test_an_answer_waits_until_all_that_was_said_before_it_is_taken() -> None:
    """That is what causal order means for a request."""

    async def main() -> None:
        async with Cluster(["a", "b", "c"], payload="json") as (a, b, c):
            await c.broadcast("c says")
            await take(b, 1)  # So it is before the answer.
            asking = asyncio.create_task(a.request("b", "what is new?", timeout_s=PATIENCE_S))
            (request,) = await take(b, 1)
            await b.broadcast("b says")
            await (await request.reply("see above")).delivered()
            await asyncio.sleep(0.05)
            assert not asking.done()
            assert [message.payload for message in await take(a, 2)] == ["c says", "b says"]
            assert await asking == "see above"

    run(main())


def test_who_takes_nothing_is_told_where_the_answer_is() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            await b.broadcast(1)
            await b.broadcast(2)
            await take(b, 2)
            serving = asyncio.create_task(answering(b))
            with pytest.raises(
                NoAnswer, match="behind 2 messages that nobody takes; take them in another"
            ) as no:
                await a.request("b", "x", timeout_s=0.3)
            assert isinstance(no.value, TimeoutError)
            await serving
            # It comes too late, and nobody sees it; what was said before it is there.
            assert [message.payload for message in await take(a, 2)] == [1, 2]
            await until(lambda: a.gauges()["inbox_messages"] == 0, "a late answer is kept")

    run(main())


def test_who_does_not_answer_is_told_of_and_may_answer_the_next_one() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            with pytest.raises(NoAnswer, match=r"^b has not answered within 0\.1 s: it is connected$"):
                await a.request("b", "first", timeout_s=0.1)
            late = asyncio.create_task(answering(b, 2))
            assert await a.request("b", "second", timeout_s=PATIENCE_S) == ["second", "second"]
            await late

    run(main())


def test_a_request_has_one_answer_and_only_a_request_has() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            asking = asyncio.create_task(a.request("b", 1, timeout_s=PATIENCE_S))
            (request,) = await take(b, 1)
            with pytest.raises(Misuse, match="a payload is a JSON value"):
                await request.reply(object())
            await request.reply("yes")
            with pytest.raises(Misuse, match="was answered already"):
                await request.reply("no")
            assert await asking == "yes"
            await a.send(["b"], "no question")
            (message,) = await take(b, 1)
            with pytest.raises(Misuse, match="is no request"):
                await message.reply("?")

    run(main())


def test_an_answer_that_cannot_be_read_is_its_authors_misbehaviour() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            asking = asyncio.create_task(a.request("b", 1, timeout_s=PATIENCE_S))
            (request,) = await take(b, 1)
            assert b._letters is not None
            b._letters.codec.encode = lambda payload: b"{"  # type: ignore[method-assign]
            await request.reply("")
            with pytest.raises(Misbehaviour, match="what b answered cannot be read"):
                await asking
            assert a.refused == {"payload": 1}

    run(main())


def test_an_answer_of_another_than_who_was_asked_is_none() -> None:
    async def main() -> None:
        async with Cluster(["a", "b", "c"], payload="json") as (a, b, c):
            asking = asyncio.create_task(a.request("b", 1, timeout_s=PATIENCE_S))
            (request,) = await take(b, 1)
            request.letters = c._letters  # type: ignore[attr-defined]
            await (await request.reply("forged")).delivered()
            request._answered, request.letters = False, b._letters  # type: ignore[attr-defined]
            await request.reply("true")
            assert await asking == "true"

    run(main())


def test_a_peer_that_is_evicted_or_leaves_will_not_answer() -> None:
    async def main() -> None:
        facts: dict[str, Any] = {"heartbeat_s": 0.05, "evict_after_s": 0}
        async with Cluster(["a", "b", "c"], payload="json", **facts) as (a, b, c):
            asking = asyncio.create_task(a.request("b", 1, timeout_s=PATIENCE_S))
            await take(b, 1)
            await b.close()
            with pytest.raises(PeerGone, match="b has left, and will not answer"):
                await asking
            asking = asyncio.create_task(a.request("c", 1, timeout_s=PATIENCE_S))
            (request,) = await take(c, 1)
            asks_back = asyncio.create_task(c.request("a", 1, timeout_s=PATIENCE_S))
            await take(a, 1)
            a.evict("c")
            with pytest.raises(PeerGone, match="c was evicted"):
                await asking
            with pytest.raises(PeerGone, match="c was evicted"):
                await a.request("c", 1, timeout_s=PATIENCE_S)
            await until(lambda: c._running.error is not None, "c is not told")
            with pytest.raises(Evicted, match="c was evicted, says a"):
                await asks_back
            with pytest.raises(Evicted):
                await request.reply("late")

    run(main())


def test_a_node_that_closes_ends_its_requests() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            asking = asyncio.create_task(a.request("b", 1, timeout_s=PATIENCE_S))
            await take(b, 1)
            await a.close()
            with pytest.raises(Closed, match="a is closed"):
                await asking
            with pytest.raises(Closed, match="a is closed"):
                await a.request("b", 1, timeout_s=PATIENCE_S)

    run(main())


def test_a_request_that_is_cancelled_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            asking = asyncio.create_task(a.request("b", 1, timeout_s=PATIENCE_S))
            (request,) = await take(b, 1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await (await request.reply("nobody waits")).stable()
            assert a._inbox.requests._waiting == {}  # type: ignore[attr-defined]
            await until(lambda: a.gauges()["inbox_messages"] == 0, "its answer is kept")

    run(main())


def test_requests_are_bounded_and_wait_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, b):
            asking = [asyncio.create_task(a.request("b", n, timeout_s=PATIENCE_S)) for n in range(5)]
            await until(lambda: b.delivered == 2, "two of them come")
            with pytest.raises(NoAnswer, match="too much is under way, and it was not said"):
                await a.request("b", 5, timeout_s=0.1)
            assert b.delivered == 2
            await answering(b, 5)
            assert await asyncio.gather(*asking) == [[n, n] for n in range(5)]

    monkeypatch.setattr(requests, "REQUESTS_MAX", 2)
    run(main())


def test_back_pressure_counts_requests_and_answers_as_any_message() -> None:
    """A loop that hears and answers does not wait for itself, however small the queues."""

    async def main() -> None:
        queues = {"in_messages": 2, "out_messages": 2}
        async with Cluster(["a", "b"], payload="json", queues=queues) as (a, b):
            serving = asyncio.create_task(answering(b, 300))
            asking = [a.request("b", number, timeout_s=PATIENCE_S) for number in range(300)]
            assert await asyncio.gather(*asking) == [[n, n] for n in range(300)]
            await serving

    run(main())


@pytest.mark.parametrize(
    ("peer", "timeout_s", "words"),
    [
        ("nobody", 1, "nobody is not in the group: a, b"),
        (["b"], 1, r"one peer is asked, not \['b'\]"),
        ("b", 0, "timeout_s: 0 is no time to wait for"),
        ("b", "5", "timeout_s: '5' is no time to wait for"),
        ("b", float("nan"), "timeout_s: nan is no time"),
    ],
)
def test_bad_arguments_are_refused_in_a_line(peer: Any, timeout_s: Any, words: str) -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json") as (a, _):
            with pytest.raises(Misuse, match=words):
                await a.request(peer, "x", timeout_s=timeout_s)
            assert a.said == 0

    run(main())


@pytest.mark.parametrize("algorithm", ["waiting", "prc_spray"])
def test_an_algorithm_that_only_broadcasts_asks_nobody(algorithm: str) -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload="json", algorithm=algorithm) as (a, _):
            with pytest.raises(Misuse, match=f"{algorithm} broadcasts; to address messages use hybrid_"):
                await a.request("b", "x", timeout_s=1)

    run(main())


def test_a_request_before_the_start_is_refused() -> None:
    async def main() -> None:
        node = Node(Cluster(["a", "b"])._configs[0], payload="json")
        with pytest.raises(Closed, match="has not been started"):
            await node.request("b", "x", timeout_s=1)

    run(main())
