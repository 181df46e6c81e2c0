"""`aforesaid reproduce`: the figures of the PRC-broadcast paper, and some that it does not have."""

import csv
import json
import resource
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from aforesaid import __version__
from aforesaid.cli import EXIT_KEPT, EXIT_VIOLATED, show
from aforesaid.core import Misuse
from aforesaid.report.fleet import Curve, draw_against, draw_over_time
from aforesaid.sim.fleet import FleetStopped, Outcome, Paper, delay_at, flood, random_overlay, simulate_fleet

FIGURES = {
    "fig5a": "local space over time, with the delay below (figure 5a)",
    "fig5b": "control messages per process and second over time (figure 5b)",
    "churn": "both, while processes crash and others take their place: 0, 1 and 5 % of them per minute",
    "crossover": "where a vector of N entries becomes smaller than link memory, at 10 and 100 broadcasts/s",
    "flood": "time and memory of one broadcast to very many processes on a static overlay",
}
SIZES = (100, 1_000, 10_000)
CHURN_RATES = (0.0, 1.0, 5.0)
CROSSOVER_DELAYS_MS = (10.0, 30.0, 100.0, 300.0, 1_000.0, 2_500.0)
CROSSOVER_RATES = (10, 100)
FLOOD_DEGREE = 20


def reproduce_figures(figures: list[str], processes: list[int], seed: int, out: Path, as_json: bool) -> int:
    unknown = [figure for figure in figures if figure not in FIGURES]
    if unknown:
        raise Misuse(f"no figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    out.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"seed": seed, "versions": _versions(), "figures": {}}
    try:
        for figure in figures:
            facts["figures"][figure] = _FIGURES[figure](figure, processes, seed, out)
    except FleetStopped as error:
        show.err.print(str(error), markup=False)
        return EXIT_VIOLATED
    (out / "reproduce.json").write_text(json.dumps(facts, indent=2) + "\n")
    if as_json:
        show.print_json(facts)
    else:
        for figure, rows in facts["figures"].items():
            for row in rows:
                show.print_facts(figure, [(name, str(value)) for name, value in row.items()])
        show.out.print(f"written to {out}", markup=False)
    return EXIT_KEPT


def _figure_5(figure: str, processes: list[int], seed: int, out: Path) -> list[dict[str, Any]]:
    outcomes = [_run(Paper(count, seed)) for count in processes or SIZES]
    curves = []
    for outcome in outcomes:
        count = outcome.plan.processes
        if figure == "fig5a":
            curves.append(Curve(f"{count:,} processes", outcome.series.time_s, outcome.series.space, count))
        else:
            curves.append(Curve(f"{count:,} processes", outcome.series.time_s, outcome.series.control_all))
        _write_csv(out / f"{figure}-{count}.csv", outcome)
    _draw(figure, outcomes[0], curves, out)
    return [_summary(outcome) for outcome in outcomes]


def _churn(figure: str, processes: list[int], seed: int, out: Path) -> list[dict[str, Any]]:
    count = (processes or [1_000])[0]
    outcomes = [_run(Paper(count, seed, crashes_per_minute=rate)) for rate in CHURN_RATES]
    for kind in ("fig5a", "fig5b"):
        curves = []
        for rate, outcome in zip(CHURN_RATES, outcomes, strict=True):
            series = outcome.series
            value = series.space if kind == "fig5a" else series.control_all
            curves.append(Curve(f"{rate:g} % of {count:,} per minute", series.time_s, value))
            _write_csv(out / f"churn-{count}-{rate:g}.csv", outcome)
        _draw(kind, outcomes[0], curves, out, f"churn-{kind}")
    return [
        {"crashes": f"{rate:g} % per minute", **_summary(outcome), "evicted": outcome.evicted}
        for rate, outcome in zip(CHURN_RATES, outcomes, strict=True)
    ]


def _crossover(figure: str, processes: list[int], seed: int, out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    curves = []
    sizes = processes or [100, 1_000]
    for rate in CROSSOVER_RATES:
        for count in sizes:
            space = []
            for delay_ms in CROSSOVER_DELAYS_MS:
                space.append(_plateau(count, seed, rate, delay_ms))
                rows.append(
                    {"processes": count, "broadcasts/s": rate, "delay ms": delay_ms, "space": space[-1]}
                )
            delays = np.array(CROSSOVER_DELAYS_MS)
            label = f"{count:,} processes, {rate} broadcasts/s"
            curves.append(
                Curve(label, delays, np.array(space), count if rate == CROSSOVER_RATES[0] else None)
            )
            rows.append(
                {"processes": count, "broadcasts/s": rate, "crossover": _crossing(delays, space, count)}
            )
    title = "Local space against delay; dashed: vectors of 100, 1,000, ... entries"
    draw_against(curves, title, "delay (ms)", "entries per process", out / "crossover")
    return rows


def _plateau(count: int, seed: int, rate: int, delay_ms: float) -> float:
    """Space per process under one delay, averaged over the last minutes of talking."""
    paper = Paper(
        count, seed, minutes=9, speak_from=3, speak_until=8, broadcasts_per_second=rate, delay_ms=delay_ms
    )
    series = _run(paper).series
    chosen = (series.time_s > 6 * 60) & (series.time_s < 8 * 60)
    return round(float(series.space[chosen].mean()), 1)


def _crossing(delays_ms: Any, space: list[float], entries: int) -> str:
    """The delay from which on a vector of so many entries is smaller, by interpolation."""
    if space[0] > entries:
        return f"below {delays_ms[0]:g} ms"
    if space[-1] < entries:
        return f"above {delays_ms[-1]:g} ms"
    return f"{float(np.interp(np.log(entries), np.log(space), delays_ms)):.0f} ms"


def _flood(figure: str, processes: list[int], seed: int, out: Path) -> list[dict[str, Any]]:
    rows = []
    for count in processes or [1_000_000]:
        began = time.process_time()
        with show.progress(f"an overlay of {count:,} processes", None):
            overlay = random_overlay(count, min(FLOOD_DEGREE, count // 2), seed)
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
                "memory of the process (MB)": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
            }
        )
    return rows


_FIGURES = {
    "fig5a": _figure_5,
    "fig5b": _figure_5,
    "churn": _churn,
    "crossover": _crossover,
    "flood": _flood,
}

_DONE: dict[Paper, Outcome] = {}
"""Runs of this command: figures 5a and 5b come from the same ones."""


def _run(paper: Paper) -> Outcome:
    if paper in _DONE:
        return _DONE[paper]
    what = f"{paper.processes:,} processes, {paper.broadcasts_per_second} broadcasts/s"
    if paper.delay_ms is not None:
        what += f", {paper.delay_ms:g} ms"
    if paper.crashes_per_minute:
        what += f", {paper.crashes_per_minute:g} % crash per minute"
    plan = paper.plan()
    with show.progress(what, plan.until) as move:
        move(note="compiling, the first time for half a minute")

        def tell(now: int, receipts: int, deliveries: int) -> None:
            move(completed=now, note=f"{receipts / 1e6:,.0f} M receipts")

        _DONE[paper] = simulate_fleet(plan, tell)
    return _DONE[paper]


def _draw(figure: str, first: Outcome, curves: list[Curve], out: Path, name: str | None = None) -> None:
    times = first.series.time_s
    delay = Curve("delay", times, delay_at(first.plan, times))
    if figure == "fig5a":
        draw_over_time(
            curves,
            delay,
            "Local space of PRC-broadcast",
            "entries per process",
            out / (name or figure),
            log=True,
        )
    else:
        what = "control messages per process and second"
        draw_over_time(curves, delay, "Traffic of PRC-broadcast", what, out / (name or figure))


def _summary(outcome: Outcome) -> dict[str, Any]:
    """The plateau of the last minutes at the longest delay, before processes fall silent."""
    series = outcome.series
    late = (series.time_s > 42 * 60) & (series.time_s < 50 * 60)
    early = (series.time_s > 10 * 60) & (series.time_s < 15 * 60)
    return {
        "processes": outcome.plan.processes,
        "seed": outcome.plan.seed,
        "broadcasts": outcome.broadcasts,
        "deliveries": outcome.deliveries,
        "receipts": outcome.receipts,
        "links per process": round(float(series.links[late].mean()), 2),
        "space at 2.5 s delay": round(float(series.space[late].mean()), 1),
        "of it expected": round(float(series.expected[late].mean()), 1),
        "control/s at 1 ms": round(float(series.control_all[early].mean()), 3),
        "control/s at 2.5 s": round(float(series.control_all[late].mean()), 3),
        "held at the end": outcome.held,
        "CPU s": round(outcome.cpu_seconds, 2),
        "ns per receipt": round(outcome.cpu_seconds * 1e9 / max(1, outcome.receipts), 2),
        "MB": round(outcome.bytes / 1e6),
    }


def _write_csv(path: Path, outcome: Outcome) -> None:
    series = outcome.series
    columns = {
        "time_s": series.time_s,
        "delay_s": delay_at(outcome.plan, series.time_s),
        "inside": series.inside,
        "expected": series.expected,
        "buffered": series.buffered,
        "links": series.links,
        "arcs": series.arcs,
        **{f"control_{kind}": values for kind, values in series.control.items()},
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([f"{value:.6g}" for value in row])


def _versions() -> dict[str, str]:
    return {"aforesaid": __version__, **{name: version(name) for name in ("numba", "numpy", "matplotlib")}}
