"""How fast `aforesaid.order` puts events in order, and what it holds meanwhile.

A million events, each after up to two of the 50 before it, come shuffled within windows of 1,000. Beside it
is a loop that only notes each id in a dict and hands the event on: what there is to do without an order.
Run: python benchmarks/bench_order.py [events]
"""

import gc
import random
import sys
import tracemalloc
from collections.abc import Callable
from time import process_time

from aforesaid.order import Order

WINDOW = 1_000
BEHIND = 50
RATE_MIN = 300_000
REPEATS = 3

Events = list[tuple[int, tuple[int, ...]]]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    events = shuffled(count)
    gc.freeze()
    assert in_causal_order(ordered(events, None), events)
    plain = best(lambda: noted(events))
    print(f"{count:,} events, shuffled within windows of {WINDOW:,}:")
    print(f"  noted and handed on as they come      {count / plain:11,.0f} events/s")
    for name, patience_s in (("for ever", None), ("with patience", 60.0)):
        taken = best(lambda patience_s=patience_s: ordered(events, patience_s))  # type: ignore[misc]
        verdict = "met" if count / taken >= RATE_MIN else "MISSED"
        print(
            f"  in causal order, waiting {name:13} {count / taken:11,.0f} events/s ({verdict}: {RATE_MIN:,})"
        )
    for share in (10, 1):
        print(f"  held after {count // share:11,} events: {held(events[: count // share]):,} bytes at most")


def shuffled(count: int) -> Events:
    chance = random.Random(1)
    events: Events = []
    for number in range(count):
        names = {number - 1 - chance.randrange(BEHIND) for _ in range(chance.randrange(3))}
        events.append((number, tuple(name for name in names if name >= 0)))
    for start in range(0, count, WINDOW):
        window = events[start : start + WINDOW]
        chance.shuffle(window)
        events[start : start + WINDOW] = window
    return events


def noted(events: Events) -> list[int]:
    seen: dict[int, None] = {}
    handed = []
    for id, _ in events:
        seen[id] = None
        handed.append(id)
    return handed


def ordered(events: Events, patience_s: float | None) -> list[int]:
    order: Order[int] = Order(patience_s=patience_s, remember=2 * WINDOW)
    handed: list[int] = []
    for id, follows in events:
        for each in order.put(id, follows):
            handed.append(each.event)
    return handed


def in_causal_order(handed: list[int], events: Events) -> bool:
    place = {id: at for at, id in enumerate(handed)}
    return len(place) == len(handed) == len(events) and all(
        place[earlier] < place[id] for id, follows in events for earlier in follows
    )


def held(events: Events) -> int:
    order: Order[int] = Order(remember=2 * WINDOW)
    tracemalloc.start()
    for id, follows in events:
        order.put(id, follows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def best(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        began = process_time()
        run()
        taken.append(process_time() - began)
    return min(taken)


if __name__ == "__main__":
    main()
