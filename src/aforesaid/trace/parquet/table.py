"""A table of a run, opened with suspicion: PyArrow sees no bytes that the seal does not vouch for.

Opening reads a file's end, once, and checks the seal of the footer, the schema version and the columns. To
read a sealed row group is to read its bytes, once, check them, and let PyArrow parse these. Of a file without
a seal PyArrow reads what it needs by itself.

A table is one file, or a directory of files as Spark and others write it: then its row groups are those of
all files, in the order of their names.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fnmatch import fnmatch
from itertools import accumulate
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from aforesaid.core import Misuse
from aforesaid.storage import Place, Ranges, listing
from aforesaid.trace.parquet.schema import (
    SCHEMAS,
    VERSION_KEY,
    Damaged,
    check_columns,
    check_version,
    conformed,
    reading,
)
from aforesaid.trace.parquet.seal import Seal, footer_of, seal_of


class Table(Protocol):
    """A table, its rows unread."""

    name: str
    path: Place

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

    def expect(self, groups: Sequence[int]) -> None:
        """These will be read, one after the other."""

    def verify(self) -> None:
        """Refuse the table if a row group is not what was sealed; what has no seal is not looked at."""


def open_table(run: Place, name: str) -> Table:
    """A run's table, from its file or from all files in its directory."""
    table = find_table(run, name)
    if table is None:
        raise Misuse(f"trace {run} lacks its table {name}: there is no file {name}.parquet")
    return table


def find_table(run: Place, name: str) -> Table | None:
    """The same; None if there is none."""
    path = run / f"{name}.parquet"
    with reading(path):
        try:
            # Nearly always it is one file: to ask first would be a request more.
            return File(run, name, path)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            names = sorted(file for file in listing(path) if fnmatch(file, "[!._]*.parquet"))
        return _Files(name, path, [File(run, name, path / file) for file in names]) if names else None


class File:
    """A table in one file, with other columns besides if they are asked for."""

    def __init__(self, run: Place, name: str, path: Place, besides: tuple[str, ...] = ()) -> None:
        self.name, self.path = name, path
        self._besides = list(besides)
        self._bytes = Ranges(path)
        with reading(self.path):
            footer = footer_of(path, self._bytes)
            self._seal = seal_of(path, self._bytes, footer)
            with pq.ParquetFile(pa.BufferReader(footer)) as file:
                self._metadata = file.metadata
                schema = file.schema_arrow
        self._bytes.forget()
        version = (self._metadata.metadata or {}).get(VERSION_KEY)
        if version is not None:
            check_version(run, version)
        check_columns(self.path, name, schema)
        self._columns = [*(column for column in SCHEMAS[name].names if column in schema.names), *besides]
        for column in besides:
            if column not in schema.names:
                raise Misuse(f"{path}: table {name} lacks column {column}")

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
        return self._read(range(group, group + 1))

    def expect(self, groups: Sequence[int]) -> None:
        if self._seal is not None:
            self._bytes.expect(self._seal.end(max(groups)))

    def verify(self) -> None:
        if self._seal is not None:
            for group in range(self.group_count):
                with reading(self.path):
                    self._checked(self._seal, range(group, group + 1))

    def _read(self, groups: range) -> Any:
        return conformed(self.path, self.name, self.raw(groups))

    def raw(self, groups: range) -> Any:
        """The rows of some row groups as they are."""
        with reading(self.path):
            source = self._bytes.source()
            if self._seal is not None and groups:
                source = self._checked(self._seal, groups)
            # Ahead of time only where it saves requests: else nothing is, and what was read is freed.
            options = {
                "pre_buffer": isinstance(source, pa.NativeFile),
                "page_checksum_verification": True,
                # The few words of a column of many rows, each once.
                "read_dictionary": self._besides,
            }
            with pq.ParquetFile(source, metadata=self._metadata, **options) as file:
                return file.read_row_groups(list(groups), columns=self._columns, use_threads=False)

    def _checked(self, seal: Seal, groups: range) -> "_Window":
        """The bytes of some row groups, one after the other, if they are what was sealed."""
        start = seal.start(groups.start)
        content = self._bytes.read(start, seal.end(groups.stop - 1))
        for group in groups:
            seal.check(group, content[seal.start(group) - start : seal.end(group) - start])
        return _Window(content, start, self._bytes.size)


class _Window:
    """Some bytes of a file, for PyArrow, which asks for them by where they are in the whole file."""

    closed = False

    def __init__(self, content: memoryview, start: int, size: int) -> None:
        self._content, self._start, self._size = content, start, size
        self._at = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int) -> memoryview:
        first = self._at - self._start
        if first < 0 or first + count > len(self._content):
            raise OSError(f"the footer leads to {count} bytes at {self._at}, outside of the row group")
        self._at += count
        return self._content[first : first + count]


class _Files:
    """A table in several files."""

    def __init__(self, name: str, path: Place, files: list[File]) -> None:
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
        return pa.concat_tables([file.read() for file in self._files])

    def read_group(self, group: int) -> Any:
        file, within = self._place(group)
        return file.read_group(within)

    def expect(self, groups: Sequence[int]) -> None:
        for file, start, stop in zip(self._files, self._starts, self._starts[1:], strict=False):
            within = [group - start for group in groups if start <= group < stop]
            if within:
                file.expect(within)

    def verify(self) -> None:
        for file in self._files:
            file.verify()

    def _place(self, group: int) -> tuple[File, int]:
        file = bisect_right(self._starts, group) - 1
        return self._files[file], group - self._starts[file]
