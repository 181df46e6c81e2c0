"""Runs told in detail on the page: what was done, in words, and who took part."""

from html import escape

import numpy as np

from aforesaid.report.findings import Findings
from aforesaid.report.markup import facts, section, table
from aforesaid.trace.parquet import ParquetTrace


def section_of_note(found: Findings) -> str:
    """What whoever made the runs says about them."""
    lines = [line for line in found.note.splitlines() if line.strip()]
    items = "".join(f"<li>{escape(line.strip())}</li>\n" for line in lines)
    return section("What happened", f"<ul>\n{items}</ul>") if lines else ""


def sections_of_traces(found: Findings) -> str:
    return "".join(_section_of(trace) for trace in found.traces)


def _section_of(trace: ParquetTrace) -> str:
    run, processes, messages = trace.run, trace.processes, trace.messages
    lines = [
        ("algorithm", run.algorithm),
        ("version", run.code_version),
        ("messages", f"{len(messages):,} said, {trace.delivery_count:,} deliveries"),
        ("ended", "everything owed was delivered" if run.ended == "drained" else run.ended),
    ]
    if run.clock == "local":
        lines.append(
            ("clocks", "each process had its own, so the page tells no latency; order needs no clock")
        )
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
    return section(f"The run {run.run}", facts(lines) + table("Who took part", columns, rows, 2))
