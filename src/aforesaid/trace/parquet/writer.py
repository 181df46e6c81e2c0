"""Writes one run as Parquet: all of it, under its name, or nothing.

Everything is written into a draft (see `aforesaid.storage.commit`), which neither Spark nor our reader looks
into, and published when the last file is complete; in a store `runs.parquet` comes last, and a run without it
is none. So a run that can be seen is whole, whatever killed its writer. A run that is there is never written
over unless asked to, and then only once the new one is complete. Nothing is forced to disk: a power cut may
lose a run, and the seal (see `seal`) tells if it hurt one.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from aforesaid.core import Misuse, WrongValue
from aforesaid.storage import Draft, Place, place, writing
from aforesaid.trace.model import (
    SCHEMA_VERSION,
    Int32s,
    Int64s,
    Messages,
    Processes,
    Run,
    Samples,
    Stabilities,
)
from aforesaid.trace.parquet.columns import (
    messages_table,
    processes_table,
    rows_table,
    run_table,
    samples_table,
)
from aforesaid.trace.parquet.schema import RUN_PREFIX, SCHEMAS, STORY, VERSION_KEY, storage
from aforesaid.trace.parquet.seal import seal
from aforesaid.trace.parquet.spill import Rows, Spill
from aforesaid.trace.parquet.stories import story_tables
from aforesaid.trace.story import Story

MEMORY_ROWS_MAX = 1 << 21
"""Deliveries held in memory before they are spilled; each takes 20 bytes, and as much again to sort. As many
stable calls besides."""

ROW_GROUP_ROWS = 1 << 20
"""Deliveries, or stable calls, in a row group: what a reader holds at a time."""

CHUNK_ROWS_MIN = 1 << 16
"""Messages or samples in a row group, at least, unless there are no more."""


class ParquetSink:
    """A `Sink` that stores its run in `<root>/run=<run_id>/`. A context manager: left unclosed, it aborts."""

    def __init__(
        self,
        root: str | os.PathLike[str] | Place,
        run_id: str,
        overwrite: bool = False,
        memory_rows_max: int = MEMORY_ROWS_MAX,
        row_group_rows: int = ROW_GROUP_ROWS,
    ) -> None:
        # What Hive would have to escape in a directory's name is not worth the escaping.
        if not re.fullmatch(r"[A-Za-z0-9._+@,-]+", run_id):
            raise Misuse(f"{run_id!r} cannot name a run; use letters, digits and ._+@,- only")
        if memory_rows_max < 1 or row_group_rows < 1:
            raise Misuse("memory_rows_max and row_group_rows must be at least 1")
        self.path = place(root) / f"{RUN_PREFIX}{run_id}"
        self._run_id = run_id
        self._row_group_rows = row_group_rows
        self._message_count = 0
        with writing(self.path):
            self._draft = Draft(self.path, "runs.parquet", overwrite)
        self._open = True
        self._tables: dict[str, _Table] = {}
        self._spills = {
            name: Spill(self._draft.directory / f"{name}.spill", memory_rows_max)
            for name in ("deliveries", "stabilities")
        }

    def messages(self, rows: Messages) -> None:
        with writing(self.path):
            self._table("messages").append(messages_table(rows, self._message_count))
        self._message_count += len(rows)

    def deliveries(self, process: Int32s, position: Int32s, time_ns: Int64s, message: Int32s) -> None:
        """Keeps the arrays until they are spilled: the caller must not change them."""
        with writing(self.path):
            self._spills["deliveries"].append(Rows(process, position, time_ns, message))

    def stabilities(self, rows: Stabilities) -> None:
        """Keeps the arrays until they are spilled: the caller must not change them."""
        with writing(self.path):
            self._spills["stabilities"].append(Rows(rows.process, rows.position, rows.time_ns, rows.message))

    def samples(self, rows: Samples) -> None:
        with writing(self.path):
            self._table("samples").append(samples_table(rows))

    def story(self, rows: Story) -> None:
        with writing(self.path):
            for name, table in story_tables(rows):
                if len(table):
                    self._table(name).append(table)

    def beside(self, name: str, rows: Any) -> None:
        """A table besides the six, for people: no reader of ours looks at it."""
        with writing(self.path):
            pq.write_table(rows, self._draft.directory / f"{name}.parquet")

    def close(self, run: Run, processes: Processes) -> None:
        """Complete the run and show it."""
        try:
            if run.run != self._run_id:
                raise WrongValue(f"opened for run {self._run_id}, closed with {run.run}")
            for name, spill in self._spills.items():
                if spill.process_max >= len(processes):
                    raise WrongValue(f"{name} name process {spill.process_max} of {len(processes)}")
                if spill.message_max >= self._message_count:
                    raise WrongValue(f"{name} name message {spill.message_max} of {self._message_count}")
            with writing(self.path):
                self._complete(run, processes)
                self._draft.publish()
        finally:
            self.abort()

    def abort(self) -> None:
        """Leave no trace of the run, unless it is complete."""
        if self._open:
            self._open = False
            for spill in self._spills.values():
                spill.close()
            for table in self._tables.values():
                table.abandon()
            self._draft.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.abort()

    def _complete(self, run: Run, processes: Processes) -> None:
        for name, spill in self._spills.items():
            for rows in spill.row_groups(self._row_group_rows):
                self._table(name).write(rows_table(name, rows))
            spill.close()
        self._table("processes").append(processes_table(processes))
        self._table("runs").append(run_table(run))
        for name in SCHEMAS:
            if name in self._tables or name not in STORY:
                self._table(name).close()

    def _table(self, name: str) -> "_Table":
        if not self._open:
            raise WrongValue(f"run {self._run_id} is closed")
        if name not in self._tables:
            self._tables[name] = _Table(self._draft.directory, name)
        return self._tables[name]


class _Table:
    """One table's file; small chunks are gathered until they make a row group."""

    def __init__(self, directory: Path, name: str) -> None:
        self._path = directory / f"{name}.parquet"
        self._writer: Any = pq.ParquetWriter(self._path, SCHEMAS[name], **storage(name))
        self._writer.add_key_value_metadata({VERSION_KEY: str(SCHEMA_VERSION).encode()})
        self._gathered: list[Any] = []
        self._gathered_rows = 0

    def append(self, rows: Any) -> None:
        self._gathered.append(rows)
        self._gathered_rows += len(rows)
        if self._gathered_rows >= CHUNK_ROWS_MIN:
            self._flush()

    def write(self, rows: Any) -> None:
        """Exactly these rows, as one row group."""
        self._writer.write_table(rows, row_group_size=len(rows))

    def close(self) -> None:
        if self._gathered_rows:
            self._flush()
        self._writer.close()
        seal(self._path)

    def abandon(self) -> None:
        # The file goes anyway; closing it must not hide why.
        with suppress(Exception):
            self._writer.close()

    def _flush(self) -> None:
        self.write(pa.concat_tables(self._gathered))
        self._gathered, self._gathered_rows = [], 0
