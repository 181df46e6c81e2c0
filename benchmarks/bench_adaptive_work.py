"""What adaptive hybrid buffering costs: lines of protocol code per operation, and messages per second.

    python benchmarks/bench_adaptive_work.py

Work: a hub with B = 8 talks with N peers, or with 10 while it knows K constraints that do not hold. The last
column is the largest figure of the row over the smallest: it must not grow.
Speed: the full exchange between two processes (say, arrive, acknowledge, tell), and between a hub and 16
that answer it, per CPU second, beside SPS in order in the same run.
"""

import gc
import random
import sys
from collections import deque
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Holds, Name, Told
from aforesaid.protocols.delivery.hybrid_frames import Ack
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.reproduce.costs import lines_of

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.recorder import Outbox, Recorder

PEERS = (10, 50, 200, 1_000, 2_000)
KNOWN = (10, 100, 1_000)
ORDERS = ("fifo", "reverse", "random")
ROUNDS = 3
MESSAGES = 20_000
REPEATS = 5
GROWTH_MAX = 1.25
SPEED_MIN = 0.5
BOUND = 8


def main() -> None:
    print(f"Lines of protocol code per operation of a hub, B = {BOUND} (max / min)")
    grown = [*row_by_peers(), *row_by_known()]
    speed_table()
    if grown:
        sys.exit("; ".join(grown))


def row_by_peers() -> list[str]:
    print(f"{'by peers':26}" + "".join(f"{n:>9,}" for n in PEERS))
    return [missed for order in ORDERS for missed in told(order, [by_peers(n, order) for n in PEERS])]


def row_by_known() -> list[str]:
    print(f"{'by constraints known':26}" + "".join(f"{k:>9,}" for k in KNOWN))
    rows = {
        "of pairs of their own": [by_known(k, "apart") for k in KNOWN],
        "that the peer told": [by_known(k, "told by it") for k in KNOWN],
        "by the peer": [by_known(k, "by it") for k in KNOWN],
        "on the peer": [by_known(k, "on it") for k in KNOWN],
    }
    return [missed for title, row in rows.items() for missed in told(title, row)]


def told(title: str, row: list[float]) -> list[str]:
    growth = max(row) / min(row)
    print(f"  {title:24}" + "".join(f"{figure:9.1f}" for figure in row) + f"   ({growth:.2f})", flush=True)
    return [f"work grows, {title}: {growth:.2f}"] if growth > GROWTH_MAX else []


def by_peers(peers: int, order: str) -> float:
    """Rounds: each peer sends the hub a message that names three others' and is opaque; the hub says
    something to each, twice; all peers tell that it holds, then all acks come."""
    chance = random.Random(peers)
    names = [f"peer{i}" for i in range(peers)]
    # What is left over when a step has been long enough would wait for a timer, and there is none.
    hub, sink, operations = HybridAdaptive("hub", constraints=BOUND, batch=1 << 20), Outbox(), 0

    def ordered(items: list[Any]) -> list[Any]:
        if order == "reverse":
            return items[::-1]
        return chance.sample(items, len(items)) if order == "random" else items

    def rounds() -> None:
        nonlocal operations
        for k in range(1, ROUNDS + 1):
            for i, name in enumerate(names):
                others = [names[(i + step) % peers] for step in (3, 5, 7)]
                said = tuple(Name(other, name, k) for other in others)
                hub.receive(name, Told((), 0, k, k - 1, (), said, True, None), 0, sink)
            for name in (*names, *names):
                hub.send((name,), None, 0, sink)
            for name in ordered(names):
                hub.receive(name, Holds((), k, k), 0, sink)
            sent = sorted((frame.number, name) for name, frame in sink.sent if type(frame) is Told)
            sink.sent.clear()
            for number, name in ordered(sent):
                hub.receive(name, Ack(number, 0), 0, sink)
            operations += 6 * peers

    lines = lines_of(rounds)
    held = {gauge: count for gauge, count in hub.gauges().items() if count}
    assert not held, f"the hub is not at rest: {held}"
    return lines / operations


