"""The page of a watch: one HTML file, written anew while it runs; the browser loads it again by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from typing import Any

from aforesaid.core.version import __version__
from aforesaid.report.markup import STYLE, Html, badge, facts, section, table

REFRESH_S = 2
POINTS_MAX = 300
"""So many batches are drawn, the last ones."""
WIDTH, HEIGHT = 640, 90


@dataclass
class LivePage:
    """What a watch has to show."""

    title: str
    ended: bool = False
    value: str = "kept"
    """So far; at the end, the verdict."""
    verdicts: list[tuple[str, str, int, str]] = field(default_factory=list)
    """Property, value, violations and note of each that is required."""
    sentences: list[tuple[str, str]] = field(default_factory=list)
    """Property and sentence of the first violations."""
    members: list[tuple[str, int, int, str]] = field(default_factory=list)
    """Name, messages said, deliveries, state."""
    progress: list[Mapping[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def live_page(shown: LivePage) -> str:
    refresh = "" if shown.ended else f'<meta http-equiv="refresh" content="{REFRESH_S}">\n'
    words = {
        "kept": "nothing was violated",
        "violated": "a promise was broken",
        "unknown": "not all is known",
    }
    sentence = f"{shown.title}: {words[shown.value]}{'' if shown.ended else ' so far'}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{refresh}<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>aforesaid: {escape(sentence)}</title>
<style>
{STYLE}</style>
</head>
<body>
<main>
<header>
<p class="kind">aforesaid watch{"" if shown.ended else ", running"}</p>
<h1 class="{shown.value}">{escape(sentence)}</h1>
</header>
{_now(shown)}{_verdicts(shown)}{_violations(shown)}{_series(shown)}{_members(shown)}
<footer><p>Made by aforesaid {escape(__version__)}, {_time(shown)} UTC.</p></footer>
</main>
</body>
</html>
"""


def _time(shown: LivePage) -> str:
    at = shown.progress[-1]["at_s"] if shown.progress else 0
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def _now(shown: LivePage) -> str:
    if not shown.progress:
        return section("Now", "<p>Nothing was read yet.</p>")
    last = shown.progress[-1]
    lines = [
        ("messages said", f"{last['messages']:,}"),
        ("deliveries", f"{last['deliveries']:,}"),
        ("in flight", f"{last['in_flight']:,} messages"),
        ("behind", f"{last['lag_s']:.2f} s"),
        ("logs that wait for others", f"{last['waiting']:,}"),
        ("state", f"{last['state_bytes']:,} bytes"),
    ]
    notes = "".join(f'<p class="note">{escape(each)}</p>' for each in shown.warnings)
    return section("The end" if shown.ended else "Now", facts(lines) + notes)


def _verdicts(shown: LivePage) -> str:
    rows = [[name, badge(value), note, f"{count:,}"] for name, value, count, note in shown.verdicts]
    note = "" if shown.ended else "What must come in the end is judged in the end."
    return section("Verdicts", table("by property", ["property", "verdict", "", "violations"], rows, 3), note)


def _violations(shown: LivePage) -> str:
    if not shown.sentences:
        return ""
    items = "".join(f"<li>{escape(name)}: {escape(text)}</li>\n" for name, text in shown.sentences)
    return section("Violations", f"<ol>\n{items}</ol>")


def _members(shown: LivePage) -> str:
    rows = [[name, state, f"{said:,}", f"{delivered:,}"] for name, said, delivered, state in shown.members]
    return section("Nodes", table("by node", ["node", "log", "said", "delivered"], rows, 2))


def _series(shown: LivePage) -> str:
    points = shown.progress[-POINTS_MAX:]
    if len(points) < 2:
        return ""
    drawn = [
        _figure(points, [_rate(one, two) for one, two in pairwise(points)], "events/s"),
        _figure(points, [row["in_flight"] for row in points[1:]], "messages in flight"),
        _figure(points, [row["lag_s"] for row in points[1:]], "seconds behind"),
    ]
    return section("Over time", "".join(drawn))


def _rate(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    return float(two["events"] / max(1e-3, two["at_s"] - one["at_s"]))


def _figure(points: Sequence[Mapping[str, Any]], values: Sequence[float], name: str) -> str:
    """A line over time, with its highest and its last value in words."""
    begin, span = points[1]["at_s"], max(1e-3, points[-1]["at_s"] - points[1]["at_s"])
    top = max(*values, 1e-9) if len(values) > 1 else max(values[0], 1e-9)
    places = " ".join(
        f"{(row['at_s'] - begin) / span * WIDTH:.1f},{HEIGHT - value / top * (HEIGHT - 4) - 2:.1f}"
        for row, value in zip(points[1:], values, strict=True)
    )
    told = f"{name}: now {values[-1]:,.4g}, at most {top:,.4g}, in {span:,.0f} s"
    line = f'<polyline points="{places}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    svg = Html(f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" height="{HEIGHT}">{line}</svg>')
    return (
        f'<figure><div role="img" aria-label="{escape(told)}">{svg}</div>'
        f"<figcaption>{escape(told)}</figcaption></figure>\n"
    )
