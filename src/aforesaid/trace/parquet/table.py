"""One Parquet file of a run, opened with suspicion: PyArrow sees no bytes that the seal does not vouch for.

Opening checks the seal of the footer, the schema version and the columns; reading checks the row group. The
file is opened anew for each read, so that a thousand open traces hold no descriptors.
"""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from aforesaid.core import Misuse
from aforesaid.trace.parquet.schema import SCHEMAS, VERSION_KEY, check_columns, check_version, reading
from aforesaid.trace.parquet.seal import seal_of


class Table:
    """A table's file, its rows unread."""

    def __init__(self, run: Path, name: str) -> None:
        self.name = name
        self.path = run / f"{name}.parquet"
        self._columns = SCHEMAS[name].names
        if not self.path.is_file():
            raise Misuse(f"trace {run} lacks its table {name}: there is no file {self.path.name}")
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
        """The least and greatest value of a column in a row group, if the file says."""
        columns = self._metadata.row_group(group)
        for index in range(columns.num_columns):
            chunk = columns.column(index)
            if chunk.path_in_schema == column:
                # PyArrow ends the whole process if asked for the statistics of a type it does not know.
                if chunk.physical_type != self._metadata.schema.column(index).physical_type:
                    raise Misuse(f"{self.path} is damaged: row group {group} contradicts its schema")
                with reading(self.path):
                    statistics = chunk.statistics
                    return (statistics.min, statistics.max) if statistics and statistics.has_min_max else None
        return None

    def read(self) -> Any:
        """All rows, in memory."""
        return self._read(range(self.group_count))

    def read_group(self, group: int) -> Any:
        return self._read([group])

    def _read(self, groups: range | list[int]) -> Any:
        with reading(self.path):
            if self._seal is not None:
                for group in groups:
                    self._seal.check(group)
            # Without pre_buffer nothing is read ahead, and what was read is freed.
            with pq.ParquetFile(
                self.path, metadata=self._metadata, pre_buffer=False, page_checksum_verification=True
            ) as file:
                return file.read_row_groups(list(groups), columns=self._columns, use_threads=False)
