"""Eager and lazy push among real nodes: how often they write, and which streams they keep."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.core import SECOND
from aforesaid.node.carrying.notes import Note, encode
from aforesaid.node.carrying.streams import UNUSED, StreamCarrier
from aforesaid.protocols.overlay.frames import Lid, Reset
from aforesaid.transport import Stream
from aforesaid.wire import record
from net.crowd import PRC, changing_group
from net.net_stage import links_of, run, until


def test_a_message_comes_by_one_link_at_once_and_by_the_others_with_company(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve members with some six links each, and 10 ms between messages."""
    written = 0

    def counted(stream: Stream, data: bytes) -> None:
        nonlocal written
        written += 1
        write(stream, data)

    write = Stream.write
    monkeypatch.setattr(Stream, "write", counted)

    async def main() -> None:
        nonlocal written
        async with changing_group(tmp_path, 12) as crowd:
            await crowd.rest()
            nodes = list(crowd.nodes.values())
            links = sum(len(links_of(node)) for node in nodes)

            async def say(count: int) -> None:
                for number in range(count):
                    await nodes[number % len(nodes)].broadcast(b"x")
                    await asyncio.sleep(0.01)
                await until(lambda: crowd.empty, "everyone has all, and nothing is expected any more")

            await say(50)
            written = 0
            await say(200)
            assert written < 0.6 * 200 * links, f"{written} writes, {links} ends of links"
            assert written > 200 * 11, "each message goes to each other member at least"

    run(main())


def test_a_stream_to_a_stranger_is_not_kept_and_one_that_was_used_is() -> None:
    async def main() -> None:
        facts: dict[str, Any] = {**PRC, "heartbeat_s": 0.1, "options": {"period_ms": 60_000}}
        nodes = {"p0": await Node(Config.of({"name": "p0", **facts})).__aenter__()}
        for number in range(1, 12):
            one = {"name": f"p{number}", "contact": str(nodes["p0"].address), **facts}
            nodes[f"p{number}"] = await Node(Config.of(one)).__aenter__()
        await until(lambda: not any(any(node.gauges().values()) for node in nodes.values()), "rest")
        strangers: list[tuple[str, StreamCarrier, list[str]]] = []

        def found() -> bool:
            """A member that knows two others, and has no streams to them."""
            for name, node in nodes.items():
                carrier = node._running.carrier
                assert isinstance(carrier, StreamCarrier)
                others = sorted(nodes.keys() - set(carrier.connected()) - {name})
                others = [other for other in others if carrier._book.address(other) is not None]
                if len(others) > 1:
                    strangers.append((name, carrier, others))
            return bool(strangers)

        await until(found, "somebody has strangers", 2 * UNUSED / SECOND)
        name, carrier, (told, used, *_) = strangers[0]
        peer = carrier.peers.get(told) or carrier._heard_of(told)
        assert peer is not None
        carrier._pushing.write(peer, [record(encode(Note()))])
        carrier.send(used, [Reset(Lid(used, name, 0, 1_000))])
        await until(lambda: {told, used} <= set(carrier.connected()), "both are called")
        await until(lambda: told not in carrier.connected(), "nobody needs it", UNUSED / SECOND / 3)
        assert used in carrier.connected()
        await asyncio.gather(*(node.close() for node in nodes.values()))

    run(main())
