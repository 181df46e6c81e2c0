"""Judges a run by the rows of it that can be judged, in memory. No Spark here.

Deliveries are sifted first; then messages and stable calls, when it is known where each log ends; last the
processes are told whose log lacks something. A run that lacks a table is not judged at all, and neither is
one of which no row could be used: it would be called kept, or violated, for what is not there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from aforesaid.check import Report, Verdict, check
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.outcome import Outcome, refused_whole
from aforesaid.pipeline.auditing.sift import (
    Sifted,
    placed_deliveries,
    sift_deliveries,
    sift_messages,
    sift_stabilities,
    with_lost,
)
from aforesaid.trace.model import (
    NO_STABILITIES,
    Int32s,
    Int64s,
    MemoryTrace,
    Messages,
    Processes,
    Run,
    Stabilities,
)
from aforesaid.trace.parquet.columns import messages_of, processes_of, rows_of, run_of
from aforesaid.trace.parquet.schema import EVENTS, reading

TABLES = ("runs", "processes", *EVENTS)
"""What an audit reads."""
QUARANTINE_ROWS_MAX = 10_000
"""How many refused rows of a run are kept as they came; all are counted."""


@dataclass
class Tally:
    """What became of a run's rows, or of some of them."""

    used: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By table and reason."""
    quarantine: list[tuple[str, str, str]] = field(default_factory=list)
    holed: set[int] = field(default_factory=set)
    """Processes whose log or calls lack something."""
    anyone: bool = False
    """Whether something is lacking that may be anyone's."""

    def note(self, name: str, sifted: Sifted) -> None:
        reasons = {(name, reason): count for reason, count in sifted.reasons().items()}
        self.used[name] += len(sifted.codes) - sum(reasons.values())
        self.refused.update(reasons)
        self.holed |= sifted.holed
        self.anyone |= sifted.anyone
        room = QUARANTINE_ROWS_MAX - len(self.quarantine)
        self.quarantine += [(name, *told) for told in sifted.refused(room)]

    def absorb(self, other: "Tally") -> None:
        """What became of other rows of the run."""
        self.used += other.used
        self.refused += other.refused
        self.holed |= other.holed
        self.anyone |= other.anyone
        self.quarantine += other.quarantine[: QUARANTINE_ROWS_MAX - len(self.quarantine)]


@dataclass(frozen=True)
class Described:
    """A run as its tables `runs` and `processes` describe it, and how many rows of events there are."""

    run: Run
    processes: Processes
    rows: dict[str, int]

    def remaining(self, tally: Tally) -> Processes:
        """The processes, those no longer complete whose log lacks something now."""
        for name in ("messages", "deliveries"):
            if not tally.used[name]:
                raise Misuse(f"no row of the table {name} of run {self.run.run!r} can be judged")
        if _lost_sends(tally) and len(self.processes.base.values):
            # The causal past of a base may lead through messages that are lost now.
            raise Misuse(
                f"run {self.run.run!r}: rows of messages are refused, and what joiners are owed hangs on them"
            )
        complete = self.processes.complete & (not tally.anyone)
        complete[sorted(tally.holed)] = False
        return replace(self.processes, complete=complete)

    def outcome(self, report: Report, tally: Tally) -> Outcome:
        return Outcome(
            self.run.run,
            "",
            _fair(report, tally),
            rows=self.rows,
            refused=dict(tally.refused),
            quarantine=tuple(tally.quarantine),
        )


def described(run: str, tables: Mapping[str, Any], rows: Mapping[str, int]) -> Described:
    """Refuses a run that lacks a table."""
    for name in ("runs", "processes"):
        if not len(tables.get(name, ())):
            raise _lacking(run, name)
    with reading(Path(run)):
        row = run_of(Path("runs"), tables["runs"], run)
        processes = processes_of(Path("processes"), tables["processes"], rows["messages"])
    refuse_lacking(run, row, rows)
    return Described(row, processes, {name: rows[name] for name in EVENTS})


def refuse_lacking(name: str, run: Run, rows: Mapping[str, int]) -> None:
    """A table of events without a row cannot be told from one that was lost."""
    due = ("messages", "deliveries", *(["stabilities"] if "stability" in run.promises else []))
    for table in due:
        if not rows[table]:
            raise _lacking(name, table)


def _lacking(run: str, table: str) -> Misuse:
    return Misuse(f"run {run!r} lacks its table {table}: there are no rows of it")


def judge_sifted(
    run: str, tables: Mapping[str, Any], properties: Sequence[str] | None, witnesses_max: int | None
) -> Outcome:
    """What becomes of a run whose rows, all of them and in our types, are given by table."""
    rows = {name: len(tables.get(name, ())) for name in EVENTS}
    tally = Tally()
    try:
        known = described(run, tables, rows)
        report = check(_sifted(known, tally, tables), properties, witnesses_max)
    except (Misuse, ValueError) as error:
        return refused_whole(run, "", str(error), rows)
    return known.outcome(report, tally)


def _sifted(known: Described, tally: Tally, tables: Mapping[str, Any]) -> MemoryTrace:
    count = known.rows["messages"]
    message, time_ns, lengths = sift_logs(tally, tables["deliveries"], len(known.processes), count)
    messages = sift_sends(tally, tables["messages"], lengths)
    calls = NO_STABILITIES
    if "stabilities" in tables:
        calls = sift_calls(tally, tables["stabilities"], lengths, count)
    return MemoryTrace(
        run=known.run,
        processes=known.remaining(tally),
        messages=messages,
        delivery_offsets=np.concatenate(([0], np.cumsum(lengths))),
        delivery_message=message,
        delivery_time_ns=time_ns,
        stabilities=calls,
    )


def sift_logs(
    tally: Tally, table: Any, process_count: int, message_count: int
) -> tuple[Int32s, Int64s, Int64s]:
    """The logs that rows tell: messages and times, one log after the other, and the length of each."""
    placed = placed_deliveries(table, process_count, message_count)
    if placed is not None:
        tally.used["deliveries"] += len(table)
        return placed
    sifted = sift_deliveries(table, process_count, message_count)
    tally.note("deliveries", sifted)
    rows = rows_of(Path("deliveries"), "deliveries", sifted.used())
    return rows.message, rows.time_ns, np.bincount(rows.process, minlength=process_count)


def sift_sends(tally: Tally, table: Any, lengths: Int64s) -> Messages:
    """The table of messages, refused rows as lost sends."""
    count = len(table)
    sifted = sift_messages(table, lengths, count)
    tally.note("messages", sifted)
    return messages_of(Path("messages"), with_lost(sifted, count), len(lengths), count)


def sift_calls(tally: Tally, table: Any, lengths: Int64s, message_count: int) -> Stabilities:
    """The stable calls, by process and position."""
    sifted = sift_stabilities(table, lengths, message_count)
    tally.note("stabilities", sifted)
    return Stabilities(**rows_of(Path("stabilities"), "stabilities", sifted.used())._asdict())


def _lost_sends(tally: Tally) -> bool:
    return any(table == "messages" for table, _ in tally.refused)


def _fair(report: Report, tally: Tally) -> Report:
    """The report without reproach for what refused rows may have said."""
    verdicts = dict(report.verdicts)
    recorded = verdicts.get("recorded")
    if _lost_sends(tally) and recorded is not None and recorded.value == "violated":
        note = "Rows of messages were refused, so recorded predecessors cannot be compared."
        verdicts["recorded"] = Verdict("recorded", "unknown", note=note)
    return replace(report, verdicts=verdicts)
