"""Payload types: values go in and come out; what is none is refused where it is said, and by who hears it."""

import asyncio
import json
from typing import Any, assert_type

import msgspec
import pytest

from aforesaid import Cluster, Codec, Config, Message, Misuse, Node
from net.net_stage import run, take, until


class Order(msgspec.Struct):
    item: str
    count: int = 1


class Cancelled(msgspec.Struct, tag=True):
    number: int


class Shipped(msgspec.Struct, tag=True):
    number: int
    by: str


VALUES: list[tuple[Any, list[Any]]] = [
    (bytes, [b"", b"bytes", b"\xc1", b"\xc1\x92\x00\xc4\x01x"]),
    (Order, [Order("tea"), Order("jam", 3)]),
    (Cancelled | Shipped, [Cancelled(1), Shipped(2, "van")]),
    (dict[str, list[int]], [{}, {"a": [1, 2]}]),
    ("json", [None, 1, "é", [1, {"a": None}], {"nested": {"x": [True]}}]),
    ("msgpack", [None, b"bytes", [1, "two"], {"a": 1.5}]),
    (Codec(str.encode, bytes.decode), ["", "text"]),
]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize(("payload", "values"), VALUES, ids=lambda each: str(each)[:20])
def test_values_come_out_as_they_went_in(payload: Any, values: list[Any], transport: str) -> None:
    async def main() -> None:
        async with Cluster(["a", "b"], payload=payload, transport=transport) as (a, b):
            for value in values:
                await a.send(["b"], value)
                await b.broadcast(value)
            assert [message.payload for message in await take(a, len(values))] == values
            of_b = await take(b, 2 * len(values))
            assert [message.payload for message in of_b if message.origin == "a"] == values
            assert b.gauges()["inbox_messages"] == b.gauges()["inbox_bytes"] == 0

    run(main())


def test_a_node_without_a_type_says_bytes_and_nothing_else() -> None:
    """What is on the wire is what was said: so others may speak JSON with a node that does."""

    async def main() -> None:
        async with Cluster(["a", "b"]) as (a, b):
            typed: Node[Any] = Node(Config(name="a", peers={"b": "127.0.0.1:0"}), payload="json")
            assert typed._letters is not None
            assert typed._letters.sealed({"a": 1}) == b'{"a":1}'
            await a.send(["b"], b"\xc1 as it is")
            (heard,) = await take(b, 1)
            assert heard.payload == b"\xc1 as it is"
            assert (heard.asks, heard.topic) == (False, None)
            for call in (a.request("b", b"", timeout_s=1), a.publish("t", b""), a.subscribe("t")):
                with pytest.raises(Misuse, match=r"says plain bytes; give every member .* payload=bytes\)"):
                    await call
            with pytest.raises(Misuse, match="is no request"):
                await heard.reply(b"")

    run(main())


def test_who_knows_json_only_takes_part_in_a_group_that_speaks_json() -> None:
    async def main() -> None:
        at = "127.0.0.1:0"
        async with (
            Node(Config(name="plain", peers={"typed": at})) as plain,
            Node(Config(name="typed", peers={"plain": at}), payload="json") as typed,
        ):
            plain.introduce({"typed": str(typed.address)})
            typed.introduce({"plain": str(plain.address)})
            await plain.send(["typed"], b'{"a": [1, null]}')
            assert (await take(typed, 1))[0].payload == {"a": [1, None]}
            await typed.send(["plain"], {"b": "é"})
            assert json.loads((await take(plain, 1))[0].payload) == {"b": "é"}

    run(main())


