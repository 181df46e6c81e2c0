"""Repair: what loss, delay, reordering and partitions cost a channel, and how senders share a path.

In virtual time, with the machines that nodes run: one process says as much as its window lets it, or so many
messages a second, to another one; loss hits messages, acks and permits alike. Throughput and latency are then
facts about the algorithm, not about this machine. First, how long the node's own algorithm lets messages wait
where two play ping-pong (bench_closed_loop.py). Each line that has a bar says whether it is met; if one is
missed the exit code is 1.

    python benchmarks/bench_repair.py [algorithm, hybrid_multicast_in_order unless told]
    python benchmarks/bench_repair.py --nodes    two real nodes through a relay that loses one datagram in 100
"""

import argparse
import asyncio
import pathlib
import sys
import time

from aforesaid import Config, Node
from aforesaid.core import MILLISECOND, SECOND
from aforesaid.transport.address import Address
from aforesaid.transport.proxy import LossyRelay, Weather
from bench_closed_loop import Table, ping_pong

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))

from net.net_stage import free_addresses
from support.path import Path, World

WINDOW = 1024
DEFAULT = "hybrid_multicast_in_order"
ROOMY = 1 << 20
SHARED = ((1, 10_000, 50), (4, 10_000, 100), (8, 10_000, 50), (4, 10_000, 400), (16, 2_000, 20))
"""How many speakers, how many messages a second pass, how many wait."""

missed: list[str] = []


def tell(line: str, met: bool | None = None) -> None:
    bar = "" if met is None else "   met" if met else "   MISSED"
    sys.stdout.write(f"{line}{bar}\n")
    sys.stdout.flush()
    if met is False:
        missed.append(line)


def waits(seconds: int = 60) -> None:
    tell(f"ping-pong with side messages, one way 10 ms, {seconds} s: the longest wait in r, by sixths of it")
    for name in (DEFAULT, "hybrid_sps"):
        longest = Table(name, ping_pong(), (10 * MILLISECOND,), seconds).run().longest
        line = f"  {name}: " + ", ".join(f"{wait:,.1f}" for wait in longest)
        if name == DEFAULT:
            tell(f"{line}, bar 2 and no growth", longest[0] == max(longest) <= 2)
        else:
            tell(line)


def flood(name: str, path: Path, round_trips: int = 200) -> tuple[float, float]:
    """Messages per second, and how often each was sent; the window is always full."""
    world = World(name, path, window=WINDOW)
    world.full = True
    seconds = round_trips * (2 * path.delay + path.jitter) / SECOND
    world.speak("s0")
    world.run(round(seconds * SECOND))
    heard = world.heard["h0"]
    world.full = False
    world.run()
    return heard / seconds, world.sent / world.heard["h0"]


