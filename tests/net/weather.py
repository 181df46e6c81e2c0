"""Node processes on a bad network for some time, and everything that can happen to them there."""

import asyncio
import random
from collections import Counter
from pathlib import Path

from aforesaid.security.keyfiles import write_cluster_key
from aforesaid.transport.address import Address
from aforesaid.transport.proxy import LossyRelay, Weather
from net.net_stage import free_addresses
from net.node_process import NodeProcess, write_toml


async def relayed(relay: LossyRelay, names: list[str], root: Path) -> dict[str, NodeProcess]:
    """Nodes that reach each other through the relay only."""
    write_cluster_key(root / "cluster.key")
    addresses = dict(zip(names, free_addresses(len(names)), strict=True))
    nodes = {}
    for name in names:
        peers = {
            peer: str(await relay.route(name, peer, Address.parse(addresses[peer])))
            for peer in names
            if peer != name
        }
        facts = {
            "name": name,
            "listen": addresses[name],
            "directory": name,
            "linger_s": 10.0,
            "trace_segment_bytes": 16384,
            "peers": peers,
            "security": {"cluster_key": "cluster.key"},
        }
        nodes[name] = NodeProcess(write_toml(root / f"{name}.toml", facts))
    await asyncio.gather(*(node.start() for node in nodes.values()))
    return nodes


async def storm(
    root: Path, names: list[str], seconds: float, weather: Weather, seed: int, per_second: float = 60
) -> Counter[str]:
    """Each says so much, to some others of its choice; partitions, halts, and in the middle kill -9 of the
    last one; what fired."""
    relay = LossyRelay(weather, seed)
    nodes = await relayed(relay, names, root)
    try:
        await _weathered(relay, nodes, names, seconds, seed, per_second)
    finally:
        await asyncio.gather(*(node.destroy() for node in nodes.values()))
        relay.close()
    return relay.did


async def _weathered(
    relay: LossyRelay,
    nodes: dict[str, NodeProcess],
    names: list[str],
    seconds: float,
    seed: int,
    per_second: float,
) -> None:
    quiet, chance = asyncio.Event(), random.Random(seed)
    talks = [
        asyncio.create_task(_talk(node, names, number, quiet, per_second))
        for number, node in enumerate(nodes.values())
    ]
    turn_s = min(1.0, seconds / 8)
    victim = nodes[names[-1]]
    for turn in range(round(seconds / turn_s / 4)):
        await asyncio.sleep(turn_s)
        island = set(chance.sample(names, len(names) // 2))
        relay.part(island, set(names) - island)
        await asyncio.sleep(turn_s)
        relay.heal()
        halted = nodes[chance.choice(names[:-1])]
        halted.halt(True)
        relay.did["halted"] += 1
        await asyncio.sleep(turn_s)
        halted.halt(False)
        if turn == round(seconds / turn_s / 8):
            victim.kill()
            relay.did["killed"] += 1
            await asyncio.sleep(turn_s)
            # Only one is told, and tells the others.
            await nodes[names[0]].ask(evict=names[-1])
        await asyncio.sleep(turn_s)
    quiet.set()
    await asyncio.gather(*talks)
    survivors = [nodes[name] for name in names[:-1]]
    for node in survivors:
        await node.emptied()
        assert (await node.ask(peers=True))[names[-1]] == "evicted"
    assert set(await asyncio.gather(*(node.end() for node in survivors))) == {0}


async def _talk(
    node: NodeProcess, names: list[str], seed: int, quiet: asyncio.Event, per_second: float
) -> None:
    """Say things to some others until it is quiet or the process is gone."""
    chance, me, number = random.Random(seed), node.config.stem, 0
    others = [name for name in names if name != me]
    while not quiet.is_set() and node.process.returncode is None:
        number += 1
        node.say(to=chance.sample(others, chance.randint(1, len(others))), payload=f"{me} {number}")
        await asyncio.sleep(chance.expovariate(per_second))
