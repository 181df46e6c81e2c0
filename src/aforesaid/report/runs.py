"""Runs told in detail on the page: what was done, in words, and who took part."""

import shlex
from html import escape

import numpy as np

from aforesaid.check import check
from aforesaid.report.findings import Findings
from aforesaid.report.markup import Html, explored, facts, figure, folded, section, table
from aforesaid.report.spacetime import Choice, around, from_first, lanes, spacetime
from aforesaid.trace.parquet import ParquetTrace

DRAWN_MAX = 1_000_000
"""A run of more deliveries is not judged for a picture."""
DRAWN_MESSAGES = 8
BEGINNING_MESSAGES = 20


def section_of_note(found: Findings) -> str:
    """What whoever made the runs says about them."""
    lines = [line for line in found.note.splitlines() if line.strip()]
    items = "".join(f"<li>{escape(line.strip())}</li>\n" for line in lines)
    return section("What happened", f"<ul>\n{items}</ul>") if lines else ""


def judge_traces(found: Findings) -> None:
    """The checker looks at runs that nobody has judged, or whose first violation is to be drawn."""
    for trace in found.traces:
        if trace.run.run not in found.reports and trace.delivery_count <= DRAWN_MAX:
            found.judged(check(trace))


def sections_of_traces(found: Findings) -> str:
    return "".join(_section_of(trace, found) for trace in found.traces)


def _section_of(trace: ParquetTrace, found: Findings) -> str:
    run, processes, messages = trace.run, trace.processes, trace.messages
    lines = [
        ("algorithm", run.algorithm),
        ("version", run.code_version),
        ("messages", f"{len(messages):,} said, {trace.delivery_count:,} deliveries"),
        ("ended", "everything owed was delivered" if run.ended == "drained" else run.ended),
    ]
    if run.scenario != "{}":
        lines.append(("seed", f"{run.seed}"))
    if run.clock == "local":
        lines.append(
            ("clocks", "each process had its own, so the page tells no latency; order needs no clock")
        )
    if run.causality == "declared":
        lines.append(
            ("causality", "declared: a message comes after those that it says it follows, no others")
        )
    if run.sampled:
        lines.append(("sampled", "events are missing, so nothing can be said to have been kept"))
    said = np.bincount(messages.origin[messages.origin >= 0], minlength=len(processes))
    rows = [
        [
            processes.label(process),
            processes.fate[process] + ("" if processes.complete[process] else ", its log torn off"),
            f"{said[process]:,}",
            f"{len(log):,}",
        ]
        for process, log in trace.logs()
    ]
    columns = ["process", "in the end", "said", "delivered"]
    body = facts(lines) + table("Who took part", columns, rows, 2) + picture_of(trace, found)
    if found.explorer:
        body += f"<p>{explored(found.explorer, run.run)}</p>"
    scenario = folded("The scenario, to run it again", f"<pre>{escape(run.scenario)}</pre>")
    return section(f"The run {run.run}", body + (scenario if run.scenario != "{}" else ""))


def picture_of(trace: ParquetTrace, found: Findings) -> str:
    """The first violation, drawn with what came before it; if there is none, how the run begins, if it is to
    be drawn at all. Nothing if the run is large."""
    report = found.reports.get(trace.run.run)
    if report is None:
        return ""
    witnesses = [
        witness
        for verdict in sorted(report.verdicts.values(), key=lambda each: each.property not in report.required)
        for witness in verdict.witnesses
        if witness.position is not None and witness.message_index >= 0
    ]
    if not witnesses:
        return _beginning_of(trace) if found.drawn and len(trace.messages) else ""
    first = witnesses[0]
    rows = around(trace, first.message_index, DRAWN_MESSAGES)
    marked = {(each.process_index, each.message_index): each.sentence for each in witnesses}
    drawing = spacetime(trace, Choice(rows, lanes(trace, rows), marked))
    promised = "" if first.property in report.required else ", which was not promised"
    caption = f"The first violation of {first.property}{promised}: {first.sentence}"
    described = f"Space-time diagram around {first.message}. {first.sentence}"
    link = explored(found.explorer, trace.run.run, first.message)
    return figure(drawing.svg(), described, caption, link or _to_explore(trace))


def _to_explore(trace: ParquetTrace) -> Html:
    words = shlex.join(["aforesaid", "view", str(trace.path)])
    return Html(f"To explore it: <code>{escape(words)}</code>")


def _beginning_of(trace: ParquetTrace) -> str:
    rows = from_first(trace, 0, BEGINNING_MESSAGES)
    drawing = spacetime(trace, Choice(rows, lanes(trace, rows)))
    return figure(drawing.svg(), f"A space-time diagram of the first {len(rows)} messages.", "How it began.")
