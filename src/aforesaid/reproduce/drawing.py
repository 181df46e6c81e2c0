"""Figures for print: what is measured over time with the delay below it, or against another quantity.

Each curve has a colour (Okabe and Ito's, told apart by the colour-blind), a line style and a marker of its
own, so that it is found in greyscale, too. A band is the 95 % interval of the mean over seeds. Data comes in,
files go out: nothing here knows who measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import numpy.typing as npt

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from aforesaid.reproduce.asking import Look

Floats = npt.NDArray[np.float64]

WIDTH, HEIGHT = 7.2, 4.6
POINTS_MAX = 120
"""Points of a curve in a picture: half a minute each in an hour, so that exchanges in step do not hide it."""
MARKS = 12
"""Markers on a curve over time."""


class Line(NamedTuple):
    """How a curve looks."""

    colour: str
    dashes: Any
    marker: str


LINES = (
    Line("#0072B2", "-", "o"),
    Line("#D55E00", (0, (5, 1.5)), "s"),
    Line("#009E73", (0, (1, 1)), "^"),
    Line("#CC79A7", (0, (5, 1.5, 1, 1.5)), "D"),
    Line("#000000", (0, (3, 1, 1, 1, 1, 1)), "v"),
    Line("#E69F00", (0, (8, 2)), "X"),
    Line("#56B4E9", (0, (2, 2)), "P"),
    Line("#6E6E6E", (0, (6, 1, 1, 1)), "*"),
)
"""No figure has more curves than these."""

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d8dee4",
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "aforesaid",
    "pdf.fonttype": 42,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
}


@dataclass(frozen=True)
class Mark:
    """A value that someone else measured, over a span of x."""

    from_x: float
    until_x: float
    y: float


@dataclass(frozen=True)
class Curve:
    """One line of a figure, with its 95 % interval, and what others measured of the same."""

    label: str
    x: Floats
    y: Floats
    half: Floats | None = None
    published: Sequence[Mark] = ()


@dataclass(frozen=True)
class Axis:
    """What an axis shows."""

    label: str
    log: bool = False


def draw_over_time(
    curves: Sequence[Curve], delay: Curve | None, title: str, what: Axis, out: Path, look: Look
) -> list[Path]:
    """What is measured over minutes, with the delay below it if all links have the same."""
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(
            2 if delay else 1,
            1,
            sharex=True,
            squeeze=False,
            figsize=(WIDTH, HEIGHT if delay else HEIGHT * 0.85),
            height_ratios=(4, 1) if delay else None,
            layout="constrained",
        )
        above, lowest = axes[0, 0], axes[-1, 0]
        _plot(above, curves, marks=MARKS)
        if what.log:
            above.set_yscale("log")
            above.set_ylim(bottom=0.01)
        else:
            _limit(above, curves)
        above.set_ylabel(what.label)
        _legend(above, curves)
        if delay:
            lowest.plot(delay.x, delay.y, color="#57606a", linewidth=1.2)
            lowest.set_ylabel(delay.label)
            lowest.set_ylim(bottom=0)
        lowest.set_xlabel("time (minutes)")
        return _save(figure, above, title, out, look)


def draw_against(
    curves: Sequence[Curve],
    beside: Sequence[Curve],
    title: str,
    across: Axis,
    what: Axis,
    out: Path,
    look: Look,
) -> list[Path]:
    """What is measured against a quantity that is not time, and what it is compared to, in grey."""
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(WIDTH, HEIGHT * 0.85), layout="constrained")
        _plot(axes, curves, marks=None)
        for curve in beside:
            axes.plot(curve.x, curve.y, color="#57606a", linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        # Of curves that lie on each other the first one's label is enough.
        ends = {round(float(np.log10(curve.y[0])), 1): curve for curve in reversed(beside)}
        for curve in ends.values():
            axes.annotate(
                curve.label,
                (curve.x[0], curve.y[0]),
                xytext=(0, 2),
                textcoords="offset points",
                fontsize=8,
                color="#57606a",
            )
        axes.set_xscale("log" if across.log else "linear")
        axes.set_yscale("log" if what.log else "linear")
        axes.set_xlabel(across.label)
        axes.set_ylabel(what.label)
        _legend(axes, curves)
        return _save(figure, axes, title, out, look)


def _plot(axes: Any, curves: Sequence[Curve], marks: int | None) -> None:
    """Markers of different curves stand at different places, so that none hides another."""
    for number, curve in enumerate(curves):
        line = LINES[number]
        every = None
        if marks:
            apart = max(1, len(curve.x) // marks)
            every = (number * apart // max(1, len(curves)), apart)
        axes.plot(
            curve.x,
            curve.y,
            color=line.colour,
            linestyle=line.dashes,
            marker=line.marker,
            markersize=4,
            markevery=every,
            linewidth=1.2,
            label=curve.label,
        )
        if curve.half is not None:
            low, high = np.maximum(0, curve.y - curve.half), curve.y + curve.half
            axes.fill_between(curve.x, low, high, color=line.colour, alpha=0.18, linewidth=0)
        for mark in curve.published:
            _plot_published(axes, mark, line)


def _plot_published(axes: Any, mark: Mark, line: Line) -> None:
    """Hollow and large, with a bar over the span it holds for."""
    axes.errorbar(
        (mark.from_x + mark.until_x) / 2,
        mark.y,
        xerr=(mark.until_x - mark.from_x) / 2 or None,
        marker=line.marker,
        markersize=8,
        markerfacecolor="white",
        markeredgecolor=line.colour,
        color=line.colour,
        elinewidth=1.6,
        linestyle="none",
        zorder=5,
    )


def _legend(axes: Any, curves: Sequence[Curve]) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if any(curve.half is not None for curve in curves):
        handles.append(Rectangle((0, 0), 1, 1, color="#57606a", alpha=0.25, linewidth=0))
        labels.append("95 % interval of the mean over seeds")
    if any(curve.published for curve in curves):
        hollow: Any = {"markersize": 8, "markerfacecolor": "white", "markeredgecolor": "#57606a"}
        handles.append(Line2D([], [], linestyle="none", marker="o", **hollow))
        labels.append("read off the paper's figure (single runs)")
    axes.legend(handles, labels, loc="best")


def _limit(axes: Any, curves: Sequence[Curve]) -> None:
    """From 0 to what nearly all points stay below; a note tells what rises above it."""
    top = 1.6 * max(float(np.quantile(curve.y, 0.97)) for curve in curves)
    highest = max(float(curve.y.max()) for curve in curves)
    if highest > 2 * top:
        axes.set_ylim(0, top)
        axes.annotate(
            f"peaks up to {highest:.1f} are cut off", (0.12, 0.95), xycoords="axes fraction", fontsize=8
        )
    else:
        # A band of two or three seeds may be far wider than what it surrounds.
        axes.set_ylim(0, min(axes.get_ylim()[1], 1.6 * highest) or None)


def _save(figure: Any, axes: Any, title: str, out: Path, look: Look) -> list[Path]:
    """Without dates, so that a figure is reproducible."""
    if look.titles:
        axes.set_title(title, loc="left")
    undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    paths = [out.with_name(f"{out.name}.{kind}") for kind in look.formats]
    for path, kind in zip(paths, look.formats, strict=True):
        figure.savefig(path, dpi=200, metadata=undated[kind])
    pyplot.close(figure)
    return paths
