"""Figure 5 of the PRC-broadcast paper, point by point: means over seeds, and how far the paper is from them.

    python benchmarks/bench_figure5.py                    # 100 and 1,000 processes, 12 seeds: 2 minutes
    python benchmarks/bench_figure5.py --processes 10000 --seeds 3
    python benchmarks/bench_figure5.py --processes 10000 --seeds 3 --plateau    # a tenth of the work
    python benchmarks/bench_figure5.py --options          # which option of the experiment moves which curve

The points were read off the vector graphics of figure 5, which shows single runs. Space is what a process
holds, expected messages and handshake buffers; control is what it sends per second. A point at a minute is
the mean over the half minute around it. "Farther off" counts those of our own runs that are at least as far
from our mean as the paper's one run is. Runs are spread over the cores. With --plateau the delay is 2.5 s
from the first broadcast on, in minute 3, until minute 9: only the two plateaus at that delay are told.
"""

import argparse
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from msgspec.structs import replace

from aforesaid.fleet import Paper, Series, authors_experiment, simulate_fleet

POINTS: dict[str, tuple[float, float, dict[int, float]]] = {
    "space, minute 18": (17.75, 18.25, {100: 31.4, 1_000: 41.0}),
    "space, minute 20": (19.75, 20.25, {100: 60.5, 1_000: 78.8}),
    "space, minute 25": (24.75, 25.25, {100: 118, 1_000: 168}),
    "space, minute 30": (29.75, 30.25, {100: 205, 1_000: 269}),
    "space, minute 35": (34.75, 35.25, {100: 271, 1_000: 368}),
    "space, minutes 41 to 50": (41, 50, {100: 346, 1_000: 485}),
    "control, minutes 2 to 15": (2, 15, {100: 0.453, 1_000: 0.735}),
    "control, minutes 41 to 50": (41, 50, {100: 0.354, 1_000: 0.565}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--processes", type=int, nargs="+", default=[100, 1_000])
    parser.add_argument("--seeds", type=int, default=12, help="seeds 1 to this")
    parser.add_argument("--options", action="store_true", help="with each option as in our own experiment")
    parser.add_argument("--plateau", action="store_true", help="nine minutes, at 2.5 s from the third on")
    options = parser.parse_args()
    measure = plateau if options.plateau else measured
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for processes in options.processes:
            for name, paper in variants(processes, options.options).items():
                papers = [replace(paper, seed=seed) for seed in range(1, options.seeds + 1)]
                tell(processes, name, np.array(list(pool.map(measure, papers))))


def variants(processes: int, options: bool) -> dict[str, Paper]:
    authors = authors_experiment(processes)
    found = {"as the authors' code runs it": authors}
    if options:
        found |= {
            "but joins one by one, spread over 100 s": replace(
                authors, joins_per_second=processes / 100, joins_at_once=1
            ),
            "but joins ten at a time, 100 a second": replace(
                authors, joins_per_second=100.0, joins_at_once=10
            ),
            "but the oldest neighbour as partner": replace(authors, partner="oldest"),
            "but routes are given away, too": replace(authors, routes_stay=False),
            "ours": Paper(processes),
        }
    return found


def measured(paper: Paper) -> list[float]:
    """The points of one run, and its links."""
    series = simulate_fleet(paper.plan()).series
    points = [
        float(column(series, name)[between(series, begin, end)].mean())
        for name, (begin, end, _) in POINTS.items()
    ]
    return [*points, float(series.links[between(series, 41, 50)].mean())]


def plateau(paper: Paper) -> list[float]:
    """The two points at 2.5 s, and the links, from a run with that delay alone; the other points are nan."""
    short = replace(paper, delay_ms=2_501.0, minutes=9.0, speak_from=3.0, speak_until=9.0)
    series = simulate_fleet(short.plan()).series
    late = between(series, 6, 9)
    points = [
        float(column(series, name)[late].mean()) if begin == 41 else float("nan")
        for name, (begin, _, _) in POINTS.items()
    ]
    return [*points, float(series.links[late].mean())]


def column(series: Series, name: str) -> Any:
    """What the paper counts: all but Spare, which is ours."""
    return series.space if name.startswith("space") else series.control_all - series.control["Spare"]


def between(series: Series, begin: float, end: float) -> Any:
    return (series.time_s > begin * 60) & (series.time_s < end * 60)


def tell(processes: int, name: str, rows: Any) -> None:
    means, deviations = rows.mean(0), rows.std(0, ddof=1) if len(rows) > 1 else 0 * rows[0]
    print(f"{processes:,} processes, {len(rows)} seeds, {name}; links {means[-1]:.2f}")
    points = zip(POINTS.items(), rows.T, means, deviations, strict=False)
    for (point, (_, _, published)), runs, mean, deviation in points:
        if np.isnan(mean):
            continue
        paper, beside = published.get(processes), ""
        if paper:
            farther = int((abs(runs - mean) >= abs(paper - mean)).sum())
            beside = f"paper {paper:8.3f}  {100 * (mean / paper - 1):+6.1f} %  {farther} runs farther off"
        print(f"  {point:27} {mean:8.3f} ± {deviation:7.3f}  {beside}", flush=True)


if __name__ == "__main__":
    main()
