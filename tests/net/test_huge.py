"""Huge payloads: they arrive, over datagrams too, and leave in slices, so that the loop has its turns."""

import asyncio
from typing import Any

import pytest

from aforesaid import Config, Misuse, Node
from aforesaid.node.carrying.pushing import BODY_BYTES_MAX, SLICE_BYTES
from aforesaid.node.carrying.slices import SLICE_DATAGRAMS
from aforesaid.transport import Datagrams, Stream
from net.crowd import PRC
from net.net_stage import PATIENCE_S, group_configs, placed_configs, run, running, take

MB = 2**20
QUEUES = {"out_bytes": 32 * MB, "link_bytes": 64 * MB}
HUGE: dict[str, Any] = {"payload_bytes_max": 16 * MB, "queues": QUEUES, "linger_s": 0}


async def longest_turn(written: list[int]) -> int:
    """The most that is written in a turn of the loop; cancelled, it tells."""
    most = 0
    try:
        while True:
            written.clear()
            await asyncio.sleep(0)
            most = max(most, sum(written))
    except asyncio.CancelledError:
        return most


async def most_at_a_time(written: list[int], speaker: Node, hearer: Node, payload: bytes) -> int:
    watching = asyncio.create_task(longest_turn(written))
    await speaker.broadcast(payload)
    assert [message.payload for message in await take(hearer, 1)] == [payload]
    watching.cancel()
    return await watching


def test_ten_megabytes_arrive_in_datagrams(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    send = Datagrams.send

    def count(datagrams: Datagrams, data: bytes, numeric: Any) -> None:
        sent.append(1)
        send(datagrams, data, numeric)

    monkeypatch.setattr(Datagrams, "send", count)

    async def main() -> None:
        async with running(group_configs(["alice", "bob"], **HUGE)) as nodes:
            most = await most_at_a_time(
                sent, nodes["alice"], nodes["bob"], bytes(range(256)) * (10 * MB // 256)
            )
            assert SLICE_DATAGRAMS <= most < 2 * SLICE_DATAGRAMS

    run(main())


@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "prc_spray"])
def test_ten_megabytes_leave_in_slices_on_streams(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = Stream.write

    def count(stream: Stream, data: bytes) -> None:
        written.append(len(data))
        write(stream, data)

    monkeypatch.setattr(Stream, "write", count)

    async def main() -> None:
        payload = bytes(range(256)) * (10 * MB // 256)
        if algorithm == "prc_spray":
            async with (
                Node(Config.of({"name": "alice", **PRC, **HUGE})) as alice,
                Node(Config.of({"name": "bob", **PRC, **HUGE, "contact": str(alice.address)})) as bob,
            ):
                most = await most_at_a_time(written, alice, bob, payload)
        else:
            async with running(group_configs(["alice", "bob"], transport="tcp", **HUGE)) as nodes:
                most = await most_at_a_time(written, nodes["alice"], nodes["bob"], payload)
        assert SLICE_BYTES <= most < SLICE_BYTES + 2 * BODY_BYTES_MAX

    run(main())


def test_what_is_said_behind_a_huge_payload_comes_behind_it_and_a_close_cuts_nothing_off() -> None:
    async def main() -> None:
        facts = {**HUGE, "linger_s": PATIENCE_S, "transport": "tcp"}
        configs = placed_configs(["alice", "bob"], **facts)
        async with Node(configs["bob"]) as bob:
            async with Node(configs["alice"]) as alice:
                await alice.send({"bob"}, b"first")
                assert [message.payload for message in await take(bob, 1)] == [b"first"]
                for payload in (bytes(8 * MB), b"small", bytes(3 * MB), b"last"):
                    await alice.send({"bob"}, payload)
            heard = [len(message.payload) for message in await take(bob, 4)]
            assert heard == [8 * MB, 5, 3 * MB, 4]

    run(main())


def test_the_largest_payload_is_stated() -> None:
    with pytest.raises(Misuse, match=r"payload_bytes_max: expected `int` <= 67108864"):
        Config.of({"name": "alice", "payload_bytes_max": 65 * MB})
