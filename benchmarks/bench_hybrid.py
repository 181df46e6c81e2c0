"""What the hybrid-buffering state machines cost: work per operation, messages per second, bytes on the wire.

    python benchmarks/bench_hybrid.py

Work: lines of protocol code (`aforesaid.protocols`, `aforesaid.structures`) executed per operation
by one hub that talks with N peers, under three orders of arrival of the acks. It must not grow with N: the
last column is the largest figure of the row over the smallest.
Speed: causal sends, each with its ack and the permits that follow, per CPU second; as a ratio to a bare loop
that does two dict operations and one append per message, measured in the same run. `Objects` is a process
that makes the same objects and decides nothing: what is left is the algorithms' own.
Wire: bytes of msgpack that a frame adds to its payload.
"""

import gc
import random
import sys
from collections import deque
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from aforesaid.core import MessageId
from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg, Permit
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.protocols.delivery.hybrid_unicast import Entry
from aforesaid.reproduce.costs import lines_of

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.recorder import Recorder

KINDS = (HybridBasic, HybridSps, HybridInOrder, HybridMulticast, HybridMulticastSps, HybridMulticastInOrder)
PEERS = (10, 50, 200, 1_000, 2_000)
ORDERS = ("fifo", "reverse", "random")
ROUNDS = 4
MESSAGES = 200_000
REPEATS = 5
GROWTH_MAX = 1.25


def main() -> None:
    grown = work_table()
    speed_table()
    wire_table()
    if grown:
        sys.exit(f"work per operation grows with the number of peers: {', '.join(grown)}")


class Sink(Recorder):
    """Takes what the hub sends and forgets the rest, at no cost; the benchmark answers for the peers."""

    def send(self, targets: Any, message: Any) -> None:
        self.sent.append((targets[0], message))

    def deliver(self, message_id: Any, payload: Any) -> None:
        pass

    def arm(self, timer: Any, deadline: int) -> None:
        pass

    def disarm(self, timer: Any) -> None:
        pass


# ---------------------------------------------------------------------------------------------------- work


def work_table() -> list[str]:
    print("Lines of protocol code per operation of a hub, by number of peers (max / min)")
    print(f"{'':34}" + "".join(f"{n:>9,}" for n in PEERS))
    grown = []
    for kind in KINDS:
        for order in ORDERS:
            row = [lines_per_operation(kind, n, order) for n in PEERS]
            growth = max(row) / min(row)
            name = f"{kind.__name__}, {order}"
            print(f"  {name:32}" + "".join(f"{figure:9.1f}" for figure in row) + f"   ({growth:.2f})")
            if growth > GROWTH_MAX:
                grown.append(name)
    return grown


def lines_per_operation(kind: type, peers: int, order: str) -> float:
    """Rounds: each peer sends the hub a flagged message; the hub says something to each, twice; all permits
    come in the given order, then all acks, in that order of the messages they are for."""
    chance = random.Random(peers)
    names = [f"peer{i}" for i in range(peers)]
    hub = kind("hub")
    sink = Sink()
    operations = 0

    def ordered(items: list[Any]) -> list[Any]:
        if order == "reverse":
            return items[::-1]
        return chance.sample(items, len(items)) if order == "random" else items

    def rounds() -> None:
        nonlocal operations
        for round_number in range(1, ROUNDS + 1):
            for name in names:
                hub.receive(name, Msg(0, round_number, round_number - 1, True, None), 0, sink)
                operations += 1
            for name in (*names, *names):
                hub.send((name,), None, 0, sink)
                operations += 1
            for name in ordered(names):
                hub.receive(name, Permit(round_number), 0, sink)
                operations += 1
            sent = sorted((frame.number, name) for name, frame in sink.sent if type(frame) is Msg)
            sink.sent.clear()
            for number, name in ordered(sent):
                hub.receive(name, Ack(number, 0), 0, sink)
                operations += 1

    lines = lines_of(rounds)
    held = {gauge: count for gauge, count in hub.gauges().items() if count}
    assert not held, f"the hub is not at rest: {held}"
    return lines / operations


# --------------------------------------------------------------------------------------------------- speed


