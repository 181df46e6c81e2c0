"""Requests and topics in worlds: the order under loss, doubling and delays; restarts."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from aforesaid import Message, NoAnswer, Node, PeerGone
from aforesaid.world.network import Weather
from support.scale import scaled
from world.node_stage import Stage, play

BAD = Weather(loss=0.1, duplication=0.1, delay_s=0.002, jitter_s=0.02, spike=0.05)
SEEDS = scaled(4, 100)


async def on(stage: Stage, name: str, work: Callable[[Node[Any]], Awaitable[Any]]) -> Any:
    """Let a node do something on its own machine."""

    async def begin() -> Any:
        return await work(stage.nodes[name])

    return await stage.world.on(stage.machines[name], begin)


class Truth:
    """What everyone said, to whom, and what they had said or taken before: kept beside the nodes."""

    def __init__(self) -> None:
        self.audiences: dict[int, tuple[str, ...]] = {}
        self.past: dict[str, set[int]] = {}
        self.heard: dict[str, list[int]] = {}

    def say(self, name: str, audience: tuple[str, ...]) -> dict[str, Any]:
        """The payload of the next message."""
        number = len(self.audiences)
        self.audiences[number] = audience
        past = self.past.setdefault(name, set())
        payload = {"number": number, "past": sorted(past)}
        past.add(number)
        return payload

    def take(self, name: str, payload: dict[str, Any]) -> None:
        number, past = payload["number"], payload["past"]
        heard = self.heard.setdefault(name, [])
        assert name in self.audiences[number], f"{name} hears {number}, which is for {self.audiences[number]}"
        assert number not in heard, f"{name} hears {number} twice"
        lacking = [each for each in past if name in self.audiences[each] and each not in heard]
        assert not lacking, f"{name} hears {number} before {lacking}"
        heard.append(number)
        self.past.setdefault(name, set()).update(past, {number})

    def all_are_heard(self) -> bool:
        return all(
            number in self.heard.get(name, ()) for number, names in self.audiences.items() for name in names
        )


WANTED = {"a": ["x"], "b": ["x", "y"], "c": ["y", "z"], "d": ["z", "x"], "e": []}
"""Audiences that overlap, in a ring."""


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "hybrid_adaptive_multicast"])
def test_topics_keep_the_order_among_audiences_that_overlap(seed: int, algorithm: str) -> None:
    async def scene(stage: Stage) -> None:
        truth, chance = Truth(), Random(seed)
        stage.payload = "json"
        stage.world.network.weather = BAD

        async def hear(node: Node[Any], message: Message[Any]) -> None:
            truth.take(node.name, message.payload)

        stage.hear = hear
        await stage.group(*WANTED, algorithm=algorithm)
        for name, topics in WANTED.items():
            if topics:
                await on(stage, name, lambda node, topics=topics: subscribed(node, *topics))  # type: ignore[misc]

        async def speak(node: Node[Any]) -> None:
            for _ in range(20):
                topic = chance.choice("xyz")
                await node.publish(topic, truth.say(node.name, node.audience(topic)))
                await asyncio.sleep(chance.random() * 0.02)

        await asyncio.gather(*(on(stage, name, speak) for name in WANTED))
        await stage.until(truth.all_are_heard, "something is not heard")
        assert len(truth.audiences) == 100
        assert not stage.errors, stage.errors

    scene.__name__ = f"topics {seed} {algorithm}"
    play(scene)


async def subscribed(node: Node[Any], *topics: str) -> None:
    await (await node.subscribe(*topics)).delivered()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_who_subscribes_while_others_publish_misses_nothing_from_then_on(seed: int) -> None:
    """From the moment in which everyone knows; and what comes is without a gap, of each author."""

    async def scene(stage: Stage) -> None:
        chance = Random(seed)
        heard: list[tuple[str, int]] = []
        said = {"a": 0, "b": 0}
        stage.payload = "json"
        stage.world.network.weather = BAD

        async def hear(node: Node[Any], message: Message[Any]) -> None:
            if node.name == "c":
                heard.append((message.origin, message.payload))

        stage.hear = hear
        await stage.group(*"abc")

        async def speak(node: Node[Any]) -> None:
            for _ in range(60):
                said[node.name] += 1
                await node.publish("news", said[node.name])
                await asyncio.sleep(chance.random() * 0.02)

        speaking = asyncio.gather(*(on(stage, name, speak) for name in "ab"))
        await asyncio.sleep(0.2)
        await on(stage, "c", lambda node: subscribed(node, "news"))
        known = dict(said)
        await speaking
        await stage.until(lambda: {("a", 60), ("b", 60)} <= set(heard), "the last is not heard")
        for name in "ab":
            numbers = [number for origin, number in heard if origin == name]
            assert numbers == list(range(numbers[0], 61))
            assert 1 < numbers[0] <= known[name] + 1

    scene.__name__ = f"late subscriber {seed}"
    play(scene)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_an_answer_comes_after_all_that_was_said_before_it(seed: int, transport: str) -> None:
    """Everyone asks everyone while all talk; whoever has an answer has taken what it follows."""

    async def scene(stage: Stage) -> None:
        truth, chance = Truth(), Random(seed)
        stage.payload = "json"
        stage.world.network.weather = BAD

        async def hear(node: Node[Any], message: Message[Any]) -> None:
            truth.take(node.name, message.payload)
            if message.asks:
                await message.reply(truth.say(node.name, (message.origin,)))

        stage.hear = hear
        await stage.group(*"abc", transport=transport)

        async def talk(node: Node[Any]) -> None:
            for _ in range(10):
                await node.broadcast(truth.say(node.name, ("a", "b", "c")))
                await asyncio.sleep(chance.random() * 0.02)

        async def ask(node: Node[Any]) -> None:
            for _ in range(10):
                peer = chance.choice([name for name in "abc" if name != node.name])
                answer = await node.request(peer, truth.say(node.name, (peer,)), timeout_s=60)
                truth.take(node.name, answer)

        await asyncio.gather(*(on(stage, name, work) for name in "abc" for work in (talk, ask)))
        await stage.until(truth.all_are_heard, "something is not heard")
        assert len(truth.audiences) == 3 * 10 + 2 * 3 * 10
        assert not stage.errors, stage.errors

    scene.__name__ = f"requests {seed} {transport}"
    play(scene)


def test_a_peer_that_is_cut_off_is_silent_and_then_gone() -> None:
    async def scene(stage: Stage) -> None:
        stage.payload = "json"
        await stage.group(*"abc")
        await asyncio.sleep(1)
        stage.machines["c"].kill()
        with pytest.raises(NoAnswer, match=r"c has not answered within 10 s: it is silent"):
            await on(stage, "a", lambda node: node.request("c", 1, timeout_s=10))
        began = stage.world.now_s
        with pytest.raises(PeerGone, match="c was evicted"):
            await on(stage, "a", lambda node: node.request("c", 1, timeout_s=100))
        assert stage.world.now_s < began + 25, "evicted after 30 s, and told within a heartbeat"

    play(scene)


DURABLE: dict[str, Any] = {"durability": "batch", "evict_after_s": 0}


def test_a_request_comes_again_to_who_was_killed_before_it_was_done() -> None:
    """At least once; the asker has the first answer, and drops the second."""

    async def scene(stage: Stage) -> None:
        asked: list[tuple[str, Any]] = []
        stage.payload = "json"

        async def hear(node: Node[Any], message: Message[Any]) -> None:
            asked.append((node.name, message.payload))
            if message.payload == "silent" and len(asked) == 1:
                await asyncio.sleep(1000)  # It is killed with the request in hand.
            if message.asks:
                await message.reply([message.payload, len(asked)])
                if message.payload == "twice" and len(asked) == 3:
                    await asyncio.sleep(1000)  # It is killed, and has answered.

        stage.hear = hear
        await stage.group("a", "b", **DURABLE)
        asking = asyncio.ensure_future(on(stage, "a", lambda node: node.request("b", "silent", timeout_s=60)))
        await stage.until(lambda: len(asked) == 1, "b is not asked")
        stage.machines["b"].kill()
        await stage.again("b")
        assert await asking == ["silent", 2]
        assert await on(stage, "a", lambda node: node.request("b", "twice", timeout_s=60)) == ["twice", 3]
        await asyncio.sleep(1)
        stage.machines["b"].kill()
        await stage.again("b")
        await stage.until(lambda: len(asked) == 4, "what was not acknowledged comes again")
        await asyncio.sleep(1)
        assert await on(stage, "a", lambda node: node.request("b", "new", timeout_s=60)) == ["new", 5]
        assert stage.nodes["a"].gauges()["inbox_messages"] == 0
        assert [payload for _, payload in asked] == ["silent", "silent", "twice", "twice", "new"]

    play(scene)


def test_an_answer_to_an_earlier_life_of_the_asker_is_dropped() -> None:
    async def scene(stage: Stage) -> None:
        waiting: list[Message[Any]] = []
        stage.payload = "json"

        async def hear(node: Node[Any], message: Message[Any]) -> None:
            waiting.append(message)

        stage.hear = hear
        await stage.group("a", "b", **DURABLE)
        asking = asyncio.ensure_future(on(stage, "a", lambda node: node.request("b", 1, timeout_s=60)))
        await stage.until(lambda: len(waiting) == 1, "b is not asked")
        stage.machines["a"].kill()
        await asyncio.sleep(0.1)
        asking.cancel()
        await stage.again("a")
        again = asyncio.ensure_future(on(stage, "a", lambda node: node.request("b", 2, timeout_s=60)))
        await stage.until(lambda: len(waiting) == 2, "b is not asked again")
        for message in waiting:
            await on(stage, "b", lambda _, message=message: message.reply(message.payload))  # type: ignore[misc]
        assert await again == 2
        await asyncio.sleep(1)
        assert stage.nodes["a"].gauges()["inbox_messages"] == 0

    play(scene)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_subscriptions_survive_with_the_node(seed: int) -> None:
    """The author's knowledge of its audience, and the subscriber's place in it."""

    async def scene(stage: Stage) -> None:
        chance = Random(seed)
        heard: list[int] = []
        stage.payload = "json"

        async def hear(node: Node[Any], message: Message[Any]) -> None:
            if node.name == "b" and message.payload not in heard:
                heard.append(message.payload)

        stage.hear = hear
        await stage.group(*"abc", **DURABLE)
        await on(stage, "b", lambda node: subscribed(node, "news"))
        for number in range(30):
            if chance.random() < 0.3:
                name = chance.choice("ab")
                stage.machines[name].kill()
                await stage.again(name)
                assert stage.nodes["b"].subscriptions == {"news"}
                assert stage.nodes["a"].audience("news") == ("b",)
            await on(stage, "a", lambda node, number=number: node.publish("news", number))  # type: ignore[misc]
        await stage.until(lambda: len(heard) == 30, "something is not heard")
        assert heard == list(range(30))
        await on(stage, "b", lambda node: node.unsubscribe("news"))
        await stage.until(lambda: stage.nodes["a"].audience("news") == (), "a does not know")
        await asyncio.sleep(1)
        stage.machines["a"].kill()
        await stage.again("a")
        assert stage.nodes["a"].audience("news") == ()

    scene.__name__ = f"surviving subscriptions {seed}"
    play(scene)


def test_who_resumes_by_offset_has_no_payload_type() -> None:
    async def scene(stage: Stage) -> None:
        stage.payload, stage.resume_from["a"] = "json", 0
        stage.begin("a", peers={}, **DURABLE)
        await stage.until(lambda: "a" in stage.errors, "it is not refused")
        assert "resume_from: with a payload type answers have offsets, too" in str(stage.errors["a"])

    play(scene)
