"""Writes one run's tables anew, without the rows that cannot be judged. No Spark here.

Deliveries come first, a range of processes at a time; then messages and stable calls, when it is known where
each log ends; the tables of processes and runs last, when it is known whose log lacks something.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aforesaid.pipeline.auditing.sift import sift_deliveries, sift_messages, sift_stabilities, with_lost
from aforesaid.trace.model import Int64s, Processes, Run, Samples
from aforesaid.trace.parquet.columns import processes_table, run_table, samples_table
from aforesaid.trace.parquet.schema import EVENTS, SCHEMAS, storage


@dataclass
class Relaid:
    """A run in its new place, and what is missing there."""

    run: str
    path: Path
    rows: dict[str, int]
    refusal: str = ""
    described: tuple[Run, Processes] | None = None
    log_lengths: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    holed: set[int] = field(default_factory=set)
    anyone: bool = False
    refused: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def process_count(self) -> int:
        return len(self.log_lengths)

    @property
    def lost_sends(self) -> bool:
        return any(table == "messages" for table, _ in self.refused)


@dataclass(frozen=True)
class Group:
    """What a task needs to know of a run."""

    run: str
    path: Path
    quarantine: Path
    process_count: int
    message_count: int
    log_lengths: Int64s


def sift_group(name: str, group: Group, bucket: int, rows: Any) -> tuple[Any, ...]:
    """Sift and write one group; the lengths of its logs, who lacks something, and how much was refused."""
    if name == "deliveries":
        sifted = sift_deliveries(rows, group.process_count, group.message_count)
    elif name == "messages":
        sifted = sift_messages(rows, group.log_lengths, group.message_count)
    else:
        sifted = sift_stabilities(rows, group.log_lengths, group.message_count)
    used = with_lost(sifted, group.message_count) if name == "messages" else sifted.used()
    _write(used, group.path / f"{name}.parquet" / f"part-{bucket:05}.parquet", name)
    refused = sifted.refused()
    if len(refused):
        _quarantine(
            refused, name, group.run, group.quarantine / f"{group.path.name}-{name}-{bucket:05}.parquet"
        )
    reasons: dict[str, int] = {}
    for reason in refused.column("reason").to_pylist():
        reasons[reason] = reasons.get(reason, 0) + 1
    return _lengths(used, name), sifted.holed, sifted.anyone, reasons


def _lengths(used: Any, name: str) -> tuple[Int64s, Int64s]:
    if name != "deliveries":
        return np.empty(0, np.int64), np.empty(0, np.int64)
    process = used.column("process").to_numpy()
    found, counts = np.unique(process, return_counts=True)
    return found.astype(np.int64), counts


def note(
    name: str, run: Relaid, lengths: Any, holed: set[int], anyone: bool, reasons: dict[str, int]
) -> None:
    processes, counts = lengths
    run.log_lengths[processes] = counts
    run.holed |= holed
    run.anyone |= anyone
    for reason, count in reasons.items():
        run.refused[name, reason] = run.refused.get((name, reason), 0) + count


def _write(table: Any, path: Path, name: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    pq.write_table(table.cast(SCHEMAS[name]), hidden, **storage(name))
    hidden.rename(path)


def _quarantine(refused: Any, name: str, run: str, path: Path) -> None:
    """Rows as they came, in one shape for all tables: what has no column of its own is told as text."""
    rows = refused.drop_columns(["reason"]).to_pylist()
    table = pa.table(
        {
            "run": pa.array([run] * len(rows), pa.string()),
            "table": pa.array([name] * len(rows), pa.string()),
            "reason": refused.column("reason"),
            "row": pa.array([str(row) for row in rows], pa.string()),
        }
    )
    pq.write_table(table, path)


def complete(run: Relaid) -> None:
    """The tables that the driver writes, and empty ones in the place of those without rows."""
    if run.described is None:
        return
    row, processes = run.described
    if run.lost_sends and len(processes.base.values):
        # The causal past of a base may lead through messages that are lost now.
        run.refusal = (
            f"run {run.run!r}: rows of messages are refused, and what joiners are owed hangs on them"
        )
        return
    complete = processes.complete & (not run.anyone)
    complete[sorted(run.holed)] = False
    processes = Processes(**{**processes.__dict__, "complete": complete})
    run.path.mkdir(parents=True, exist_ok=True)
    nothing = Samples(np.empty(0, np.int64), np.empty(0, np.int32), [], np.empty(0))
    for name, table in (
        ("runs", run_table(row)),
        ("processes", processes_table(processes)),
        ("samples", samples_table(nothing)),
    ):
        pq.write_table(table, run.path / f"{name}.parquet", **storage(name))
    for name in EVENTS:
        if not (run.path / f"{name}.parquet").exists():
            pq.write_table(SCHEMAS[name].empty_table(), run.path / f"{name}.parquet")
