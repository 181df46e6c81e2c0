"""The simulator's overhead over a bare heapq loop that pushes and pops the same number of events.

Both run in this process, one after the other, three times; the best of each counts. Tracing is on. The bare
loop keeps as many events waiting as the simulation did on average, since a heap's cost grows with its size.
"""

import time
from heapq import heappop, heappush

from aforesaid.sim import Scenario, simulate

AIM = 12.0
SCENARIOS = {
    "waiting, 8 processes": {"algorithm": "waiting", "processes": 8, "duration_ms": 8_000},
    "waiting, 8, loss 10 %": {
        "algorithm": "waiting",
        "processes": 8,
        "duration_ms": 4_000,
        "network": {"loss": 0.1, "retransmit": True},
    },
    "waiting, 32 processes": {"algorithm": "waiting", "processes": 32, "duration_ms": 500},
    "reliable, 8 processes": {"algorithm": "reliable", "processes": 8, "duration_ms": 8_000},
    "best effort, 8 processes": {"algorithm": "best_effort", "processes": 8, "duration_ms": 30_000},
}


def bare(events: int, waiting: int) -> float:
    """Seconds for a heap that holds `waiting` entries to push and pop `events` of them."""
    heap: list[tuple[int, int, None, None, None, None]] = []
    for order in range(waiting):
        heappush(heap, (order * 7919 % 1_000_003, order, None, None, None, None))
    began = time.perf_counter()
    for order in range(events):
        now, *_ = heappop(heap)
        heappush(heap, (now + order * 7919 % 1_000_003, order, None, None, None, None))
    return time.perf_counter() - began


def main() -> None:
    print(f"{'scenario':26} {'events':>9} {'deliveries':>10} {'us/event':>9} {'bare us':>8} {'ratio':>6}")
    for name, parts in SCENARIOS.items():
        scenario = Scenario.of({"workload": [{"kind": "rate", "per_second": 50}], "sample_ms": 50, **parts})
        best = bare_best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            outcome, trace = simulate(scenario)
            best = min(best, time.perf_counter() - began)
            flights = [
                v for m, v in zip(trace.samples.metric, trace.samples.value, strict=True) if m == "in_flight"
            ]
            bare_best = min(bare_best, bare(outcome.events, int(sum(flights) / len(flights))))
        each, floor = best / outcome.events * 1e6, bare_best / outcome.events * 1e6
        print(
            f"{name:26} {outcome.events:9,} {outcome.deliveries:10,} "
            f"{each:9.2f} {floor:8.2f} {each / floor:6.1f}"
        )
    print(f"aim: a ratio of at most {AIM:g} with tracing on")


if __name__ == "__main__":
    main()
