"""What runs came to: series of each from its trace's samples, and what several seeds say together.

A quantity of several seeds is a mean with a 95 % interval: Student's, of the seeds' values at each moment.
Seeds are independent runs, moments of one run are not, so only seeds are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aforesaid.core import Misuse
from aforesaid.sim import Experiment, Paper
from aforesaid.sim.grid import Planned
from aforesaid.sim.parts import Constant, Schedule
from aforesaid.trace.parquet import open_trace

Floats = npt.NDArray[np.float64]

T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}
T_975 |= {11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 17: 2.110, 19: 2.093, 24: 2.064, 29: 2.045}
T_975 |= {39: 2.023, 59: 2.001, 99: 1.984, 499: 1.965}
"""The 97.5 % quantile of Student's t, by degrees of freedom; between them the next smaller one's, which is
wider."""

RATES = {"control": "control_sent", "flooded": "flooded_sent"}
"""What is sent per second, by the counter that has it."""

HELD = {"expected": "expected", "buffered": "buffered", "links": "links", "vectors": "vector_entries"}
"""What a process holds besides, by the sample that has it."""


@dataclass(frozen=True)
class Band:
    """A quantity over time: the mean of some seeds, and half the width of its 95 % interval."""

    time_s: Floats
    mean: Floats
    half: Floats | None
    """None: one seed has no interval."""


@dataclass(frozen=True)
class Value:
    """A quantity within a span of time: the mean of some seeds, half its interval, the least and the most."""

    mean: float
    half: float | None
    least: float
    most: float


class Group:
    """The runs that differ in their seed only."""

    def __init__(self, planned: Sequence[Planned], root: Path) -> None:
        self.planned = planned
        traces = [open_trace(root / f"run={one.run}") for one in planned]
        self.drained = all(trace.run.ended == "drained" for trace in traces)
        self._series = [_series(trace.samples, one.run) for trace, one in zip(traces, planned, strict=True)]
        length = min(len(series["time_s"]) for series in self._series)
        self.time_s = self._series[0]["time_s"][:length]
        self._length = length

    @property
    def experiment(self) -> Experiment:
        """The first of them."""
        return self.planned[0].scenario

    def has(self, quantity: str) -> bool:
        return all(quantity in series for series in self._series)

    def band(self, quantity: str, points: int) -> Band:
        """A quantity over time, at so many moments at most: means of neighbouring ones, of each seed."""
        thin = [thinned(row, points) for row in self._rows(quantity)]
        return Band(thinned(self.time_s, points), *mean_and_half(np.array(thin)))

    def within(self, quantity: str, from_s: float, until_s: float) -> Value | None:
        """A quantity's mean over a span of time; None: the runs are shorter."""
        chosen = (self.time_s > from_s) & (self.time_s <= until_s)
        if not chosen.any() or self.time_s[-1] < until_s - 1:
            return None
        values = self._rows(quantity)[:, chosen].mean(1)
        mean, half = mean_and_half(values[:, None])
        least, most = float(values.min()), float(values.max())
        return Value(float(mean[0]), None if half is None else float(half[0]), least, most)

    def _rows(self, quantity: str) -> Floats:
        return np.array([series[quantity][: self._length] for series in self._series])


def mean_and_half(rows: Floats) -> tuple[Floats, Floats | None]:
    """The mean of each column, and half the width of its 95 % interval by Student's t."""
    count = len(rows)
    if count == 1:
        return rows[0], None
    quantile = T_975[max(degrees for degrees in T_975 if degrees < count)]
    return rows.mean(0), quantile * rows.std(0, ddof=1) / np.sqrt(count)


def thinned(values: Floats, points: int) -> Floats:
    """Means of neighbouring points, so that no more are left than a picture shows."""
    group = -(-len(values) // points)
    whole = len(values) // group * group
    return np.asarray(values[:whole].reshape(-1, group).mean(1), np.float64)


def _series(samples: Any, run: str) -> Mapping[str, Floats]:
    """Per process inside: what is held, and what is sent per second."""
    metrics = np.array(samples.metric)
    if not np.isin(["entries", "inside"], metrics).all():
        raise Misuse(f"{run} has no samples of local space: set sample_ms, and an algorithm that counts it")
    found = {}
    for name in np.unique(metrics):
        chosen = metrics == name
        found[str(name)] = samples.time_ns[chosen] / 1e9, samples.value[chosen]
    time_s, entries = found["entries"]
    inside = np.maximum(1, found["inside"][1])
    series = {"time_s": time_s, "space": entries / inside}
    for name, metric in HELD.items():
        if metric in found:
            series[name] = np.interp(time_s, *found[metric]) / inside
    passed = np.diff(time_s, prepend=0.0)
    for name, counter in RATES.items():
        if counter in found:
            sent = np.diff(np.interp(time_s, *found[counter], left=0.0), prepend=0.0)
            series[name] = sent / np.where(passed > 0, passed, 1) / inside
    return series


def delay_at(experiment: Experiment, time_s: Floats) -> Floats | None:
    """The delay of all links at these moments, in seconds; None: there is no one delay."""
    if isinstance(experiment, Paper):
        if experiment.delay_spread:
            return None
        delays = experiment.plan().delay
        return np.asarray(delays[np.searchsorted(delays[:, 0] / 1e9, time_s, side="right") - 1, 1] / 1e9)
    delay = experiment.network.delay
    if isinstance(delay, Constant):
        return np.full(len(time_s), delay.ms / 1e3)
    if isinstance(delay, Schedule):
        at_ms, delays_ms = np.array(delay.points).T
        return np.asarray(np.interp(time_s, at_ms / 1e3, delays_ms / 1e3))
    return None


def plateau(experiment: Experiment) -> tuple[float, float]:
    """From when until when a run is summed up, in seconds: the last sixth of the time of speaking."""
    if isinstance(experiment, Paper):
        begin, end = experiment.speak_from * 60, min(experiment.speak_until, experiment.minutes) * 60
    else:
        begin, end = 0.0, experiment.duration_ms / 1e3
    return end - (end - begin) / 6, end
