"""What a report is made of: the tables that `sweep`, `audit` and `metrics` left in some directories.

Any of them may be missing; the page says so. Tables are small (rows per run, group or bin, never per
delivery) and read whole. A directory may also be one run's trace: then the page tells who took part.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from aforesaid.check import Report
from aforesaid.core import Misuse
from aforesaid.trace.parquet import ParquetTrace, open_trace

Row: TypeAlias = dict[str, Any]

SWEEP = ("sweep",)
AUDIT = ("verdicts", "violations")
METRICS = ("runs", "latency", "histogram", "series", "growth")
TRACE = ("runs", "processes", "messages")
"""Tables that show a directory to be one run's trace."""

RUNS_TOLD_MAX = 10
"""Of a directory of runs, so many are told in detail: `audit` and `metrics` are for more."""


@dataclass
class Findings:
    """The rows of each table, by its name; None for a table that no directory has."""

    sources: list[str] = field(default_factory=list)
    """The directories read, as they were given."""
    tables: dict[str, list[Row]] = field(default_factory=dict)
    summary: Row = field(default_factory=dict)
    """What the audit says of itself."""
    traces: list[ParquetTrace] = field(default_factory=list)
    """Runs to be told in detail."""
    reports: dict[str, Report] = field(default_factory=dict)
    """The judgements on them, by run."""
    drawn: bool = False
    """Whether they are drawn even where nothing was violated."""
    explorer: str = ""
    """Where the explorer page of these runs is, as links say it; empty: there is none."""
    note: str = ""
    """What was done, in the words of whoever did it."""
    made: str = ""
    """The day on which the latest of what was found was written; so the same findings make the same page."""

    def rows(self, name: str) -> list[Row]:
        return self.tables.get(name, [])

    def has(self, names: Sequence[str]) -> bool:
        return any(name in self.tables for name in names)

    def judged(self, report: Report) -> None:
        """The judgement on one of the traces; it counts unless an audit has told of that run."""
        run = report.run.run
        self.reports[run] = report
        if any(row["run"] == run for row in self.rows("verdicts")):
            return
        self.tables.setdefault("verdicts", []).extend(
            {"run": run, "required": name in report.required, **verdict.to_dict(), "property": name}
            for name, verdict in report.verdicts.items()
        )
        self.tables.setdefault("violations", []).extend(
            {"run": run, "rank": rank, **witness.to_dict()}
            for verdict in report.verdicts.values()
            for rank, witness in enumerate(verdict.witnesses)
        )


def read_findings(directories: Sequence[Path]) -> Findings:
    """Everything a report can use in the directories; there must be something."""
    found = Findings()
    for directory in directories:
        if not directory.is_dir():
            raise Misuse(
                f"{directory} does not exist" if not directory.exists() else f"{directory} is no directory"
            )
        if all((directory / f"{name}.parquet").exists() for name in TRACE):
            found.traces.append(open_trace(directory))
        elif not _read(directory, found) and not _read_runs(directory, found):
            wanted = ", ".join(f"{name}.parquet" for name in (*SWEEP, *AUDIT[:1], *METRICS[1:2]))
            raise Misuse(
                f"{directory} has no tables of sweep, audit or metrics, such as {wanted}; and is no trace"
            )
        found.sources.append(str(directory))
    written = [file.stat().st_mtime for directory in directories for file in directory.rglob("*.parquet")]
    found.made = datetime.fromtimestamp(max(written), UTC).date().isoformat()
    return found


def _read(directory: Path, found: Findings) -> bool:
    """Add the tables of one directory; whether it has any."""
    names = [name for name in (*SWEEP, *AUDIT, *METRICS) if (directory / f"{name}.parquet").exists()]
    # A run's own table is called `runs`, too: alone it makes no directory of metrics.
    if names in ([], ["runs"]):
        return False
    for name in names:
        if name in found.tables:
            raise Misuse(
                f"{directory} has a table {name}, and so has a directory before it; give one of each"
            )
        found.tables[name] = _table(directory / f"{name}.parquet")
    summary = directory / "summary.json"
    if "verdicts" in names and summary.exists():
        try:
            found.summary = json.loads(summary.read_text())
        except ValueError as error:
            raise Misuse(f"cannot read {summary}: {error}") from error
    return True


def _read_runs(directory: Path, found: Findings) -> bool:
    """Add the traces of a directory of runs, the first of them; whether there are any."""
    runs = sorted(directory.glob("run=*"))
    found.traces += [open_trace(run) for run in runs[:RUNS_TOLD_MAX]]
    if len(runs) > RUNS_TOLD_MAX:
        found.note += f"{directory} has {len(runs):,} runs; the first {RUNS_TOLD_MAX} of them are told here. "
    return bool(runs)


def _table(path: Path) -> list[Row]:
    try:
        rows: list[Row] = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise Misuse(f"cannot read {path}: {str(error).strip().splitlines()[0]}") from error
    return rows
