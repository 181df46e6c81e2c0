"""The report: one HTML page with everything in it, made from whatever was found. Same findings, same page."""

from collections.abc import Iterable, Sequence
from html import escape

from aforesaid.core.version import __version__
from aforesaid.report.findings import AUDIT, METRICS, SWEEP, Findings, Row
from aforesaid.report.judgement import headline, section_of_failures, section_of_verdicts
from aforesaid.report.markup import STYLE, facts, section
from aforesaid.report.measurements import section_of_growth, section_of_latency, section_of_series
from aforesaid.report.runs import judge_traces, section_of_note, sections_of_traces

SEEDS_TOLD = 12


def page(found: Findings) -> str:
    """The whole page."""
    judge_traces(found)
    value, sentence = headline(found)
    sections = [
        section_of_note(found),
        section_of_runs(found),
        section_of_verdicts(found),
        section_of_failures(found),
        sections_of_traces(found),
        section_of_latency(found),
        section_of_series(found),
        section_of_growth(found),
        section_of_gaps(found),
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>aforesaid: {escape(sentence)}</title>
<style>
{STYLE}</style>
</head>
<body>
<main>
<header>
<p class="kind">aforesaid report</p>
<h1 class="{value}">{escape(sentence)}</h1>
</header>
{"".join(sections)}
<footer><p>Made by aforesaid {escape(__version__)} from {escape(", ".join(found.sources))}
of {found.made}.</p></footer>
</main>
</body>
</html>
"""


def section_of_runs(found: Findings) -> str:
    """What was run, in a few lines."""
    rows = found.rows("sweep") or found.rows("runs")
    if not rows and found.traces:
        return ""
    if not rows:
        runs = len({row["run"] for row in found.rows("verdicts")})
        return section("What was run", facts([("runs", f"{runs:,}")])) if runs else ""
    done = [row for row in rows if row.get("state") != "failed"]
    lines = [
        ("runs", _runs_told(rows, len(done))),
        ("algorithms", ", ".join(_distinct(rows, "algorithm"))),
        ("versions", "; ".join(_distinct([row for row in done if row.get("code_version")], "code_version"))),
        ("processes", ", ".join(_distinct(rows, "processes"))),
        ("settings", "; ".join(name for name in _distinct(found.rows("runs"), "setting") if name)),
        ("seeds", _seeds_told(rows)),
        ("messages", f"{sum(row['messages'] or 0 for row in done):,} sent"),
        ("deliveries", f"{sum(row['deliveries'] or 0 for row in done):,}"),
    ]
    cut = sum(row["ended"] != "drained" for row in done)
    if cut:
        lines.append(("ended", f"{cut:,} runs were cut before everything owed was delivered"))
    return section("What was run", facts([(name, text) for name, text in lines if text]))


def _runs_told(rows: Sequence[Row], done: int) -> str:
    return f"{done:,}" if done == len(rows) else f"{done:,} of {len(rows):,}; {len(rows) - done:,} failed"


def _seeds_told(rows: Sequence[Row]) -> str:
    seeds = sorted({row["seed"] for row in rows})
    if len(seeds) <= SEEDS_TOLD:
        return ", ".join(map(str, seeds))
    return f"{len(seeds):,}, from {seeds[0]} to {seeds[-1]}"


def _distinct(rows: Iterable[Row], key: str) -> list[str]:
    return [str(value) for value in sorted({row[key] for row in rows})]


def section_of_gaps(found: Findings) -> str:
    """What the page lacks, and which command would add it."""
    gaps = []
    if not found.has(AUDIT):
        gaps.append(("how the traces were judged", "aforesaid audit TRACES --out DIR"))
    told = bool(found.traces)
    timeless = told and all(trace.run.clock == "local" for trace in found.traces)
    if not found.has(METRICS) and not timeless:
        gaps.append(("latency, space, traffic and growth", "aforesaid metrics TRACES --out DIR"))
    elif found.has(METRICS) and not found.rows("series"):
        gaps.append(
            ("space and traffic over time: the runs were not sampled", "sample_ms = 20 in the scenario")
        )
    if not found.has(SWEEP) and not found.rows("runs") and not told:
        gaps.append(("what was run, and what failed", "aforesaid sweep GRID.toml --out DIR"))
    if not gaps:
        return ""
    items = "".join(f"<li>{escape(what)} (<code>{escape(command)}</code>)</li>" for what, command in gaps)
    return section("What this page lacks", f"<ul>{items}</ul>")
