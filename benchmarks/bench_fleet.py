"""The fleet against its bars: CPU seconds of one core, peak memory, and Figure 5's plateaus over many seeds.

    python benchmarks/bench_fleet.py             # all, about 4 minutes
    python benchmarks/bench_fleet.py --small     # without 10,000 processes
    python benchmarks/bench_fleet.py --churn 100000     # only ten minutes of churn among so many
    python benchmarks/bench_fleet.py --against ../other/src    # only this code and another, in turn

Each run has a process of its own, so that its peak memory is its own; compiling is not counted. `static` is
the limit: a flood with masks, wire rows and FIFO of the same layout, in the same process, on as many
processes with as many links each, where nothing else happens; of five, the best counts. How many links
processes get varies with the seed, and space and traffic with them.
"""

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from aforesaid.fleet import Overlay, Paper, authors_experiment, flood, random_overlay, simulate_fleet

SEED = 4
CPU_BARS = {100: 1.0, 1_000: 5.0, 10_000: 30.0}
MEMORY_BAR_MB = 1_000
MILLION, DEGREE = 1_000_000, 20
SEEDS = {100: range(1, 13), 1_000: range(1, 13)}
PLATEAUS = {100: "paper: 346, 0.35", 1_000: "paper: 485, 0.57"}
START = (
    "import time; began = time.perf_counter();"
    "from aforesaid.fleet import Paper, simulate_fleet;"
    "simulate_fleet(Paper(20, minutes=0.1).plan());"
    "print(time.perf_counter() - began)"
)
AGAINST = (
    "import sys; from msgspec.structs import replace;"
    "from aforesaid.fleet import authors_experiment, simulate_fleet;"
    "parts = dict(minutes=12.0, speak_from=2.0, speak_until=10.0, delay_ms=float(sys.argv[2]));"
    "outcome = simulate_fleet(replace(authors_experiment(int(sys.argv[1]), 4), **parts).plan());"
    "print(outcome.cpu_seconds, outcome.receipts, outcome.series.space.sum())"
)
"""Twelve minutes with one delay; what it prints beside the time is the same for code that does the same."""
ROUNDS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--small", action="store_true", help="leave out 10,000 processes")
    parser.add_argument("--churn", type=int, metavar="N", help="only churn: 1 %% of N a minute, ten minutes")
    parser.add_argument("--against", metavar="SRC", help="only this code and the one there, in turn")
    options = parser.parse_args()
    if options.against:
        against(options.against)
        return
    if options.churn:
        churn(options.churn)
        return
    starts()
    experiments([count for count in CPU_BARS if not options.small or count < 10_000])
    million()
    plateaus()


def starts() -> None:
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = start(cache), start(cache)
    print(
        f"a process has simulated after {cold:.1f} s when it compiles, {warm:.2f} s from then on (bar: 2 s)\n"
    )