def speed_table() -> None:
    bare = best(bare_loop)
    print(f"\nThousand messages per CPU second (ratio of times to the bare loop, {1e-3 / bare:,.0f})")
    print(f"  {'Objects, nothing decided':34}{speeds(Objects, False, bare)}")
    for kind in KINDS:
        for retransmit in (False, True):
            timers = "with timers" if retransmit else "no timers"
            print(f"  {kind.__name__ + ', ' + timers:34}{speeds(kind, retransmit, bare)}")


def speeds(kind: type, retransmit: bool, bare: float) -> str:
    parts = []
    for flying in (1, 100):
        seconds = best(lambda flying=flying: sends(kind, retransmit, flying))
        parts.append(f" {flying} in flight {1e-3 / seconds:9,.0f} ({seconds / bare:.1f})")
    return ",".join(parts)


def bare_loop() -> float:
    names = [f"peer{i}" for i in range(16)]
    table: dict[Any, int] = {}
    log: list[Any] = []
    began = process_time()
    for k in range(MESSAGES):
        table[names[k & 15]] = k
        log.append(table[names[k & 15]])
    return (process_time() - began) / MESSAGES


def sends(kind: type, retransmit: bool, flying: int) -> float:
    """Messages to 16 peers in turn, a number of them in flight; each is acknowledged, and permits follow."""
    targets = [(f"peer{i}",) for i in range(16)]
    hub, sink = kind("hub", retransmit=retransmit), Quiet()
    queue: deque[tuple[str, Ack]] = deque()
    count = MESSAGES // 4
    began = process_time()
    for k in range(1, count + 1):
        target = targets[k & 15]
        hub.send(target, None, 0, sink)
        queue.append((target[0], Ack(k, 0)))
        if k >= flying:
            hub.receive(*queue.popleft(), 0, sink)
    seconds = process_time() - began
    assert sink.permits > 0 or flying == 1
    return seconds / count


class Objects:
    """A process that makes an entry, an id and a frame for each message, and a permit for each ack."""

    def __init__(self, me: str, retransmit: bool) -> None:
        self.me = me
        self.u: deque[Entry] = deque()
        self.number = 0

    def send(self, targets: tuple[str, ...], payload: Any, now: int, out: Sink) -> MessageId:
        self.number = number = self.number + 1
        self.u.append(Entry(targets[0], number - 1, 1, payload))
        out.send(targets, Msg(0, number, number - 1, True, payload))
        return MessageId(self.me, 0, number)

    def receive(self, source: str, ack: Ack, now: int, out: Sink) -> None:
        self.u.popleft()
        out.send((source,), Permit(ack.number))


class Quiet(Sink):
    """Counts permits and forgets the rest."""

    permits = 0

    def send(self, targets: Any, message: Any) -> None:
        if type(message) is Permit:
            self.permits += 1


def best(run: Any) -> float:
    figures = []
    for _ in range(REPEATS):
        gc.collect()
        figures.append(run())
    return float(min(figures))


# ---------------------------------------------------------------------------------------------------- wire


def wire_table() -> None:
    print("\nBytes of msgpack per frame, besides the payload, by number of peers (largest seen)")
    for kind in (HybridSps, HybridMulticastSps):
        for frame in (Msg, Ack, Permit):
            row = [wire_bytes(kind, frame, n) for n in (10, 100, 2_000)]
            print(f"  {kind.__name__ + ', ' + frame.__name__:34}" + "".join(f"{size:6}" for size in row))


def wire_bytes(kind: type, wanted: type, peers: int) -> int:
    """Message numbers grow with time, not with peers: all worlds are looked at from message 10,000 on."""
    names = [f"peer{i}" for i in range(peers)]
    hub, sink = kind("hub"), Sink()
    for _ in range(10_000):
        hub.send(("hub",), None, 0, sink)
    for name in names:
        hub.receive(name, Msg(0, 10_000, 0, True, None), 0, sink)
        hub.receive(name, Permit(10_000), 0, sink)
    for name in (*names, *names):
        hub.send((name,), None, 0, sink)
    for k, name in enumerate((*names, *names), 10_001):
        hub.receive(name, Ack(k, 0), 0, sink)
    empty = len(msgspec.msgpack.encode(None))
    sizes = [
        len(msgspec.msgpack.encode(message)) - (empty if wanted is Msg else 0)
        for _, message in sink.sent
        if type(message) is wanted
    ]
    return max(sizes)


if __name__ == "__main__":
    main()
