"""What the causal frontier costs: ids that a message carries, bytes, and work with and without it.

    python benchmarks/bench_frontier.py             # all, about 3 minutes
    python benchmarks/bench_frontier.py --small     # without the paper's experiment on the fleet

In the simulator processes speak at random moments. On the fleet, as in the paper's experiment, those of one
second speak all at once, and so are concurrent. Runs with and without it take turns in one process, and the
ratio is of the least CPU seconds of each.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

from aforesaid.core import MessageId
from aforesaid.fleet import Paper, simulate_fleet
from aforesaid.fleet.frontier import simulate_frontiers
from aforesaid.protocols.frontier import Placed
from aforesaid.protocols.overlay.frames import Copy, Lid
from aforesaid.sim import Scenario, simulate
from aforesaid.wire import Codec, shapes_of

DELAY_MS = 20
SEED = 4
BAR = 1.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--small", action="store_true", help="leave out the paper's experiment")
    options = parser.parse_args()
    carried_in_the_simulator()
    bytes_on_the_wire()
    work_in_the_simulator()
    on_the_fleet(options.small)


def carried_in_the_simulator() -> None:
    print(f"ids that a message of prc carries, mean (most); links of 1 to {2 * DELAY_MS} ms")
    rates = (1, 10, 100)
    print(f"{'processes':>9} " + " ".join(f"{rate:>7}/s in all" for rate in rates))
    for count in (10, 30, 100):
        cells = []
        for rate in rates:
            _, trace = simulate(
                scenario(count, rate / count, frontier=True, seconds=min(60, 300 // rate + 3))
            )
            lengths = trace.messages.after.lengths
            cells.append(f"{lengths.mean():8.2f} ({lengths.max():3})")
        print(f"{count:9} " + "  ".join(cells))
    print()


def bytes_on_the_wire() -> None:
    plain, placed = Codec(shapes_of("prc_spray")), Codec(shapes_of("prc_spray", frontier=True))
    copy = Copy(Lid("p17", "p42", 1, 7), MessageId("p3", 1, 1234), bytes(100))
    sizes = []
    for count in (0, 1, 2, 10):
        after = tuple(MessageId(f"p{number}", 1, 1000 + number) for number in range(10, 10 + count))
        sizes.append(len(placed.encode(copy._replace(body=Placed(after, bytes(100))))))
    base = len(plain.encode(copy))
    print(f"a frame with 100 bytes of payload: {base} bytes; with 0, 1, 2 and 10 ids: {sizes}\n")


def work_in_the_simulator() -> None:
    without, with_it = turns(
        lambda: simulate(scenario(100, 0.5, frontier=False, seconds=3)),
        lambda: simulate(scenario(100, 0.5, frontier=True, seconds=3)),
    )
    print(
        f"prc in the simulator, 100 processes: {without:.2f} CPU s without, {with_it:.2f} with it, "
        f"ratio {with_it / without:.2f}\n"
    )


def on_the_fleet(small: bool) -> None:
    print(f"on the fleet, seed {SEED}; bar at 1,000 processes: a ratio of {BAR}")
    print(
        f"{'processes':>9} {'delay':>8} {'rate':>6} {'ids':>6} {'most':>5} "
        f"{'CPU s':>8} {'with':>6} {'ratio':>6}"
    )
    simulate_frontiers(Paper(20, minutes=3).plan())  # Compiles.
    simulate_fleet(Paper(20, minutes=3).plan())
    cases: list[tuple[int, float | None, int]] = [(n, 100.0, 10) for n in (100, 300, 1_000)]
    cases += [(1_000, 100.0, 1), (1_000, 100.0, 50), (1_000, 2_500.0, 10)]
    for count, delay_ms, rate in cases if small else [*cases, (1_000, None, 10)]:
        span: dict[str, Any] = {"minutes": 7.0, "speak_until": 5.0} if delay_ms else {}
        plan = Paper(count, SEED, delay_ms=delay_ms, broadcasts_per_second=rate, **span).plan()
        found = simulate_frontiers(plan)[1]
        without, with_it = turns(lambda: simulate_fleet(plan), lambda: simulate_frontiers(plan))  # noqa: B023
        shown = "rising" if delay_ms is None else f"{delay_ms:g} ms"
        print(
            f"{count:9,} {shown:>8} {rate:4}/s {found.mean:6.2f} {found.largest:5} {without:8.2f} "
            f"{with_it:6.2f} {with_it / without:6.2f}",
            flush=True,
        )


def scenario(count: int, per_second: float, frontier: bool, seconds: float) -> Scenario:
    return Scenario.of(
        {
            "algorithm": "prc",
            "processes": count,
            "seed": SEED,
            "duration_ms": 1000 * seconds,
            "options": {"frontier": frontier, "degree": 4},
            "network": {"fifo": True, "delay": {"kind": "uniform", "min_ms": 1, "max_ms": 2 * DELAY_MS}},
            "workload": [{"kind": "rate", "per_second": per_second}],
        }
    )


def turns(without: Callable[[], Any], with_it: Callable[[], Any], rounds: int = 4) -> tuple[float, float]:
    """The least CPU seconds of each; they take turns."""
    spent: dict[Callable[[], Any], list[float]] = {without: [], with_it: []}
    for _ in range(rounds):
        for run, seconds in spent.items():
            began = time.process_time()
            run()
            seconds.append(time.process_time() - began)
    return min(spent[without]), min(spent[with_it])


if __name__ == "__main__":
    main()