def throughput(name: str) -> None:
    bars = {0.001: 300_000, 0.01: 40_000, 0.05: 8_000}
    tell(f"window {WINDOW}, one way 1 ms")
    for loss in (0.0, 0.001, 0.01, 0.02, 0.05, 0.1):
        speed, times = flood(name, Path(MILLISECOND, loss), 500)
        bar = bars.get(loss)
        line = f"  loss {loss:5.1%}: {speed:9,.0f} messages/s, each sent {times:.3f} times"
        tell(line + (f", bar {bar:,}" if bar else ""), speed >= bar if bar else None)
    tell("by round trip, messages/s and how often each was sent")
    for loss in (0.0, 0.001, 0.01, 0.05, 0.1):
        found = []
        for delay in (MILLISECOND // 10, MILLISECOND, 10 * MILLISECOND, 100 * MILLISECOND):
            found.append((2 * delay / MILLISECOND, *flood(name, Path(delay, loss), 100)))
        row = "; ".join(f"{trip:g} ms {speed:,.0f}/s, {times:.3f}" for trip, speed, times in found)
        tell(f"  loss {loss:5.1%}: {row}", None if loss else all(times <= 1.03 for *_, times in found))
    tell("reordering alone")
    for delay, jitter in ((MILLISECOND, MILLISECOND), (MILLISECOND // 10, 10 * MILLISECOND)):
        speed, times = flood(name, Path(delay, jitter=jitter))
        line = f"  {delay / MILLISECOND:g} to {(delay + jitter) / MILLISECOND:g} ms: {speed:,.0f}/s"
        tell(f"{line}, each sent {times:.3f} times, bar 1.1", times <= 1.1)


def latency(name: str, seconds: int = 10) -> None:
    tell("10,000 messages a second, one way 10 ms")
    for loss in (0.0, 0.01, 0.05):
        world = World(name, Path(10 * MILLISECOND, loss), window=ROOMY)
        world.say_every(SECOND // 10_000, "s0", seconds * SECOND)
        took = world.run().latencies
        mean, longest = sum(took) / len(took) / MILLISECOND, max(took) / MILLISECOND
        bar = loss == 0.01
        line = f"  loss {loss:.0%}: mean {mean:.1f} ms, longest {longest:.1f} ms"
        tell(line + (", bars 40 and 250" if bar else ""), mean < 40 and longest < 250 if bar else None)
    for loss in (0.0, 0.01):
        for length in (0.3, 1.0, 3.0, 10.0):
            end = round((1 + length) * SECOND)
            world = World(name, Path(10 * MILLISECOND, loss, cut=(SECOND, end)), window=ROOMY)
            world.say_every(SECOND // 10_000, "s0", end)
            world.run()
            late = max(0, world.now - end) / SECOND
            bar = length == 3.0 and not loss
            line = (
                f"  cut for {length:g} s, loss {loss:.0%}: all has come, and is known to, {late:.2f} s later"
            )
            tell(line + (", bar 1 s" if bar else ""), late < 1 if bar else None)


def sharing(name: str) -> None:
    tell("several speakers, one path of so many messages a second; 5 s to settle, 10 s measured")
    for pairs, rate, room in SHARED:
        world = World(
            name, Path(10 * MILLISECOND, jitter=MILLISECOND, rate=rate, room=room), pairs, window=4 * WINDOW
        )
        world.full = True
        for pair in range(pairs):
            world.at(pair * SECOND // 4, world.speak, f"s{pair}")
        world.run(5 * SECOND)
        before, sent = dict(world.heard), world.sent
        world.run(15 * SECOND)
        got = [world.heard[f"h{pair}"] - before[f"h{pair}"] for pair in range(pairs)]
        fairness = sum(got) ** 2 / (pairs * sum(one * one for one in got))
        tell(
            f"  {pairs} on {rate:,}/s, {room} wait: {sum(got) / rate / 10:.0%} of it used, Jain's fairness "
            f"{fairness:.2f}, each sent {(world.sent - sent) / sum(got):.2f} times"
        )


async def nodes(seconds: float = 5.0) -> None:
    """Between the same two nodes, without and with loss, in turn."""
    tell("two real nodes in one process, UDP through a relay, payloads of 1,000 bytes")
    speeds: dict[float, list[float]] = {0.0: [], 0.01: []}
    for loss in (0.0, 0.01) * 2:
        speeds[loss].append(await relayed(loss, seconds))
        tell(f"  loss {loss:.0%}: {speeds[loss][-1]:,.0f} messages/s")
    ratio = max(speeds[0.01]) / max(speeds[0.0])
    tell(f"  with loss {ratio:.0%} of the throughput without, bar 50 %", ratio >= 0.5)


async def relayed(loss: float, seconds: float) -> float:
    relay = LossyRelay(Weather(loss=loss, duplication=0.0, delay_s_max=0.0, spike=0.0), seed=1)
    names = ("alice", "bob")
    where = dict(zip(names, free_addresses(2), strict=True))
    configs = []
    for me, peer in (names, names[::-1]):
        route = await relay.route(me, peer, Address.parse(where[peer]))
        configs.append(Config.of({"name": me, "listen": where[me], "peers": {peer: str(route)}}))
    heard = 0

    async def hear(node: Node) -> None:
        nonlocal heard
        async for _ in node:
            heard += 1

    async with Node(configs[0]) as alice, Node(configs[1]) as bob:
        hearing = asyncio.create_task(hear(bob))
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            await alice.send({"bob"}, bytes(1000))
        speed = heard / (time.monotonic() - began)
        hearing.cancel()
    relay.close()
    return speed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithm", nargs="?", default=DEFAULT)
    parser.add_argument("--nodes", action="store_true", help="real nodes instead of virtual time")
    given = parser.parse_args()
    if given.nodes:
        asyncio.run(nodes())
    else:
        waits()
        throughput(given.algorithm)
        latency(given.algorithm)
        sharing(given.algorithm)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
