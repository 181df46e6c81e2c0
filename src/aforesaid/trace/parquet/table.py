"""A table of a run, opened with suspicion: PyArrow sees no bytes that the seal does not vouch for.

Opening checks the seal of the footer, the schema version and the columns; reading checks the row group. Files
are opened anew for each read, so that a thousand open traces hold no descriptors.

A table is one file, or a directory of files as Spark and others write it: then its row groups are those of
all files, in the order of their names.
"""

from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from aforesaid.core import Misuse
from aforesaid.trace.parquet.schema import (
    SCHEMAS,
    VERSION_KEY,
    Damaged,
    check_columns,
    check_version,
    reading,
)
from aforesaid.trace.parquet.seal import seal_of


class Table(Protocol):
    """A table, its rows unread."""

    name: str
    path: Path

    @property
    def row_count(self) -> int: ...

    @property
    def group_count(self) -> int: ...

    def group_rows(self, group: int) -> int: ...

    def group_range(self, group: int, column: str) -> tuple[int, int] | None:
        """The least and greatest value of a column in a row group, if the file says."""

    def read(self) -> Any:
        """All rows, in memory."""

    def read_group(self, group: int) -> Any: ...

    def verify(self) -> None:
        """Refuse the table if a row group is not what was sealed; what has no seal is not looked at."""


def open_table(run: Path, name: str) -> Table:
    """A run's table, from its file or from all files in its directory."""
    path = run / f"{name}.parquet"
    if path.is_file():
        return _File(run, name, path)
    with reading(path):
        files = sorted(path.glob("[!._]*.parquet")) if path.is_dir() else []
    if not files:
        raise Misuse(f"trace {run} lacks its table {name}: there is no file {path.name}")
    return _Files(name, path, [_File(run, name, file) for file in files])


class _File:
    """A table in one file."""

    def __init__(self, run: Path, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self._columns = SCHEMAS[name].names
        with reading(self.path):
            self._seal = seal_of(self.path)
            with pq.ParquetFile(self.path) as file:
                self._metadata = file.metadata
                schema = file.schema_arrow
        version = (self._metadata.metadata or {}).get(VERSION_KEY)
        if version is not None:
            check_version(run, version)
        check_columns(self.path, name, schema)

    @property
    def row_count(self) -> int:
        return int(self._metadata.num_rows)

    @property
    def group_count(self) -> int:
        return int(self._metadata.num_row_groups)

    def group_rows(self, group: int) -> int:
        return int(self._metadata.row_group(group).num_rows)

    def group_range(self, group: int, column: str) -> tuple[int, int] | None:
        columns = self._metadata.row_group(group)
        for index in range(columns.num_columns):
            chunk = columns.column(index)
            if chunk.path_in_schema == column:
                # PyArrow ends the whole process if asked for the statistics of a type it does not know.
                if chunk.physical_type != self._metadata.schema.column(index).physical_type:
                    raise Damaged(f"{self.path} is damaged: row group {group} contradicts its schema")
                with reading(self.path):
                    statistics = chunk.statistics
                    return (statistics.min, statistics.max) if statistics and statistics.has_min_max else None
        return None

    def read(self) -> Any:
        return self._read(range(self.group_count))

    def read_group(self, group: int) -> Any:
        return self._read([group])

    def verify(self) -> None:
        self._check(range(self.group_count))

    def _check(self, groups: range | list[int]) -> None:
        if self._seal is not None:
            with reading(self.path):
                for group in groups:
                    self._seal.check(group)

    def _read(self, groups: range | list[int]) -> Any:
        self._check(groups)
        # Without pre_buffer nothing is read ahead, and what was read is freed.
        options = {"pre_buffer": False, "page_checksum_verification": True}
        with reading(self.path), pq.ParquetFile(self.path, metadata=self._metadata, **options) as file:
            return file.read_row_groups(list(groups), columns=self._columns, use_threads=False)


class _Files:
    """A table in several files."""

    def __init__(self, name: str, path: Path, files: list[_File]) -> None:
        self.name, self.path = name, path
        self._files = files
        self._starts = [0, *accumulate(file.group_count for file in files)]

    @property
    def row_count(self) -> int:
        return sum(file.row_count for file in self._files)

    @property
    def group_count(self) -> int:
        return self._starts[-1]

    def group_rows(self, group: int) -> int:
        file, within = self._place(group)
        return file.group_rows(within)

    def group_range(self, group: int, column: str) -> tuple[int, int] | None:
        file, within = self._place(group)
        return file.group_range(within, column)

    def read(self) -> Any:
        with reading(self.path):
            return pa.concat_tables([file.read() for file in self._files], promote_options="permissive")

    def read_group(self, group: int) -> Any:
        file, within = self._place(group)
        return file.read_group(within)

    def verify(self) -> None:
        for file in self._files:
            file.verify()

    def _place(self, group: int) -> tuple[_File, int]:
        file = bisect_right(self._starts, group) - 1
        return self._files[file], group - self._starts[file]
