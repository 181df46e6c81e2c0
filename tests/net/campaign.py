"""Long runs of real nodes, for a named target and not for every test.

    python tests/net/campaign.py weather 180      five processes, each says 400 messages a second to some of
                                                  the others; every fault there is, one kill -9
    python tests/net/campaign.py processes 120    fifty processes, one joins and one leaves every second,
                                                  every tenth by kill -9
    python tests/net/campaign.py crowd 120        the same in one process, for small machines; none is killed
    python tests/net/campaign.py dead 180         a peer that was killed, under load, and evicted in the end
    python tests/net/campaign.py hostile 1000000  so many hostile datagrams into a live node

Prints what happened and the verdict; exit code 1 if anything was lost, doubled or misordered.
"""

import asyncio
import random
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from aforesaid.transport.proxy import Weather
from net.crowd import Crowd, changing_group, churn
from net.crowd_processes import process_group
from net.dead_peer import load_on_a_dead_peer
from net.net_stage import complaints, judged
from net.siege import siege
from net.weather import storm

SIZE = 50
"""Of a crowd."""


def tell(what: object) -> None:
    sys.stdout.write(f"{what}\n")


async def bad_weather(root: Path, seconds: float) -> None:
    names = [f"p{number}" for number in range(5)]
    tell(dict(await storm(root, names, seconds, Weather(loss=0.01), seed=11, per_second=400)))


async def one_process(root: Path, seconds: float) -> None:
    async with changing_group(root, SIZE) as crowd:
        await change(crowd, seconds)
        links = [len(node._running.machine.links()) for node in crowd.nodes.values()]
        tell(f"{min(links)} to {max(links)} links per node at the end")


async def processes(root: Path, seconds: float) -> None:
    async with process_group(root, SIZE) as crowd:
        tell(f"{SIZE} processes are there")
        await change(crowd, seconds, kill_every=10)
        for event in ("rejoining", "closed too early"):
            tell(f"{event}: {sum(node.log.count(event) for node in crowd.started)}")


async def change(crowd: Crowd, seconds: float, kill_every: int = 0) -> None:
    """For so long; then the crowd comes to rest."""
    await churn(crowd, seconds, random.Random(12), kill_every)
    await crowd.rest()
    await asyncio.sleep(1.5)
    tell(dict(crowd.did))


async def dead_peer(root: Path, seconds: float) -> None:
    tell(await load_on_a_dead_peer(root, seconds))


async def hostility(root: Path, count: float) -> None:
    tell(await siege(root, round(count)))


CAMPAIGNS = {
    "weather": bad_weather,
    "crowd": one_process,
    "processes": processes,
    "dead": dead_peer,
    "hostile": hostility,
}


def main(what: str, how_much: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        asyncio.run(CAMPAIGNS[what](root, float(how_much)))
        report, trace = judged(root)
    fates = {fate: trace.processes.fate.count(fate) for fate in dict.fromkeys(trace.processes.fate)}
    tell(f"{len(trace.messages):,} messages, {len(trace.delivery_message):,} deliveries, {trace.run.ended}")
    tell(fates)
    tell({verdict.property: verdict.value for verdict in report.required_verdicts()})
    for complaint in complaints(report):
        tell(complaint)
    return 0 if report.value() == "kept" else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
