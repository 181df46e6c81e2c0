"""What the hybrid-buffering state machines cost: work, messages per second, memory, longest step, bytes.

    python benchmarks/bench_hybrid.py [work | speed | rest | step | wire, all of them unless told]

Work: lines of protocol code (`aforesaid.protocols`, `aforesaid.structures`) executed per operation
by one hub that talks with N peers, under three orders of arrival of the acks. It must not grow with N: the
last column is the largest figure of the row over the smallest.
Speed: causal sends per CPU second, as a ratio to a bare loop that does two dict operations and one append per
message, measured in the same run. *The sender's half*: each send with its ack and the permits that follow.
*The full exchange*: four processes of one kind that talk through queues, each with the others in turn: send,
arrival, ack, permit, release, all of it. `Objects` is a process that makes the same objects and decides
nothing: what is left is the algorithms' own. Then messages that are said in runs, so many at once.
Rest: bytes that a process keeps of a peer after a message each way, by `tracemalloc`; names not counted.
Step: the longest single step of a hub when the last permit of 2,000 peers comes, with 20,000 messages held;
and of how many steps all of them took.
Wire: bytes of msgpack that a frame adds to its payload.
"""

import gc
import random
import sys
import tracemalloc
from collections import deque
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from aforesaid.core import MICROSECOND, MILLISECOND, MessageId
from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_frames import Ack, Continue, Msg, Permit
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.protocols.delivery.hybrid_unicast import Entry
from aforesaid.reproduce.costs import lines_of

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.recorder import Outbox

KINDS = (HybridBasic, HybridSps, HybridInOrder, HybridMulticast, HybridMulticastSps, HybridMulticastInOrder)
PEERS = (10, 50, 200, 1_000, 2_000)
ORDERS = ("fifo", "reverse", "random")
ROUNDS = 4
MESSAGES = 200_000
REPEATS = 5
RUNS = (1, 2, 3, 10, 100)
GROWTH_MAX = 1.25
STEP_PEERS = 2_000
STEP_HELD = 20_000


def main(wanted: list[str]) -> None:
    grown: list[str] = []
    if "work" in wanted:
        grown = work_table()
    if "speed" in wanted:
        speed_table()
    if "rest" in wanted:
        rest_table()
    if "step" in wanted:
        step_table()
    if "wire" in wanted:
        wire_table()
    if grown:
        sys.exit(f"work per operation grows with the number of peers: {', '.join(grown)}")


class Sink(Outbox):
    """Takes what the hub sends to one peer; the benchmark answers for the peers."""

    def send(self, targets: Any, message: Any) -> None:
        self.sent.append((targets[0], message))


class Waking(Sink):
    """Knows whether a step left something over."""

    wakes = False

    def arm(self, timer: Any, deadline: int) -> None:
        self.wakes = self.wakes or type(timer) is Continue

    def left_over(self) -> bool:
        """Whether one more step is to be taken."""
        wakes, self.wakes = self.wakes, False
        return wakes


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
    sink = Waking()
    operations = 0

    def ordered(items: list[Any]) -> list[Any]:
        if order == "reverse":
            return items[::-1]
        return chance.sample(items, len(items)) if order == "random" else items

    def run_on() -> None:
        while sink.left_over():
            hub.expire(Continue(), 0, sink)

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
                run_on()
                operations += 1
            sent = sorted((frame.number, name) for name, frame in sink.sent if type(frame) is Msg)
            sink.sent.clear()
            for number, name in ordered(sent):
                hub.receive(name, Ack(number, 0), 0, sink)
                run_on()
                operations += 1

    lines = lines_of(rounds)
    held = {gauge: count for gauge, count in hub.gauges().items() if count}
    assert not held, f"the hub is not at rest: {held}"
    return lines / operations


# --------------------------------------------------------------------------------------------------- speed


def speed_table() -> None:
    bare = best(bare_loop)
    print(f"\nThousand messages per CPU second (ratio of times to the bare loop, {1e-3 / bare:,.0f})")
    for title, run, flyings in (("sender's half", sends, (1, 100)), ("full exchange", exchanges, (1, 32))):
        print(f" {title}, {flyings[0]} or {flyings[1]} in flight")
        if run is sends:
            print(f"  {'Objects, nothing decided':34}{speeds(run, Objects, False, flyings, bare)}")
        for kind in KINDS:
            for retransmit in (False, True):
                timers = "with timers" if retransmit else "no timers"
                print(f"  {kind.__name__ + ', ' + timers:34}{speeds(run, kind, retransmit, flyings, bare)}")
    print(f" in runs of {', '.join(map(str, RUNS))}, with timers, 100 or 32 in flight")
    for kind in (HybridInOrder, HybridMulticastInOrder):
        for title, say, flying in (("sender's half", sends, 100), ("full exchange", exchanges, 32)):
            row = [best(partial(say, kind, True, flying, run)) for run in RUNS]
            figures = "".join(f"{1e-3 / seconds:9,.0f} ({seconds / bare:.1f})" for seconds in row)
            print(f"  {kind.__name__ + ', ' + title:38}{figures}")


def speeds(run: Any, kind: type, retransmit: bool, flyings: tuple[int, int], bare: float) -> str:
    found = [best(partial(run, kind, retransmit, flying)) for flying in flyings]
    return "".join(f"{1e-3 / seconds:9,.0f} ({seconds / bare:.1f})" for seconds in found)


