"""What a watch has written down: the judge's state, and the tables, batch by batch.

A batch is done once the *marker* names it: `committed.json` holds the number of the last batch, and the file
of the state after it. Everything else is written before, under names that the batch decides. So a watch that
is killed anywhere goes on from the marker: a batch that was not marked is judged again from the state before
it, and writes the same files again; one that was marked is passed over. No rename is needed, nor a lock.

    OUT/violations/batch-N.parquet   the violations that batch N brought to light; none, no file
    OUT/violations/end.parquet       those that only the end brought
    OUT/progress/batch-N.parquet     one row for each batch, up to N, since the file before
    OUT/progress/since.parquet       the rest of them, once the watch has ended
    OUT/verdicts.parquet             the judgement by property, as of the last end
    OUT/state/N.state, committed.json, checkpoint/    what a restart goes on from
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aforesaid.check import Report, Violation
from aforesaid.core import Misuse
from aforesaid.live.judge import Judge, restored
from aforesaid.storage import Place, listing, put_file, writing

MARKER = "committed.json"
PROGRESS_ROWS = 64
"""So many batches are one file of `progress`; those since are in the marker."""

VIOLATIONS = pa.schema(
    [
        pa.field("run", pa.string()),
        pa.field("batch", pa.int64()),
        pa.field("property", pa.string()),
        pa.field("required", pa.bool_()),
        pa.field("process", pa.string()),
        pa.field("message", pa.string()),
        pa.field("position", pa.int64()),
        pa.field("sentence", pa.string()),
        pa.field("details", pa.string()),
    ]
)
PROGRESS = pa.schema(
    [
        pa.field("batch", pa.int64()),
        pa.field("at_s", pa.float64()),
        pa.field("seconds", pa.float64()),
        pa.field("events", pa.int64()),
        pa.field("messages", pa.int64()),
        pa.field("deliveries", pa.int64()),
        pa.field("in_flight", pa.int64()),
        pa.field("waiting", pa.int64()),
        pa.field("lag_s", pa.float64()),
        pa.field("violations", pa.int64()),
        pa.field("reading_cpu_s", pa.float64()),
        pa.field("judging_cpu_s", pa.float64()),
        pa.field("state_bytes", pa.int64()),
    ]
)
VERDICTS = pa.schema(
    [
        pa.field("run", pa.string()),
        pa.field("property", pa.string()),
        pa.field("value", pa.string()),
        pa.field("violations", pa.int64()),
        pa.field("required", pa.bool_()),
        pa.field("note", pa.string()),
    ]
)
END = -1
"""The batch of violations that only the end brought."""

Row = dict[str, Any]


class Ledger:
    """Where a watch writes."""

    def __init__(self, out: Place) -> None:
        self._out = out
        self.batch = -1
        """The last batch that is done."""
        self.rows: list[Row] = []
        """Progress since the last file of it."""

    def opened(self, segments: Sequence[str], fresh: Judge) -> Judge:
        """The judge as the marker has it, as patient as a fresh one; that if there is no marker."""
        marker = self._out / MARKER
        if not marker.exists():
            self._made()
            return fresh
        with self._readable(MARKER):
            told = json.loads(marker.read_text())
            watched, state = list(told["segments"]), f"state/{told['state']}"
            self.batch, self.rows = int(told["batch"]), list(told["progress"])
        if watched != list(segments):
            raise Misuse(f"{self._out} is of a watch of {', '.join(watched)}; choose another --out")
        if not listing(self._out / "checkpoint"):
            raise Misuse(f"{self._out} has lost its checkpoint; choose another --out or pass --force")
        with self._readable(state):
            judge = restored((self._out / state).read_bytes())
            judge.endure(fresh.grace_s, fresh.age_s)
            return judge

    def commit(
        self, batch: int, judge: Judge, found: Sequence[Violation], row: Row, segments: Sequence[str]
    ) -> None:
        """All that a batch brought, its marker last."""
        state = judge.saved()
        row["state_bytes"] = len(state)
        rows = [*self.rows, row]
        name = f"{batch:010d}.state"
        with writing(self._out):
            if found:
                self._write(f"violations/batch-{batch:010d}.parquet", violation_rows(judge, batch, found))
            if len(rows) >= PROGRESS_ROWS:
                self._write(
                    f"progress/batch-{batch:010d}.parquet", pa.Table.from_pylist(rows, schema=PROGRESS)
                )
                rows = []
            (self._out / "state" / name).write_bytes(state)
            marker = {"batch": batch, "state": name, "segments": list(segments), "progress": rows}
            put_file(self._out / MARKER, json.dumps(marker).encode())
            self._forget(name)
            (self._out / "progress" / "since.parquet").unlink(missing_ok=True)
        self.batch, self.rows = batch, rows

    def end(self, judge: Judge, report: Report, last: Sequence[Violation]) -> None:
        """The judgement, in place of an earlier one."""
        run = report.run.run
        verdicts = [
            {
                "run": run,
                "property": name,
                "value": verdict.value,
                "violations": verdict.violations,
                "required": name in report.required,
                "note": verdict.note,
            }
            for name, verdict in report.verdicts.items()
        ]
        with writing(self._out):
            self._write("violations/end.parquet", violation_rows(judge, END, last, report.required))
            self._write("verdicts.parquet", pa.Table.from_pylist(verdicts, schema=VERDICTS))
            self._write("progress/since.parquet", pa.Table.from_pylist(self.rows, schema=PROGRESS))

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        """What cannot be gone on from is no verdict: a pickle that is damaged fails in any way it likes."""
        try:
            yield
        except Exception as error:
            why = f"{self._out}: {name} cannot be read ({type(error).__name__})"
            raise Misuse(f"{why}; choose another --out or pass --force") from error

    def _made(self) -> None:
        with writing(self._out):
            for name in ("violations", "progress", "state"):
                (self._out / name).mkdir(parents=True, exist_ok=True)

    def _write(self, name: str, table: pa.Table) -> None:
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer)
        put_file(self._out / name, buffer.getvalue().to_pybytes())

    def _forget(self, but: str) -> None:
        """States that no restart needs: all but the one that was just marked."""
        for name in listing(self._out / "state"):
            if name != but:
                (self._out / "state" / name).unlink(missing_ok=True)


def violation_rows(
    judge: Judge, batch: int, found: Sequence[Violation], required: Sequence[str] | None = None
) -> pa.Table:
    names = judge.required if required is None else required
    run = judge.origin.cluster if judge.origin else ""
    rows = [
        {
            "run": run,
            "batch": batch,
            "property": each.property,
            "required": each.property in names,
            "process": each.process,
            "message": each.message,
            "position": each.position,
            "sentence": each.sentence,
            "details": json.dumps(dict(each.details)),
        }
        for each in found
    ]
    return pa.Table.from_pylist(rows, schema=VIOLATIONS)
