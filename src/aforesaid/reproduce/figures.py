"""What is reproduced on the fleet: figure 5, churn, the crossover, the flood.

Each figure writes its pictures and series, and returns the rows that sum it up.
"""

import csv
import resource
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aforesaid.fleet import Outcome, Paper, Series, delay_at, flood, random_overlay, simulate_fleet
from aforesaid.reproduce.drawing import Curve, draw_against, draw_over_time
from aforesaid.reproduce.telling import Rows, Telling

SIZES = (100, 1_000, 10_000)
CHURN_RATES = (0.0, 1.0, 5.0)
CROSSOVER_SIZES = (100, 1_000)
CROSSOVER_DELAYS_MS = (10.0, 30.0, 100.0, 300.0, 1_000.0, 2_500.0)
CROSSOVER_RATES = (10, 100)
FLOOD_SIZE, FLOOD_DEGREE = 1_000_000, 20

Floats = npt.NDArray[np.float64]


def figure_5a(processes: list[int], seed: int, out: Path, telling: Telling) -> Rows:
    """Local space over time, beside the vectors that would do the same."""
    outcomes = _figure_5(processes, seed, out, telling)
    curves = [
        Curve(f"{count:,} processes", outcome.series.time_s, outcome.series.space, count)
        for count, outcome in outcomes.items()
    ]
    _draw_space(curves, next(iter(outcomes.values())), out / "fig5a")
    return [
        {
            "processes": count,
            **_run_facts(outcome),
            **_space_facts(outcome.series),
            "held at the end": outcome.held,
        }
        for count, outcome in outcomes.items()
    ]


def figure_5b(processes: list[int], seed: int, out: Path, telling: Telling) -> Rows:
    """Control messages over time."""
    outcomes = _figure_5(processes, seed, out, telling)
    curves = [
        Curve(f"{count:,} processes", outcome.series.time_s, outcome.series.control_all)
        for count, outcome in outcomes.items()
    ]
    _draw_control(curves, next(iter(outcomes.values())), out / "fig5b")
    return [
        {"processes": count, **_run_facts(outcome), **_control_facts(outcome.series)}
        for count, outcome in outcomes.items()
    ]


def _figure_5(processes: list[int], seed: int, out: Path, telling: Telling) -> dict[int, Outcome]:
    outcomes = {count: _run(Paper(count, seed), telling) for count in processes or SIZES}
    for count, outcome in outcomes.items():
        _write_series(out / f"fig5-{count}.csv", outcome)
    return outcomes


def churn(processes: list[int], seed: int, out: Path, telling: Telling) -> Rows:
    """Figure 5's axes while processes crash and others take their place."""
    rows: Rows = []
    for count in processes or [1_000]:
        outcomes = {rate: _run(Paper(count, seed, crashes_per_minute=rate), telling) for rate in CHURN_RATES}
        space, control = [], []
        for rate, outcome in outcomes.items():
            series, label = outcome.series, f"{rate:g} % of {count:,} crash per minute"
            space.append(Curve(label, series.time_s, series.space))
            control.append(Curve(label, series.time_s, series.control_all))
            _write_series(out / f"churn-{count}-{rate:g}.csv", outcome)
            rows.append(
                {
                    "processes": count,
                    "crashes": f"{rate:g} % per minute",
                    "crashed": outcome.plan.crashes,
                    "began again": outcome.evicted,
                    **_run_facts(outcome),
                    **_space_facts(series),
                    **_control_facts(series),
                    "flooded, of these": round(float(series.control["Flood"][_late(series)].mean()), 3),
                    "held at the end": outcome.held,
                }
            )
        _draw_space(space, outcomes[0.0], out / f"churn-space-{count}")
        _draw_control(control, outcomes[0.0], out / f"churn-control-{count}", log=True)
    return rows


def crossover(processes: list[int], seed: int, out: Path, telling: Telling) -> Rows:
    """Where a vector with an entry for each process becomes smaller than link memory."""
    rows: Rows = []
    curves = []
    delays = np.array(CROSSOVER_DELAYS_MS)
    for rate in CROSSOVER_RATES:
        for count in processes or CROSSOVER_SIZES:
            space = [_plateau(count, seed, rate, delay_ms, telling) for delay_ms in CROSSOVER_DELAYS_MS]
            label = f"{count:,} processes, {rate} broadcasts/s"
            vector = count if rate == CROSSOVER_RATES[0] else None
            curves.append(Curve(label, delays, np.array(space), vector))
            at = {f"entries at {delay:g} ms": held for delay, held in zip(delays, space, strict=True)}
            crossing = _crossing(delays, space, count)
            rows.append({"processes": count, "broadcasts/s": rate, **at, "a vector is smaller": crossing})
    title = "Local space of PRC-broadcast against the delay of links"
    draw_against(curves, title, "delay (ms)", "entries per process", out / "crossover")
    return rows


def _plateau(count: int, seed: int, rate: int, delay_ms: float, telling: Telling) -> float:
    """Space per process under one delay, averaged over the last two of five minutes of talking."""
    speak_from = max(3.0, 1.0 + count / 600)
    paper = Paper(
        count,
        seed,
        minutes=speak_from + 6,
        speak_from=speak_from,
        speak_until=speak_from + 5,
        broadcasts_per_second=rate,
        delay_ms=delay_ms,
    )
    series = _run(paper, telling).series
    chosen = (series.time_s > (speak_from + 3) * 60) & (series.time_s < (speak_from + 5) * 60)
    return round(float(series.space[chosen].mean()), 1)