def start(cache: str) -> float:
    """Seconds until a fresh process has run a tiny fleet."""
    done = subprocess.run(
        [sys.executable, "-c", START],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def experiments(sizes: Sequence[int]) -> None:
    print(f"the paper's experiment, seed {SEED}")
    print(
        f"{'processes':>9} {'links':>6} {'receipts':>14} {'CPU s':>7} {'bar':>5} {'MB':>5} {'bar':>6} "
        f"{'ns/receipt':>11} {'static':>7} {'ratio':>6}"
    )
    for count in sizes:
        links, receipts, spent, static, memory = alone(experiment, count)
        each = spent * 1e9 / receipts
        print(
            f"{count:9,} {links:6.1f} {receipts:14,} {spent:7.2f} {CPU_BARS[count]:5.0f} {memory:5.0f} "
            f"{MEMORY_BAR_MB:6,} {each:11.2f} {static:7.2f} {each / static:6.1f}",
            flush=True,
        )
    print("aim: a ratio of 3\n")


def experiment(count: int) -> tuple[float, int, float, float, float]:
    outcome = simulate_fleet(Paper(count, SEED).plan())
    memory = memory_mb()
    links = float(outcome.series.links[2520:3000].mean())
    return links, outcome.receipts, outcome.cpu_seconds, limit(count, round(links)), memory


def limit(count: int, degree: int) -> float:
    """Nanoseconds per receipt of a static flood."""
    overlay = random_overlay(count, degree, 1)
    said = np.array([[second * 10**9, second % count] for second in range(max(2, 200_000 // count))])
    return min(flood_seconds(overlay, said) for _ in range(5)) * 1e9 / (count * degree * len(said))


def churn(count: int) -> None:
    crashed, receipts, spent, memory = alone(churning, count)
    print(
        f"{count:,} processes, ten minutes, 1 % crash each minute and as many enter: {crashed:,} crashes, "
        f"{receipts:,} receipts, {spent:.1f} s of CPU, {memory:.0f} MB (bar for 100,000: 600 s, 16,000 MB)"
    )


def churning(count: int) -> tuple[int, int, float, float]:
    parts: dict[str, Any] = {"minutes": 10.0, "speak_from": 2.0, "speak_until": 9.0, "delay_ms": 1.0}
    paper = replace(authors_experiment(count, SEED), crashes_per_minute=1.0, **parts)
    outcome = simulate_fleet(paper.plan(), tell_progress)
    return outcome.plan.crashes, outcome.receipts, outcome.cpu_seconds, memory_mb()


def tell_progress(moment: int, receipts: int, deliveries: int) -> None:
    """On standard error, every half minute of simulated time."""
    if moment % (30 * 10**9) == 0:
        sys.stderr.write(
            f"minute {moment / 60e9:.1f}: {receipts:,} receipts, {deliveries:,} deliveries, "
            f"{time.process_time():.0f} s of CPU so far, {memory_mb():.0f} MB\n"
        )


def against(other: str) -> None:
    """CPU seconds of both, in turn: on a busy machine only the ratio says something."""
    here = str(Path(__file__).parents[1] / "src")
    for count, delay_ms in ((1_000, 1), (1_000, 2_501), (10_000, 1), (10_000, 2_501)):
        for _ in range(ROUNDS):
            (ours, *done), (theirs, *also) = (short(source, count, delay_ms) for source in (here, other))
            same = "the same run" if done == also else "ANOTHER RUN"
            print(
                f"{count:6,} processes, {delay_ms} ms: {ours:.2f} s, {ours * 1e9 / done[0]:.1f} ns each; "
                f"there {theirs:.2f} s, {theirs * 1e9 / also[0]:.1f}; {same}",
                flush=True,
            )


def short(source: str, count: int, delay_ms: int) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", AGAINST, str(count), str(delay_ms)],
        env={**os.environ, "PYTHONPATH": source},
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(word) for word in done.stdout.split()]


def million() -> None:
    built, spent, memory = alone(flood_of_a_million)
    print(
        f"{MILLION:,} processes of degree {DEGREE}: overlay {built:.1f} s (bar: 30), a broadcast "
        f"{spent:.2f} s (bar: 0.3; the best of 5), {memory:.0f} MB (bar: {MEMORY_BAR_MB:,})\n"
    )


def flood_of_a_million() -> tuple[float, float, float]:
    random_overlay(3, 1, 1)  # Compiles.
    began = time.process_time()
    overlay = random_overlay(MILLION, DEGREE, 1)
    built = time.process_time() - began
    return built, min(flood_seconds(overlay, np.array([[0, 7]])) for _ in range(5)), memory_mb()


def flood_seconds(overlay: Overlay, said: Any) -> float:
    began = time.process_time()
    outcome = flood(overlay, said, 10**6)
    assert outcome.deliveries == len(said) * len(overlay.wires)
    return time.process_time() - began


def plateaus() -> None:
    print("at 2.5 s of delay: mean (least to most) over seeds")
    for count, seeds in SEEDS.items():
        columns = zip(*(alone(plateau, count, seed) for seed in seeds), strict=True)
        links, expected, buffered, space, control = (np.array(column) for column in columns)
        print(
            f"{count:,} processes, seeds {seeds.start} to {seeds.stop - 1}: links {spread(links, 1)}, "
            f"entries {spread(space, 0)}, of these expected {expected.mean():.0f} and in buffers "
            f"{buffered.mean():.0f}; control/s {spread(control, 2)}   ({PLATEAUS[count]})",
            flush=True,
        )


def plateau(count: int, seed: int) -> tuple[float, ...]:
    series = simulate_fleet(Paper(count, seed).plan()).series
    late = slice(2520, 3000)
    columns = (series.links, series.expected, series.buffered, series.space, series.control_all)
    return tuple(float(column[late].mean()) for column in columns)


def spread(values: Any, digits: int) -> str:
    return f"{values.mean():.{digits}f} ({values.min():.{digits}f} to {values.max():.{digits}f})"


def alone(measure: Callable[..., Any], *arguments: Any) -> Any:
    """Call it in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
