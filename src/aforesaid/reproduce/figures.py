"""Figures of runs: figure 5 of the PRC-broadcast paper, the same under churn, the crossover, and one's own.

Each figure plans its runs, and once they are made draws them and returns the rows that sum it up.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aforesaid.core import Misuse
from aforesaid.fleet import authors_experiment
from aforesaid.reproduce import published
from aforesaid.reproduce.asking import Asked, Groups
from aforesaid.reproduce.drawing import LINES, POINTS_MAX, Axis, Curve, Mark, draw_against, draw_over_time
from aforesaid.reproduce.measured import Floats, Group, Value, delay_at, plateau, thinned
from aforesaid.reproduce.telling import Rows
from aforesaid.sim import Experiment, Paper
from aforesaid.sim.grid import axes_of
from aforesaid.sim.scenario import read_file

SIZES = (100, 1_000, 10_000)
CHURN_RATES = (0.0, 1.0, 5.0)
CROSSOVER_SIZES = (100, 1_000)
CROSSOVER_DELAYS_MS = (10.0, 30.0, 100.0, 300.0, 1_000.0, 2_500.0)
CROSSOVER_RATES = (10, 100)

FLEET = {"engine": "fleet", "traced": 0}

QUANTITIES = ("space", "expected", "buffered", "links", "vectors", "control", "flooded")

LOAD = ("minutes", "broadcasts_per_second", "speak_from", "speak_until", "crashes_per_minute")
AS_PUBLISHED = (*LOAD, "delay_ms", "delay_spread", "period_ms")

SPACE = "entries per process"
CONTROL = "control messages per process and second"
VECTORS = "vector clocks, "
PRC = "PRC-broadcast"
BROADCASTS = {"prc_spray": PRC, "preventive_spray": "preventive broadcast"}


def plan_figure_5(asked: Asked) -> Groups:
    groups: Groups = {}
    for count in asked.processes or SIZES:
        authors = json.loads(authors_experiment(count).to_json())
        groups |= asked.groups({**authors, **FLEET}, {"processes": [count]})
    return groups


def make_figure_5(asked: Asked, groups: Groups) -> Rows:
    """Local space (a) and control messages (b) over time, with the paper's points if it is its experiment."""
    measured = {f"{count:,} processes": Group(runs, asked.runs) for (count,), runs in groups.items()}
    quantities = (("space", published.SPACE), ("control", published.CONTROL))
    titles = ("Local space of PRC-broadcast", "Traffic of PRC-broadcast")
    rows: Rows = []
    for part, title, (quantity, points) in zip("ab", titles, quantities, strict=True):
        marks = {
            label: [
                Mark(point.from_minute, point.until_minute, point.values[group.experiment.processes])
                for point in points
                if group.experiment.processes in point.values and as_published(group.experiment)
            ]
            for label, group in measured.items()
        }
        draw(measured, quantity, title, asked.out / f"figure5{part}", asked, marks)
        rows += [row for group in measured.values() for row in _points(group, quantity, points)]
    write_series(measured, asked.out / "figure5-series.csv")
    return rows


def as_published(experiment: Experiment) -> bool:
    """Whether a run has the paper's load, delay and period, so that its points may be laid beside it."""
    return isinstance(experiment, Paper) and all(
        getattr(experiment, key) == getattr(Paper(2), key) for key in AS_PUBLISHED
    )


def _points(group: Group, quantity: str, points: Sequence[published.Point]) -> Rows:
    """What was measured at each of the paper's points; of another experiment, at its plateau."""
    count = group.experiment.processes
    if not as_published(group.experiment):
        return [{"processes": count, **summary(group, quantity)}]
    rows: Rows = []
    for from_minute, until_minute, values in points:
        # A minute around a moment; the delay rises so steadily that this is its mean.
        around = 0.5 if from_minute == until_minute else 0.0
        value = group.within(quantity, (from_minute - around) * 60, (until_minute + around) * 60)
        paper = values.get(count)
        rows.append(
            {
                "processes": count,
                "quantity": quantity,
                "minutes": f"{from_minute:g}" if around else f"{from_minute:g} to {until_minute:g}",
                **told(value),
                "paper": paper,
                "deviation %": None if paper is None or value is None else _percent(value.mean / paper - 1),
            }
        )
    return rows


def plan_churn(asked: Asked) -> Groups:
    axes = {"processes": asked.processes or (1_000,), "crashes_per_minute": CHURN_RATES}
    return asked.groups(FLEET, axes)


def make_churn(asked: Asked, groups: Groups) -> Rows:
    """Figure 5's axes while processes crash and others take their place."""
    rows: Rows = []
    for count in dict.fromkeys(count for count, _ in groups):
        measured = {
            f"{rate:g} % of {count:,} crash per minute": Group(runs, asked.runs)
            for (size, rate), runs in groups.items()
            if size == count
        }
        for quantity in ("space", "control"):
            title = f"{quantity.capitalize()} of PRC-broadcast under churn"
            draw(measured, quantity, title, asked.out / f"churn-{quantity}-{count}", asked, log=True)
        write_series(measured, asked.out / f"churn-{count}-series.csv")
        rows += [
            {"runs": label, **summary(group, quantity)}
            for label, group in measured.items()
            for quantity in ("space", "control", "flooded", "links")
        ]
    return rows