def _crossing(delays_ms: Floats, space: list[float], entries: int) -> str:
    """The delay from which on a vector of so many entries is smaller, by interpolation."""
    if space[0] > entries:
        return f"below {delays_ms[0]:g} ms"
    if space[-1] < entries:
        return f"above {delays_ms[-1]:g} ms"
    crossing = np.exp(np.interp(np.log(entries), np.log(space), np.log(delays_ms)))
    return f"from {float(crossing):.0f} ms"


def flood_of_many(processes: list[int], seed: int, out: Path, telling: Telling) -> Rows:
    """One broadcast on a static overlay: its time and memory."""
    rows: Rows = []
    for count in processes or [FLOOD_SIZE]:
        random_overlay(3, 1, seed)  # Compiles.
        began = time.process_time()
        with telling(f"an overlay of {count:,} processes", None):
            overlay = random_overlay(count, min(FLOOD_DEGREE, count // 3), seed)
        built = time.process_time() - began
        flood(overlay, np.array([[0, 0]]), 1)
        began = time.process_time()
        outcome = flood(overlay, np.array([[0, seed % count]]), 1)
        spent = time.process_time() - began
        rows.append(
            {
                "processes": count,
                "degree": int(overlay.wires[0, 0]),
                "overlay built (CPU s)": round(built, 2),
                "one broadcast (CPU s)": round(spent, 3),
                "deliveries": outcome.deliveries,
                "receipts": outcome.receipts,
                "ns per receipt": round(spent * 1e9 / outcome.receipts, 1),
                "hops": outcome.ended,
                "entries held at most, per process": round(outcome.peak / count, 2),
                "peak memory (MB)": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
            }
        )
    return rows


FIGURES: dict[str, Callable[[list[int], int, Path, Telling], Rows]] = {
    "fig5a": figure_5a,
    "fig5b": figure_5b,
    "churn": churn,
    "crossover": crossover,
    "flood": flood_of_many,
}


@cache
def _run(paper: Paper, telling: Telling) -> Outcome:
    """Run once: figures 5a and 5b come from the same runs."""
    what = f"{paper.processes:,} processes, {paper.broadcasts_per_second} broadcasts/s"
    if paper.delay_ms is not None:
        what += f", {paper.delay_ms:g} ms"
    if paper.crashes_per_minute:
        what += f", {paper.crashes_per_minute:g} % crash per minute"
    plan = paper.plan()
    with telling(what, plan.until) as move:
        move(note="compiling, the first time for half a minute")

        def tell(now: int, receipts: int, deliveries: int) -> None:
            move(completed=now, note=f"{receipts / 1e6:,.0f} M receipts")

        return simulate_fleet(plan, tell)


def _draw_space(curves: list[Curve], first: Outcome, out: Path) -> None:
    draw_over_time(
        curves, _delay(first), "Local space of PRC-broadcast", "entries per process", out, log=True
    )


def _draw_control(curves: list[Curve], first: Outcome, out: Path, log: bool = False) -> None:
    what = "control messages per process and second"
    draw_over_time(curves, _delay(first), "Traffic of PRC-broadcast", what, out, log)


def _delay(outcome: Outcome) -> Curve:
    times = outcome.series.time_s
    return Curve("delay", times, delay_at(outcome.plan, times))


def _run_facts(outcome: Outcome) -> dict[str, Any]:
    return {
        "seed": outcome.plan.seed,
        "broadcasts": outcome.broadcasts,
        "deliveries": outcome.deliveries,
        "receipts": outcome.receipts,
        "CPU s": round(outcome.cpu_seconds, 2),
        "ns per receipt": round(outcome.cpu_seconds * 1e9 / max(1, outcome.receipts), 2),
        "MB of tables": round(outcome.bytes / 1e6),
        "links per process": round(float(outcome.series.links[_late(outcome.series)].mean()), 2),
    }


def _space_facts(series: Series) -> dict[str, float]:
    late = _late(series)
    return {
        "entries at 2.5 s delay": round(float(series.space[late].mean()), 1),
        "expected, of these": round(float(series.expected[late].mean()), 1),
        "in buffers, of these": round(float(series.buffered[late].mean()), 1),
    }


def _control_facts(series: Series) -> dict[str, float]:
    early = (series.time_s > 10 * 60) & (series.time_s < 15 * 60)
    return {
        "control/s at 1 ms delay": round(float(series.control_all[early].mean()), 3),
        "control/s at 2.5 s delay": round(float(series.control_all[_late(series)].mean()), 3),
    }


def _late(series: Series) -> npt.NDArray[np.bool_]:
    """The last minutes at the longest delay, before processes fall silent."""
    return np.asarray((series.time_s > 42 * 60) & (series.time_s < 50 * 60))


def _write_series(path: Path, outcome: Outcome) -> None:
    series = outcome.series
    columns = {
        "time_s": series.time_s,
        "delay_s": delay_at(outcome.plan, series.time_s),
        **{name: getattr(series, name) for name in ("inside", "expected", "buffered", "links", "arcs")},
        **{f"control_{kind}": values for kind, values in series.control.items()},
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([f"{value:.6g}" for value in row])
