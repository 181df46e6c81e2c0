"""Long runs of real nodes, for a named target and not for every test.

    python tests/net/campaign.py weather 180      five processes, every fault there is, one kill -9
    python tests/net/campaign.py crowd 120        fifty nodes, one joins and one leaves every second
    python tests/net/campaign.py dead 60          a peer that was killed, under load, and evicted in the end
    python tests/net/campaign.py hostile 1000000  so many hostile datagrams into a live node

Prints what happened and the verdict; exit code 1 if anything was lost, doubled or misordered.
"""

import asyncio
import random
import sys
import tempfile
from pathlib import Path

from crowd import changing_group
from dead_peer import load_on_a_dead_peer
from net_stage import complaints, judged, until
from siege import siege
from weather import storm

from aforesaid.transport.proxy import Weather


def tell(what: object) -> None:
    sys.stdout.write(f"{what}\n")


async def bad_weather(root: Path, seconds: float) -> None:
    names = [f"p{number}" for number in range(5)]
    tell(dict(await storm(root, names, seconds, Weather(loss=0.01), seed=11)))


async def churn(root: Path, seconds: float, size: int = 50) -> None:
    chance = random.Random(12)
    async with changing_group(root, size) as crowd:
        began = asyncio.get_running_loop().time()
        said = 0
        while asyncio.get_running_loop().time() - began < seconds:
            for _ in range(5):
                await chance.choice(list(crowd.nodes.values())).broadcast(b"%d" % said)
                said += 1
                await asyncio.sleep(0.2)
            await crowd.join()
            await crowd.leave(list(crowd.nodes.values())[chance.randrange(1, len(crowd.nodes))])
        await until(lambda: crowd.in_one_piece, "the overlay is in one piece", patience_s=100.0)
        await until(lambda: crowd.empty, "memory returns to empty", patience_s=100.0)
        await asyncio.sleep(1.5)
        links = [len(node._running.machine.links()) for node in crowd.nodes.values()]
        tell(f"{said} broadcasts; {min(links)} to {max(links)} links per node at the end")


async def dead_peer(root: Path, seconds: float) -> None:
    tell(await load_on_a_dead_peer(root, seconds))


async def hostility(root: Path, count: float) -> None:
    tell(await siege(root, round(count)))


CAMPAIGNS = {"weather": bad_weather, "crowd": churn, "dead": dead_peer, "hostile": hostility}


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