def plan_crossover(asked: Asked) -> Groups:
    groups: Groups = {}
    for count in asked.processes or CROSSOVER_SIZES:
        speak_from = max(3.0, 1.0 + count / 600)
        times = {"minutes": speak_from + 6, "speak_from": speak_from, "speak_until": speak_from + 5}
        axes = {
            "processes": [count],
            "broadcasts_per_second": CROSSOVER_RATES,
            "delay_ms": CROSSOVER_DELAYS_MS,
        }
        groups |= asked.groups(_with_vectors(asked, {**FLEET, **times}), axes)
    return groups


def make_crossover(asked: Asked, groups: Groups) -> Rows:
    """From which delay on do vector clocks, over the same messages, have fewer entries than link memory?"""
    rows: Rows = []
    curves, vectors = [], []
    delays = np.array(CROSSOVER_DELAYS_MS)
    for count, rate in dict.fromkeys((count, rate) for count, rate, _ in groups):
        measured = [Group(groups[count, rate, delay], asked.runs) for delay in CROSSOVER_DELAYS_MS]
        values = [_at_plateau(group, "space") for group in measured]
        vector = np.array([_at_plateau(group, "vectors").mean for group in measured])
        space = np.array([value.mean for value in values])
        halves = [value.half for value in values if value.half is not None]
        half = np.array(halves) if halves else None
        curves.append(Curve(f"{count:,} processes, {rate} broadcasts/s", delays, space, half))
        vectors.append(Curve(f"{VECTORS}{count:,} processes, {rate}/s", delays, vector))
        at = {
            f"entries at {delay:g} ms": round(value.mean, 1)
            for delay, value in zip(delays, values, strict=True)
        }
        at["entries of a vector"] = round(float(vector[-1]), 1)
        crossing = _crossing(delays, space, vector)
        rows.append({"processes": count, "broadcasts/s": rate, **at, "a vector is smaller": crossing})
    title = "Local space of PRC-broadcast against the delay of links"
    across, what = Axis("delay (ms)", log=True), Axis(SPACE, log=True)
    draw_against(curves, vectors, title, across, what, asked.out / "crossover", asked.look)
    return rows


def _with_vectors(asked: Asked, base: dict[str, Any]) -> dict[str, Any]:
    for key in ("vectors", "algorithm"):
        if key in asked.settings:
            raise Misuse(f"--set {key}: this figure measures them itself")
    return {**base, "vectors": True}


def _at_plateau(group: Group, quantity: str) -> Value:
    value = group.within(quantity, *plateau(group.experiment))
    if value is None:
        raise Misuse(f"{group.planned[0].run} ended before its processes fell silent")
    return value


def _crossing(delays_ms: Floats, space: Floats, vector: Floats) -> str:
    """The delay from which on a vector has fewer entries, by interpolation."""
    apart = np.log(np.maximum(space, 1e-9) / vector)
    if apart[0] > 0:
        return f"below {delays_ms[0]:g} ms"
    if apart[-1] < 0:
        return f"above {delays_ms[-1]:g} ms"
    return f"from {float(np.exp(np.interp(0, apart, np.log(delays_ms)))):.0f} ms"


def plan_vectors(asked: Asked) -> Groups:
    groups: Groups = {}
    for count in asked.processes or CROSSOVER_SIZES:
        authors = {**json.loads(authors_experiment(count).to_json()), **FLEET}
        measuring = {"prc_spray": _with_vectors(asked, authors), "preventive_spray": authors}
        for name, base in measuring.items():
            groups |= asked.groups(base, {"algorithm": [name], "processes": [count]})
    return groups


def make_vectors(asked: Asked, groups: Groups) -> Rows:
    """Figure 5a with preventive broadcast in the same experiment, and with vector clocks over the messages of
    PRC-broadcast's runs."""
    measured = {
        f"{BROADCASTS[name]}, {count:,} processes": Group(runs, asked.runs)
        for (name, count), runs in groups.items()
    }
    wanted = [(group, "space", label) for label, group in measured.items()]
    wanted += [
        (measured[f"{PRC}, {count:,} processes"], "vectors", f"{VECTORS}{count:,} processes")
        for name, count in groups
        if name == "prc_spray"
    ]
    curves = []
    for group, quantity, label in wanted:
        band = group.band(quantity, POINTS_MAX)
        curves.append(Curve(label, band.time_s / 60, band.mean, band.half))
    title = "Local space of three causal broadcasts"
    draw_over_time(curves, _delay_of(measured), title, Axis(SPACE), asked.out / "vectors", asked.look)
    write_series(measured, asked.out / "vectors-series.csv")
    rows = [{"runs": label, **summary(group, quantity)} for group, quantity, label in wanted]
    control = [{"runs": label, **summary(group, "control")} for label, group in measured.items()]
    return rows + control


