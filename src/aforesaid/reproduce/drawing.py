"""The figures of the fleet, drawn like figure 5 of the PRC-broadcast paper: the delay below what is measured.

Data comes in, files go out: nothing here knows who measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt

matplotlib.use("Agg")
from matplotlib import pyplot

Floats = npt.NDArray[np.float64]

COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df")
WIDTH, HEIGHT = 7.2, 4.6
POINTS_MAX = 360
"""Points of a curve in a picture; more only make the file larger."""

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d8dee4",
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "aforesaid",
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Curve:
    """One line of a figure."""

    label: str
    x: Floats
    y: Floats
    vector: float | None = None
    """How many entries a vector would have: drawn as a dashed line of the same colour."""


def draw_over_time(
    curves: Sequence[Curve], delay: Curve, title: str, what: str, out: Path, log: bool = False
) -> None:
    """What is measured over time in minutes, with the delay below it."""
    with pyplot.rc_context(STYLE):
        figure, (above, below) = pyplot.subplots(
            2, 1, sharex=True, figsize=(WIDTH, HEIGHT), height_ratios=(4, 1), layout="constrained"
        )
        for curve, colour in zip(curves, COLOURS, strict=False):
            time_s, value = thinned(curve.x, curve.y)
            above.plot(time_s / 60, value, color=colour, linewidth=1.2, label=curve.label)
            if curve.vector is not None:
                _vector_line(above, curve.vector, colour)
        if log:
            above.set_yscale("log")
            above.set_ylim(bottom=0.01)
        else:
            _limit(above, curves)
        above.set_title(title, loc="left")
        above.set_ylabel(what)
        above.legend(loc="lower center" if log else "upper right")
        time_s, value = thinned(delay.x, delay.y)
        below.plot(time_s / 60, value, color="#57606a", linewidth=1.2)
        below.set_ylabel("delay (s)")
        below.set_ylim(bottom=0)
        below.set_xlabel("time (minutes)")
        _save(figure, out)


def draw_against(curves: Sequence[Curve], title: str, across: str, what: str, out: Path) -> None:
    """What is measured against a quantity that is not time."""
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(WIDTH, HEIGHT * 0.85), layout="constrained")
        for curve, colour in zip(curves, COLOURS, strict=False):
            axes.plot(curve.x, curve.y, "o-", color=colour, markersize=4, linewidth=1.2, label=curve.label)
            if curve.vector is not None:
                _vector_line(axes, curve.vector, colour)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(title, loc="left")
        axes.set_xlabel(across)
        axes.set_ylabel(what)
        axes.legend(loc="lower right")
        _save(figure, out)


def _vector_line(axes: Any, entries: float, colour: str) -> None:
    axes.axhline(entries, color=colour, linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate(
        f"vector of {entries:,.0f} entries",
        (0.01, entries),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        color=colour,
        fontsize=8,
    )


def _limit(axes: Any, curves: Sequence[Curve]) -> None:
    """From 0 to what all but one in a hundred points stay below; a note tells what rises above it."""
    shown = [thinned(curve.x, curve.y)[1] for curve in curves]
    top = 1.6 * max(float(np.quantile(values, 0.97)) for values in shown)
    highest = max(float(values.max()) for values in shown)
    if highest > 2 * top:
        axes.set_ylim(0, top)
        axes.annotate(
            f"peaks up to {highest:.1f} are cut off", (0.35, 0.94), xycoords="axes fraction", fontsize=8
        )
    else:
        axes.set_ylim(bottom=0)


def thinned(time_s: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Means of neighbouring points, so that no more are left than a picture shows."""
    group = -(-len(value) // POINTS_MAX)
    whole = len(value) // group * group
    return (
        np.asarray(time_s[:whole].reshape(-1, group).mean(1), np.float64),
        np.asarray(value[:whole].reshape(-1, group).mean(1), np.float64),
    )


def _save(figure: Any, out: Path) -> None:
    """As a PNG to look at, and as an SVG for documents; without dates, so that a figure is reproducible."""
    figure.savefig(out.with_suffix(".png"), dpi=130, metadata={"Software": None})
    figure.savefig(out.with_suffix(".svg"), metadata={"Date": None})
    pyplot.close(figure)
