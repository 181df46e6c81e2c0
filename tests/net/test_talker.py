"""Who speaks all the time: it waits for itself in the end, and others get through to it."""

import asyncio
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.node import saying
from net.crowd import PRC
from net.net_stage import PATIENCE_S, group_configs, run, running, take, until

IN = 40
SMALL = {"in_messages": IN, "out_messages": 500}


async def talk_for_ever(node: Node, said: list[bytes], size: int = 10) -> None:
    while True:
        await node.broadcast(bytes(size))
        said.append(b"")


@pytest.mark.parametrize(
    ("facts", "size", "expected"),
    [
        ({"queues": SMALL}, 10, IN),
        ({"queues": {**SMALL, "in_bytes": 10_000}}, 1000, 10),
        ({"queues": SMALL, "algorithm": "waiting", "transport": "tcp"}, 10, IN),
        ({"queues": SMALL, **PRC}, 10, IN),
    ],
)
def test_what_a_node_says_to_itself_is_bounded(
    facts: dict[str, Any], size: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(saying, "DEAF_S", 0.1)
    monkeypatch.setattr(saying, "tell", lambda name, event, **fields: warned.append(event))

    async def main() -> None:
        async with Node(Config.of({"name": "alice", **facts})) as alice:
            said: list[bytes] = []
            talking = asyncio.create_task(talk_for_ever(alice, said, size))
            await until(lambda: "speaks and does not hear" in warned, "it is told why it waits")
            assert len(said) == alice.gauges()["inbox_messages"] == expected
            await take(alice, 5)
            await until(lambda: len(said) == expected + 5, "it goes on as it takes what it said")
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)

    run(main())


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_talker_that_hears_nothing_keeps_nobody_out(transport: str) -> None:
    """Its own messages take no room from those of others, which are let in and acknowledged."""

    async def main() -> None:
        facts: dict[str, Any] = {"transport": transport, "queues": SMALL, "linger_s": 0}
        async with running(group_configs(["alice", "bob"], **facts)) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            talking = asyncio.create_task(talk_for_ever(alice, []))
            await until(lambda: alice.gauges()["inbox_messages"] >= IN, "alice has said all she may")
            receipts = [await bob.send({"alice"}, b"%d" % number) for number in range(IN)]
            async with asyncio.timeout(PATIENCE_S):
                await receipts[-1].stable()
            assert alice.gauges()["inbox_messages"] == 2 * IN
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)

    run(main())


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_talker_that_never_rests_takes_in_and_acknowledges(transport: str) -> None:
    async def main() -> None:
        async with running(group_configs(["alice", "bob"], transport=transport, linger_s=0)) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            said: list[bytes] = []
            heard: list[bytes] = []

            async def hear(node: Node) -> None:
                async for message in node:
                    if message.origin == "bob":
                        heard.append(message.payload)

            tasks = [
                asyncio.create_task(each) for each in (hear(alice), hear(bob), talk_for_ever(alice, said))
            ]
            for number in range(50):
                before = len(said)
                receipt = await bob.send({"alice"}, b"%d" % number)
                await receipt.delivered()
                assert len(said) - before < 2000, "so much was said while one message got through"
            await until(lambda: len(heard) == 50, "alice takes them")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(main())


def test_a_loop_that_hears_and_answers_never_waits_for_itself() -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], queues={"in_messages": 2, "out_messages": 64}, linger_s=0)
        async with running(configs) as nodes:
            answered = 0

            async def hear_and_answer(node: Node) -> None:
                nonlocal answered
                async for message in node:
                    if message.origin != node.name:
                        await node.broadcast(b"answer")
                        answered += 1

            tasks = [asyncio.create_task(hear_and_answer(node)) for node in nodes.values()]
            for node in nodes.values():
                await node.broadcast(b"question")
            await until(lambda: answered > 500, "they go on answering")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(main())