@pytest.mark.parametrize(
    ("payload", "said", "words"),
    [
        (Order, "tea", "a payload is Order, not 'tea': it is of type str"),
        (Order, Order(1), "nobody could read .*Expected `str`, got `int`"),  # type: ignore[arg-type]
        (Order, Cancelled(1), "it is of type Cancelled"),
        (Cancelled | Shipped, Order("x"), "nobody could read"),
        ("json", object(), "a payload is a JSON value, not <object"),
        (bytes, "text", "a payload is bytes, not str"),
        (Codec(str.encode, bytes.decode), 5, "a payload is what the codec takes, not 5"),
        (Codec(str.upper, bytes.decode), "x", "encode gives bytes, not str"),  # type: ignore[arg-type]
    ],
)
def test_what_nobody_could_read_is_refused_where_it_is_said(payload: Any, said: Any, words: str) -> None:
    async def main() -> None:
        async with Cluster(1, payload=payload) as (node,):
            for call in (node.broadcast, lambda value: node.send(["p0"], value)):
                with pytest.raises(Misuse, match=words) as caught:
                    await call(said)
                assert "\n" not in str(caught.value)
            assert node.said == 0

    run(main())


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("jsno", 'payload: "jsno" is no form; there are "json", "msgpack", types, and Codec'),
        (5, "payload: 5 is no type of values that msgspec knows"),
        (dict[Order, int] | dict[str, int], "is no type of values that msgspec knows"),
    ],
)
def test_what_is_no_payload_type_is_refused(payload: Any, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        Node(Config(name="a"), payload=payload)


def test_a_codec_is_two_functions() -> None:
    with pytest.raises(Misuse, match="encode and decode are functions"):
        Codec(b"encode", bytes.decode)  # type: ignore[arg-type]


def test_what_cannot_be_read_is_counted_told_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """By who hears it: the node goes on, and the order of the others is kept."""

    async def main() -> None:
        async with Cluster(["good", "bad", "hears"], payload="json") as (good, bad, hears):
            bad._letters = None  # It says bytes, whatever they are.
            await bad.send(["hears"], b'"1"')
            for nonsense in (b"{", b"\xc1", b"\xc1\x93\x01\x00\x00", b"\xc1\x91\xcd\xff\xff", b""):
                await bad.send(["hears"], nonsense)
            await bad.send(["hears"], b'"2"')
            heard = [message.payload for message in await take(hears, 2)]
            assert heard == ["1", "2"]
            await good.send(["hears"], 3)
            assert [message.payload for message in await take(hears, 1)] == [3]
            assert hears.refused == {"payload": 5}
            assert hears.status()["refused"] == {"payload": 5}
            await until(lambda: hears.gauges()["inbox_messages"] == 0, "a place is not given back")
            assert hears.gauges()["inbox_bytes"] == 0

    caplog.set_level("WARNING", "aforesaid.node")
    run(main())
    told = [
        record.__dict__["fields"] for record in caplog.records if record.getMessage() == "payload refused"
    ]
    assert [fields["peer"] for fields in told] == ["bad"], "once in ten seconds"
    assert {"message", "error"} < told[0].keys()


def test_senders_wait_for_who_takes_nothing_and_cannot_flood_it_with_nonsense() -> None:
    async def main() -> None:
        queues = {"in_messages": 10, "out_messages": 10}
        async with Cluster(["a", "b"], payload="json", queues=queues) as (a, b):
            a._letters = None

            async def speak() -> None:
                for number in range(200):
                    await a.send(["b"], b"nonsense" if number % 2 else json.dumps(number).encode())

            speaking = asyncio.create_task(speak())
            await asyncio.sleep(0.2)
            assert a.said < 60
            assert b.gauges()["inbox_messages"] <= 10
            heard = [message.payload for message in await take(b, 100)]
            assert heard == list(range(0, 200, 2))
            await speaking
            await until(lambda: b.refused["payload"] == 100, "not all were counted")

    run(main())


def test_types_are_known_to_type_checkers() -> None:
    """mypy reads this (make lint)."""
    config = Config(name="a")
    assert_type(Node(config), Node[bytes])
    assert_type(Node(config, payload=Order), Node[Order])
    assert_type(Node(config, payload=bytes), Node[bytes])
    assert_type(Node(config, payload="json"), Node[Any])
    assert_type(Node(config, payload=Cancelled | Shipped), Node[Any])
    assert_type(Node(config, payload=Codec(str.encode, bytes.decode)), Node[str])
    assert_type(Cluster(1, payload=Order), Cluster[Order])

    async def never(node: Node[Order], plain: Node) -> None:
        assert_type(await node.request("b", Order("x"), timeout_s=1), Order)
        async for message in node:
            assert_type(message, Message[Order])
            assert_type(message.payload, Order)
        assert_type((await anext(plain)).payload, bytes)