def bare_loop() -> float:
    names = [f"peer{i}" for i in range(16)]
    table: dict[Any, int] = {}
    log: list[Any] = []
    began = process_time()
    for k in range(MESSAGES):
        table[names[k & 15]] = k
        log.append(table[names[k & 15]])
    return (process_time() - began) / MESSAGES


def sends(kind: type, retransmit: bool, flying: int, run: int = 1) -> float:
    """Messages to 16 peers in turn, a number of them in flight; each is acknowledged, and permits follow."""
    targets = [(f"peer{i}",) for i in range(16)]
    hub, sink = kind("hub", retransmit=retransmit), Quiet()
    queue: deque[tuple[str, Ack]] = deque()
    count, payloads = MESSAGES // 4 // run * run, [None] * run
    began = process_time()
    for k in range(run, count + 1, run):
        target = targets[k // run & 15]
        if run == 1:
            hub.send(target, None, k * MICROSECOND, sink)
        else:
            hub.send_run(target, payloads, k * MICROSECOND, sink)
        queue.append((target[0], Ack(k, 0)))
        if k >= flying:
            hub.receive(*queue.popleft(), k * MICROSECOND, sink)
    seconds = process_time() - began
    assert sink.permits > 0 or flying <= run
    return seconds / count


def exchanges(kind: type, retransmit: bool, flying: int, run: int = 1) -> float:
    """Four processes say something to each other in turn, so many messages at a time, until all is quiet."""
    names = [f"peer{i}" for i in range(4)]
    frames: deque[tuple[str, str, Any]] = deque()
    machines = {name: kind(name, retransmit=retransmit) for name in names}
    sinks = {name: Wire(name, frames) for name in names}
    turns = [(names[i], (names[(i + hop) % 4],)) for hop in (1, 2, 3) for i in range(4)]
    count, now, payloads = MESSAGES // 8 // run * run, 0, [None] * run
    began = process_time()
    for k in range(run, count + 1, run):
        now += MICROSECOND
        name, audience = turns[k // run % 12]
        if run == 1:
            machines[name].send(audience, None, now, sinks[name])
        else:
            machines[name].send_run(audience, payloads, now, sinks[name])
        if k % flying < run or k == count:
            while frames:
                now += MICROSECOND
                target, source, frame = frames.popleft()
                machines[target].receive(source, frame, now, sinks[target])
    seconds = process_time() - began
    assert sum(sink.heard for sink in sinks.values()) == count
    return seconds / count


class Wire(Sink):
    """Hands frames on, and counts deliveries."""

    def __init__(self, me: str, frames: Any) -> None:
        self.me, self.frames, self.heard = me, frames, 0

    def send(self, targets: Any, message: Any) -> None:
        for target in targets:
            self.frames.append((target, self.me, message))

    def deliver(self, message_id: Any, payload: Any) -> None:
        self.heard += 1

    def deliver_run(self, origin: str, incarnation: int, first: int, run: Any) -> None:
        self.heard += len(run)


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


# ---------------------------------------------------------------------------------------------------- rest


def rest_table() -> None:
    print("\nBytes that a process keeps of a peer at rest, by number of peers")
    for kind in KINDS:
        row = [bytes_at_rest(kind, peers) for peers in (1_000, 2_000)]
        print(f"  {kind.__name__:34}" + "".join(f"{size:9,.0f}" for size in row))


def bytes_at_rest(kind: type, peers: int) -> float:
    """Each peer has sent a flagged message and permitted it, and acknowledged one of the hub's."""
    names = [f"peer{i}" for i in range(peers)]
    hub, sink = kind("hub"), Quiet()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for k, name in enumerate(names, 1):
        now = k * MILLISECOND
        hub.receive(name, Msg(0, 1_000, 0, True, None), now, sink)
        hub.receive(name, Permit(1_000), now + 3 * MILLISECOND, sink)
        hub.send((name,), None, now, sink)
        hub.receive(name, Ack(k, 0), now + 2 * MILLISECOND, sink)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert not any(hub.gauges().values())
    return size / peers


# ---------------------------------------------------------------------------------------------------- step


def step_table() -> None:
    print(f"\nThe longest step when the last permit of {STEP_PEERS:,} peers sets {STEP_HELD:,} messages free")
    for kind in KINDS:
        lines, _ = longest_step(kind, lines_of)
        seconds, steps = longest_step(kind, timed)
        print(f"  {kind.__name__:34}{lines:9,.0f} lines,{1e3 * seconds:7.1f} ms, {steps:,} steps in all")


def longest_step(kind: type, measure: Any) -> tuple[float, int]:
    names = [f"peer{i}" for i in range(STEP_PEERS)]
    hub, sink = kind("hub"), Waking()
    for name in names:
        hub.receive(name, Msg(0, 1, 0, True, None), 0, sink)
    for k in range(STEP_HELD):
        hub.send((names[k % STEP_PEERS],), None, 0, sink)
    for name in names[:-1]:
        hub.receive(name, Permit(1), 0, sink)
        while sink.left_over():
            hub.expire(Continue(), 0, sink)
    gc.collect()
    gc.disable()
    figures = [measure(lambda: hub.receive(names[-1], Permit(1), 0, sink))]
    while sink.left_over():
        figures.append(measure(lambda: hub.expire(Continue(), 0, sink)))
    gc.enable()
    assert hub.gauges()["unsent"] == 0
    return max(figures), len(figures)


def timed(run: Any) -> float:
    began = process_time()
    run()
    return process_time() - began


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
    main(sys.argv[1:] or ["work", "speed", "rest", "step", "wire"])
