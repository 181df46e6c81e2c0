"""Request and reply between real nodes on a slow network, with a word to a third party before each: what is
said on the side comes as soon as anything does, however long the game goes on."""

import asyncio
import time

import pytest

from aforesaid import Config, Node
from aforesaid.transport.address import Address
from aforesaid.transport.proxy import LossyRelay, Weather
from net.net_stage import PATIENCE_S, free_addresses, run, running, until

HITS = 150
NOTED = {"anna": "xaver", "boris": "yvonne"}
NAMES = ["anna", "boris", "xaver", "yvonne"]


@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "hybrid_adaptive_multicast"])
def test_side_messages_come_while_the_ball_is_in_play(algorithm: str) -> None:
    """With SPS, the printed algorithm, two thirds of them would be waiting at the end (R14)."""

    async def main() -> None:
        weather = Weather(loss=0.02, duplication=0.0, delay_s_max=0.02, spike=0.0)
        relay = LossyRelay(weather, seed=1)
        waits: list[float] = []
        said = 0

        async def play(node: Node, me: str, other: str, over: asyncio.Event) -> None:
            nonlocal said
            async for _ in node:
                if over.is_set():
                    return
                said += 1
                await node.send({NOTED[me]}, repr(time.monotonic()).encode())
                await node.send({other}, b"ball")

        async def note(node: Node) -> None:
            async for message in node:
                waits.append(time.monotonic() - float(message.payload))

        async with running(await relayed(relay, algorithm)) as nodes:
            over = asyncio.Event()
            tasks = [
                asyncio.create_task(play(nodes["anna"], "anna", "boris", over)),
                asyncio.create_task(play(nodes["boris"], "boris", "anna", over)),
                *(asyncio.create_task(note(nodes[third])) for third in NOTED.values()),
            ]
            await nodes["anna"].send({"boris"}, b"ball")
            await until(lambda: said >= HITS, "the ball goes back and forth")
            late = said - len(waits)
            over.set()
            await until(lambda: len(waits) == said, "every note has come")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        relay.close()
        assert late < said / 4, "they come while the ball is in play"
        assert max(waits) < PATIENCE_S / 2

    run(main())


async def relayed(relay: LossyRelay, algorithm: str) -> dict[str, Config]:
    """The configurations of nodes that reach each other through the relay only."""
    at = dict(zip(NAMES, free_addresses(len(NAMES)), strict=True))
    configs = {}
    for me in NAMES:
        others = [peer for peer in NAMES if peer != me]
        routes = {peer: str(await relay.route(me, peer, Address.parse(at[peer]))) for peer in others}
        fields = {"name": me, "listen": at[me], "peers": routes, "linger_s": 0, "algorithm": algorithm}
        configs[me] = Config.of(fields)
    return configs
