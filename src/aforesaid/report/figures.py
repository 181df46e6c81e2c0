"""Figures as SVG inside a page: in the page's colours, light or dark, and the same each time.

Matplotlib draws with placeholder colours; they become CSS variables of the page. Text stays text, so a figure
is small, can be searched and read aloud. Algorithms differ in colour, in dash and in marker.
"""

import io
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from aforesaid.report.findings import Row

LINES_MAX = 8
"""As many as can be told apart."""
PANELS_MAX = 6
PANEL_INCHES = 2.45, 1.95
LOG_FROM = 4
"""A growth from the least to the greatest value that is worth a logarithmic axis."""

_INK, _FAINT = "#b00001", "#b00002"
_LINES = [f"#a1000{number}" for number in range(1, LINES_MAX + 1)]
_CSS = {_INK: "currentColor", _FAINT: "var(--faint)"} | {
    colour: f"var(--line{number})" for number, colour in enumerate(_LINES, 1)
}
_DASHES: list[Any] = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.2, 1.5))]
_MARKERS = "os^Dv<>p"

_STYLE: Any = mpl.rc_params_from_file(
    str(files(__package__).joinpath("figures.mplstyle")), use_default_template=False
)


@dataclass(frozen=True)
class Panel:
    """One small diagram: a line for each algorithm."""

    title: str
    lines: dict[str, list[tuple[float, float, float, float]]]
    """By algorithm: x, y, and the least and greatest y of the runs behind it, in the order of x."""


def distribution(rows: Sequence[Row]) -> dict[str, list[tuple[float, float, float, float]]]:
    """From the rows of a histogram: the share of deliveries up to each time, by algorithm."""
    lines: dict[str, list[tuple[float, float, float, float]]] = {}
    for algorithm, bins in _by(rows, "algorithm").items():
        whole, upto = sum(row["deliveries"] for row in bins), 0
        lines[algorithm] = []
        for row in sorted(bins, key=lambda row: row["high_ms"]):
            upto += row["deliveries"]
            share = upto / whole
            lines[algorithm].append((row["high_ms"], share, share, share))
    return lines


def over(rows: Sequence[Row], key: str) -> dict[str, list[tuple[float, float, float, float]]]:
    """From rows with mean, low and high: a line for each algorithm over `key`."""
    return {
        algorithm: sorted((row[key], row["mean"], row["low"], row["high"]) for row in points)
        for algorithm, points in _by(rows, "algorithm").items()
    }


def latency_figure(panels: Sequence[Panel], algorithms: Sequence[str]) -> str:
    """The share of deliveries made within a time, a panel for each setting."""

    def draw(axes: Axes, panel: Panel) -> None:
        _draw_lines(axes, panel, algorithms, step=True)
        if all(x > 0 for line in panel.lines.values() for x, *_ in line):
            axes.set_xscale("log")
            _plain_log(axes.xaxis)
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
        axes.set_xlabel("ms after sending")

    return _figure(panels, algorithms, draw)


def series_figure(panels: Sequence[Panel], algorithms: Sequence[str]) -> str:
    """Something measured over the time of the run."""

    def draw(axes: Axes, panel: Panel) -> None:
        _draw_lines(axes, panel, algorithms, band=True)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
        axes.set_xlabel("ms of virtual time")

    return _figure(panels, algorithms, draw)


def growth_figure(panels: Sequence[Panel], algorithms: Sequence[str]) -> str:
    """Something against the size of the group; logarithmic, so that a power law is a straight line.

    What hardly changes is shown from 0 instead: no molehill is drawn as a mountain.
    """

    def draw(axes: Axes, panel: Panel) -> None:
        _draw_lines(axes, panel, algorithms, band=True, marker=True)
        values = [y for line in panel.lines.values() for _, y, *_ in line]
        if max(values) > LOG_FROM * min(values) > 0:
            axes.set_yscale("log")
            _plain_log(axes.yaxis)
        else:
            axes.set_ylim(bottom=0)
        sizes = sorted({x for line in panel.lines.values() for x, *_ in line})
        axes.set_xscale("log")
        _plain_log(axes.xaxis)
        axes.set_xticks(sizes, [plain(size) for size in sizes])
        axes.set_xlabel("processes")

    return _figure(panels, algorithms, draw)


def plain(value: float) -> str:
    """A number as people write it, without a needless digit."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _figure(panels: Sequence[Panel], algorithms: Sequence[str], draw: Callable[[Axes, Panel], None]) -> str:
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    width = max(columns, 2) * PANEL_INCHES[0]
    with mpl.rc_context({**_STYLE, "svg.hashsalt": panels[0].title}):
        figure = Figure(figsize=(width, rows * PANEL_INCHES[1] + 0.35))
        FigureCanvasSVG(figure)
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, panel in zip(grid, panels, strict=False):
            axes.set_title(panel.title)
            draw(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        _legend(figure, algorithms)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _embedded(text.getvalue())


def _legend(figure: Figure, algorithms: Sequence[str]) -> None:
    known: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    shown = [name for name in algorithms if name in known]
    if len(shown) > 1:
        figure.legend(
            [known[name] for name in shown],
            shown,
            loc="outside upper left",
            ncols=4,
            frameon=False,
            handlelength=2.6,
        )


def _draw_lines(
    axes: Axes,
    panel: Panel,
    algorithms: Sequence[str],
    step: bool = False,
    band: bool = False,
    marker: bool = False,
) -> None:
    for algorithm, line in panel.lines.items():
        number = algorithms.index(algorithm)
        x, y, low, high = zip(*line, strict=True)
        axes.plot(
            x,
            y,
            color=_LINES[number],
            linestyle=_DASHES[number % len(_DASHES)],
            marker=_MARKERS[number] if marker else None,
            markersize=4,
            drawstyle="steps-post" if step else "default",
            label=algorithm,
        )
        if band and low != high:
            axes.fill_between(x, low, high, color=_LINES[number], alpha=0.15, linewidth=0)


def _plain_log(axis: Any) -> None:
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    axis.set_minor_formatter(NullFormatter())


def _by(rows: Sequence[Row], key: str) -> dict[str, list[Row]]:
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        parts[row[key]].append(row)
    return dict(parts)


def _embedded(svg: str) -> str:
    """The drawing without its file's head, ids that others may have, or colours of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="[a-z0-9.]+_\d+"', "", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg ", '<svg aria-hidden="true" ', 1)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    for colour, css in _CSS.items():
        svg = svg.replace(colour, css)
    svg = re.sub(r"(\d\.\d{2})\d+", r"\1", svg)
    return re.sub(r"\s*\n\s*", "\n", svg).strip()