def by_known(known: int, how: str) -> float:
    """The hub knows so many constraints when it begins to talk with ten peers, in turn, one message under
    way with each; each peer names something of its own each time."""
    hub, sink = HybridAdaptive("hub", constraints=BOUND), Outbox()
    names = [f"peer{i}" for i in range(10)]
    peer = names[0]
    teller = peer if how == "told by it" else "teller"
    for k in range(1, known + 1):
        at, by = (peer if how == "on it" else f"x{k}"), (peer if how == "by it" else f"s{k}")
        hub.receive(teller, Told((), 0, k, k - 1, (), (Name(at, by, 9_999_999),), False, None), 0, sink)
    heard = {name: known if name == teller else 0 for name in names}

    def talk() -> None:
        for turn in range(200):
            name = peer if how != "apart" else names[turn % 10]
            previous = heard[name]
            heard[name] = number = previous + 1
            said = (Name(f"y{name}", name, number),)
            hub.receive(name, Told((), 0, number, previous, (), said, False, None), 0, sink)
            target = peer if how in ("told by it", "by it") else names[1 + turn % 9]
            number = hub.send((target,), None, 0, sink).number
            hub.receive(name, Holds((), heard[name], heard[name]), 0, sink)
            hub.receive(target, Ack(number, 0), 0, sink)

    talk()
    return lines_of(talk) / 800


# --------------------------------------------------------------------------------------------------- speed


def speed_table() -> None:
    print("Thousand messages per CPU second, whole exchanges, beside SPS in order (ratio)")
    for title, play in (
        ("two, one in flight", two),
        ("two, 100 in flight", two_flying),
        ("hub and 16", star),
    ):
        for multicast, parent in ((False, HybridInOrder), (True, HybridMulticastInOrder)):
            before, ours = best(play, parent, partial(HybridAdaptive, unicast=not multicast))
            verdict = "met" if before / ours >= SPEED_MIN else "MISSED"
            name = f"{title}, {'multicast' if multicast else 'unicast'}"
            speeds = f"{1e-3 / ours:9.0f}{1e-3 / before:9.0f}"
            print(f"  {name:32}{speeds}   ({before / ours:.2f}, {verdict}: at least {SPEED_MIN})", flush=True)


def two(kind: Any) -> float:
    return exchange(kind, 1, 1)


def two_flying(kind: Any) -> float:
    return exchange(kind, 1, 100)


def star(kind: Any) -> float:
    return exchange(kind, 16, 32)


def exchange(kind: Any, peers: int, flying: int) -> float:
    """CPU seconds per message: a hub says something to each peer in turn, each answers every other one."""
    names = [f"peer{i}" for i in range(peers)]
    machines = {name: kind(name) for name in ("hub", *names)}
    queue: deque[tuple[str, str, Any]] = deque()
    count = answers = 0
    seats = {name: Post(name, queue) for name in machines}
    began = process_time()
    for k in range(MESSAGES):
        target = names[k % peers]
        machines["hub"].send((target,), None, 0, seats["hub"])
        count += 1
        while len(queue) > flying or (queue and k == MESSAGES - 1):
            source, me, frame = queue.popleft()
            machines[me].receive(source, frame, 0, seats[me])
            if seats[me].heard and me != "hub":
                seats[me].heard = 0
                answers += 1
                if answers % 2:
                    machines[me].send(("hub",), None, 0, seats[me])
                    count += 1
    return (process_time() - began) / count


class Post(Recorder):
    """Puts what a process sends into one queue."""

    def __init__(self, me: str, queue: Any) -> None:
        super().__init__()
        self.me, self.queue, self.heard = me, queue, 0

    def send(self, targets: Any, message: Any) -> None:
        for target in targets:
            self.queue.append((self.me, target, message))

    def deliver(self, message_id: Any, payload: Any) -> None:
        self.heard += 1


def best(play: Any, *kinds: Any) -> list[float]:
    """The least of each, in turn."""
    figures: list[list[float]] = [[] for _ in kinds]
    for _ in range(REPEATS):
        for kind, seconds in zip(kinds, figures, strict=True):
            gc.collect()
            seconds.append(play(kind))
    return [min(seconds) for seconds in figures]


if __name__ == "__main__":
    main()