def plan_own(asked: Asked, path: Path) -> Groups:
    """The runs of a scenario or grid file; of its seeds, those that are asked for."""
    data = read_file(path, "grid", dict)
    if "engine" not in data and not data.get("sample_ms"):
        raise Misuse(f"{path}: no sample_ms: a figure is drawn from samples")
    sweep = data.pop("sweep", {})
    for key in ("seed", "seeds", "skip_refused"):
        sweep.pop(key, None)
    axes = dict(axes_of(sweep, data))
    if asked.processes:
        axes["processes"] = list(asked.processes)
    groups = asked.groups(data, axes)
    if len(groups) > len(LINES):
        raise Misuse(f"{path}: {len(groups)} curves; at most {len(LINES)} can be told apart in a figure")
    return groups


def make_own(asked: Asked, groups: Groups, name: str) -> Rows:
    """Local space and, where there are any, control messages over time."""
    first = next(iter(groups.values()))[0]
    keys = [key.rpartition(".")[2] for key in first.axes if key != "seed"]
    measured = {}
    for place, runs in groups.items():
        varied = [f"{key} {value}" for key, value in zip(keys, place, strict=True)]
        measured[", ".join(varied) or first.scenario.label] = Group(runs, asked.runs)
    everyone = measured.values()
    quantities = [name for name in ("space", "control") if all(group.has(name) for group in everyone)]
    for quantity in quantities:
        draw(measured, quantity, f"{name}: {quantity}", asked.out / f"{name}-{quantity}", asked)
    write_series(measured, asked.out / f"{name}-series.csv")
    return [
        {"runs": label, **summary(group, quantity)}
        for label, group in measured.items()
        for quantity in quantities
    ]


def draw(
    measured: Mapping[str, Group],
    quantity: str,
    title: str,
    out: Path,
    asked: Asked,
    marks: Mapping[str, Sequence[Mark]] | None = None,
    log: bool = False,
) -> None:
    """A quantity of groups of runs over time, in minutes."""
    curves = []
    for label, group in measured.items():
        band = group.band(quantity, POINTS_MAX)
        curves.append(Curve(label, band.time_s / 60, band.mean, band.half, (marks or {}).get(label, ())))
    what = Axis(CONTROL if quantity == "control" else SPACE, log)
    draw_over_time(curves, _delay_of(measured), title, what, out, asked.look)


def _delay_of(measured: Mapping[str, Group]) -> Curve | None:
    """The delay over time, if there is one for all links of all runs."""
    time_s = max((thinned(group.time_s, POINTS_MAX) for group in measured.values()), key=len)
    delays = [delay_at(group.experiment, time_s) for group in measured.values()]
    first = delays[0]
    if first is None or not all(other is not None and np.array_equal(other, first) for other in delays):
        return None
    return Curve("delay (s)", time_s / 60, first)


def summary(group: Group, quantity: str) -> dict[str, Any]:
    """A quantity over the last sixth of the time in which processes speak."""
    from_s, until_s = plateau(group.experiment)
    return {
        "quantity": quantity,
        "minutes": f"{from_s / 60:.3g} to {until_s / 60:.3g}",
        **told(group.within(quantity, from_s, until_s) if group.has(quantity) else None),
        "at rest": group.drained,
    }


def told(value: Value | None) -> dict[str, float | None]:
    """A value as a row tells it."""
    names = {"mean": "mean", "half": "± 95 %", "least": "least", "most": "most"}
    found = {name: None if value is None else getattr(value, name) for name in names}
    return {names[name]: None if what is None else float(f"{what:.4g}") for name, what in found.items()}


def _percent(share: float) -> float:
    return round(100 * share, 1)


def write_series(measured: Mapping[str, Group], path: Path) -> None:
    """Every quantity at every sample, as a mean over seeds with half its 95 % interval."""
    quantities = [name for name in QUANTITIES if any(group.has(name) for group in measured.values())]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        heads = [head for quantity in quantities for head in (quantity, f"{quantity}_half")]
        writer.writerow(["runs", "seeds", "time_s", *heads])
        for label, group in measured.items():
            columns = [column for quantity in quantities for column in _columns(group, quantity)]
            for time_s, *values in zip(group.time_s, *columns, strict=True):
                cells = ["" if value is None else f"{value:.6g}" for value in values]
                writer.writerow([label, len(group.planned), f"{time_s:g}", *cells])


def _columns(group: Group, quantity: str) -> tuple[Sequence[Any], Sequence[Any]]:
    """A quantity's mean and half its interval at each sample; where there is none, nothing."""
    nothing = [None] * len(group.time_s)
    if not group.has(quantity):
        return nothing, nothing
    band = group.band(quantity, len(group.time_s))
    return list(band.mean), nothing if band.half is None else list(band.half)
