"""The measurements on the page: latency, space and traffic over time, growth with the size of the group.

Every group size and setting has its figure. The largest group's is shown, the others are folded below it.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from aforesaid.report.figures import (
    LINES_MAX,
    PANELS_MAX,
    Panel,
    distribution,
    growth_figure,
    latency_figure,
    over,
    plain,
    series_figure,
)
from aforesaid.report.findings import Findings, Row
from aforesaid.report.markup import figure, folded, section, table

_GROWTH_FIRST = ("latency_p50_ms", "latency_p99_ms", "above_optimum_mean_ms", "frames_per_message")
_SERIES_FIRST = ("frames_sent_per_second",)
_LEFT_OUT = ("messages", "deliveries", "frames_sent")
"""Numbers that grow because more is said in a larger group, whatever the algorithm."""

FIGURES_MAX = 30
"""Of each kind, so many figures are on the page; the tables have the numbers of all."""

P = TypeVar("P")


def section_of_latency(found: Findings) -> str:
    """How long messages took: a distribution for each setting at the largest size, and a table of all."""
    rows = found.rows("latency")
    if not rows:
        return ""
    algorithms = _algorithms(found)
    bins = [row for row in found.rows("histogram") if row["measure"] == "latency"]
    shown = [row for row in bins if row["algorithm"] in algorithms]
    settings = _distinct(shown, "setting")
    together = [settings[at : at + PANELS_MAX] for at in range(0, len(settings), PANELS_MAX)]
    parts = [(size, named) for size in reversed(_distinct(shown, "processes")) for named in together]

    def draw(size: int, named: Sequence[str]) -> str:
        ours = [row for row in shown if row["processes"] == size and row["setting"] in named]
        panels = [
            Panel(setting or "all runs", distribution([row for row in ours if row["setting"] == setting]))
            for setting in _distinct(ours, "setting")
        ]
        if not panels:
            return ""
        words = "; ".join(
            f"{row['algorithm']}{_and(row['setting'])}: half within {plain(row['p50_ms'])} ms, "
            f"99 % within {plain(row['p99_ms'])} ms"
            for row in rows
            if row["processes"] == size and row["setting"] in named and row["measure"] == "latency"
        )
        return figure(
            latency_figure(panels, algorithms),
            f"Share of deliveries made within a time, {size} processes. {words}",
            f"Share of deliveries made within a time, {size} processes: further left is faster."
            + _left_out(found),
        )

    body = _all_of(parts, lambda part: draw(*part), "Of the other groups and settings")
    return section("Latency", body + _latency_table(found) + _took_table(found), _optimum_told(found))


def section_of_series(found: Findings) -> str:
    """What was held and sent over the time of the runs."""
    algorithms = _algorithms(found)
    rows = [row for row in found.rows("series") if row["algorithm"] in algorithms]
    parts = _parts(rows, lambda row: row["processes"])
    body = _all_of(parts, lambda part: _series_of(part, algorithms), "Of the other groups and settings")
    return section("Space and traffic over time", body) if body else ""


def _series_of(rows: Sequence[Row], algorithms: Sequence[str]) -> str:
    """Of one group size and setting."""
    names = _ranked([row for row in rows if row["high"] > 0], _SERIES_FIRST)[:PANELS_MAX]
    if not names:
        return ""
    panels = [
        Panel(_title(name), over([row for row in rows if row["metric"] == name], "time_ms")) for name in names
    ]
    where = f"{rows[0]['processes']} processes{_and(rows[0]['setting'])}"
    return figure(
        series_figure(panels, algorithms),
        f"Over time, {where}: {', '.join(panel.title for panel in panels)}. "
        + "; ".join(f"greatest {_title(name)} {plain(_peak(rows, name))}" for name in names),
        f"Summed over all processes; mean of the runs, shaded from the least to the greatest; {where}.",
    )


def section_of_growth(found: Findings) -> str:
    """What grows with the group, and how fast."""
    algorithms = _algorithms(found)
    rows = [
        row
        for row in found.rows("growth")
        if row["algorithm"] in algorithms and row["metric"] not in _LEFT_OUT and row["exponent"] is not None
    ]
    if not rows:
        return ""
    names = _to_draw(rows)
    lines = [
        [_title(row["metric"]), row["algorithm"], row["setting"], f"n^{row['exponent']:.2f}"]
        for row in _last_of_line(rows)
        if row["metric"] in names
    ]
    parts = _parts(rows, lambda _: 0)
    body = _all_of(parts, lambda part: _growth_of(part, algorithms), "Of other settings")
    columns = ["what", "algorithm", "setting", "grows like"]
    body += folded("All powers of n", table("The power of n that fits best", columns, lines, 3))
    return section("Growth with the group", body)


def _to_draw(rows: Sequence[Row]) -> list[str]:
    wanted = [row for row in rows if not row["metric"].endswith(("_peak", "_max_ms"))]
    return _ranked(wanted, _GROWTH_FIRST)[:PANELS_MAX]


def _growth_of(chosen: Sequence[Row], algorithms: Sequence[str]) -> str:
    """Of one setting."""
    names = _to_draw(chosen)
    if not names:
        return ""
    panels = [
        Panel(_title(name), over([row for row in chosen if row["metric"] == name], "processes"))
        for name in names
    ]
    words = "; ".join(
        f"{_title(row['metric'])} of {row['algorithm']}: n^{row['exponent']:.2f}"
        for row in _last_of_line(chosen)
        if row["metric"] in names
    )
    return figure(
        growth_figure(panels, algorithms),
        f"Against the number of processes: {words}",
        f"Where both axes are logarithmic a straight line is a power of n{_and(chosen[0]['setting'])}.",
    )


def _parts(rows: Sequence[Row], size: Callable[[Row], int]) -> list[list[Row]]:
    """The rows of each size and setting: the largest first, and of one size the last setting."""
    parts: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        parts.setdefault((size(row), row["setting"]), []).append(row)
    return [parts[key] for key in sorted(parts, reverse=True)]


def _all_of(parts: Sequence[P], draw: Callable[[P], str], title: str) -> str:
    """The first figure, and the others folded below it."""
    drawn = [each for each in map(draw, parts[:FIGURES_MAX]) if each]
    others = drawn[1:]
    left = len(parts) - FIGURES_MAX
    more = f'<p class="note">... and {left:,} more, in the tables only</p>' if left > 0 else ""
    return "".join(drawn[:1]) + (
        folded(f"{title} ({len(others):,})", "".join(others) + more) if others else ""
    )


def _left_out(found: Findings) -> str:
    """Whoever looks at figures must know of whom they show nothing."""
    left = _distinct(found.rows("latency"), "algorithm")[LINES_MAX:]
    return f" Figures show {LINES_MAX} algorithms and leave out {', '.join(left)}." if left else ""


def _latency_table(found: Findings) -> str:
    above = {_group(row): row for row in found.rows("latency") if row["measure"] == "above_optimum"}
    lines = []
    for row in found.rows("latency"):
        if row["measure"] == "latency":
            optimal = above.get(_group(row))
            figures = [f"{row[f'{name}_ms']:,.2f}" for name in ("mean", "p50", "p90", "p99", "max")]
            figures.append(f"{optimal['mean_ms']:,.2f}" if optimal else "")
            lines.append(
                [row["algorithm"], str(row["processes"]), row["setting"], f"{row['deliveries']:,}", *figures]
            )
    columns = [
        "algorithm",
        "n",
        "setting",
        "deliveries",
        "mean",
        "p50",
        "p90",
        "p99",
        "max",
        "mean above optimum",
    ]
    if not any(row["setting"] for row in found.rows("latency")):
        columns.pop(2)
        lines = [[*line[:2], *line[3:]] for line in lines]
    return (
        table("Milliseconds from sending to delivery, by others than the sender", columns, lines, 3)
        if lines
        else ""
    )


_TOOK = {
    "acknowledged": "said, until all its receivers had it",
    "inbox": "delivered, until the application took it",
}


def _took_table(found: Findings) -> str:
    """What real nodes measured, each by its own clock."""
    lines = [
        [row["algorithm"], str(row["processes"]), _TOOK[row["measure"]], f"{row['deliveries']:,}"]
        + [f"{row[f'{name}_ms']:,.2f}" for name in ("mean", "p50", "p90", "p99", "max")]
        for row in found.rows("latency")
        if row["measure"] in _TOOK
    ]
    columns = ["algorithm", "n", "a message was", "messages", "mean", "p50", "p90", "p99", "max"]
    return table("Milliseconds by the clock of one process", columns, lines, 3) if lines else ""


def _optimum_told(found: Findings) -> str:
    kinds = {row["optimum"] for row in found.rows("runs")}
    if "exact" in kinds and "bound" not in kinds:
        return "The optimum is when a causal delivery was possible at the earliest; here it is exact."
    if "bound" in kinds:
        return (
            "The optimum is when a causal delivery was possible at the earliest. These networks are random "
            "or disturbed, so it assumes the least delay: what is above it is the network's share, too."
        )
    return ""


def _algorithms(found: Findings) -> list[str]:
    """As many as can be told apart, in one order for all figures."""
    return _distinct(found.rows("latency"), "algorithm")[:LINES_MAX]


def _distinct(rows: Sequence[Row], key: str) -> list[Any]:
    return sorted({row[key] for row in rows})


def _ranked(rows: Sequence[Row], first: Sequence[str]) -> list[str]:
    """Metrics in the order they matter: those named first, then those with the greatest values."""
    peaks: dict[str, float] = {}
    for row in rows:
        peaks[row["metric"]] = max(peaks.get(row["metric"], 0.0), row["high"])
    rest = sorted(
        (name for name in peaks if name not in first and peaks[name] > 0),
        key=lambda name: (-peaks[name], name),
    )
    return [name for name in first if name in peaks] + rest


def _peak(rows: Sequence[Row], metric: str) -> float:
    return max(float(row["high"]) for row in rows if row["metric"] == metric)


def _last_of_line(rows: Sequence[Row]) -> list[Row]:
    return list({(row["metric"], row["algorithm"], row["setting"]): row for row in rows}.values())


def _and(setting: str) -> str:
    return f", {setting}" if setting else ""


def _group(row: Row) -> tuple[str, int, str]:
    return row["algorithm"], row["processes"], row["setting"]


def _title(metric: str) -> str:
    """A metric in words: `latency p99, ms`."""
    words = (
        metric.removesuffix("_ms").replace("_per_second", "/s").replace("_mean_per_process", " per process")
    )
    return words.replace("_", " ") + (", ms" if metric.endswith("_ms") else "")
