"""Reads a table that lies by process, `deliveries` or `stabilities`, a row group at a time.

Our own files are sorted by process, so a process's rows lie in one row group, or in neighbours if they are
many. Files of others may be in any order. The statistics of the row groups say which: those whose ranges of
processes overlap are read and sorted together, as one *span*, the others one by one. In a file sorted by time
all of them overlap, and the whole table is one span, in memory. Spans may touch: the process at the seam has
rows in both.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aforesaid.trace.parquet.columns import check_range, rows_of
from aforesaid.trace.parquet.schema import Damaged
from aforesaid.trace.parquet.spill import Rows, joined
from aforesaid.trace.parquet.table import Table


@dataclass
class Span:
    """Row groups to read together: no other has a process between `first` and `last`, the two apart."""

    first: int
    last: int
    groups: list[int]
    rows: int


class ByProcess:
    """One table's rows, by process."""

    def __init__(self, table: Table, process_count: int, message_count: int) -> None:
        self._table = table
        self._process_count = process_count
        self._message_count = message_count
        # The last span read, so that asking for one process after the other reads each span once.
        self._recent: tuple[Span, Rows] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_recent": None}

    def _parts(self, process: int) -> list[Rows]:
        """A process's rows, span by span."""
        parts = []
        # In the column's own type: else all of it would be copied into the other, each time.
        bounds = np.array([process, process + 1], np.int32)
        for span in self._spans:
            if span.first <= process <= span.last:
                rows = self._read(span)
                first, last = np.searchsorted(rows.process, bounds)
                parts.append(rows.at(slice(first, last)))
        return parts

    @cached_property
    def _spans(self) -> list[Span]:
        groups = [group for group in range(self._table.group_count) if self._table.group_rows(group)]
        known = [(stated, group) for group in groups if (stated := self._stated_range(group))]
        if len(known) < len(groups):
            return [Span(0, self._process_count, groups, self._table.row_count)]
        spans: list[Span] = []
        for (first, last), group in sorted(known):
            rows = self._table.group_rows(group)
            if spans and first < spans[-1].last:
                spans[-1].groups.append(group)
                spans[-1].last = max(last, spans[-1].last)
                spans[-1].rows += rows
            else:
                spans.append(Span(first, last, [group], rows))
        return spans

    def _read(self, span: Span) -> Rows:
        """A span's rows, sorted by process."""
        if self._recent is not None and self._recent[0] is span:
            return self._recent[1]
        self._recent = None
        rows = joined([self._read_group(group) for group in span.groups])
        if np.any(rows.process[1:] < rows.process[:-1]):
            order = np.lexsort((rows.position, rows.process))
            rows = rows.at(order)
        self._recent = span, rows
        return rows

    def _read_group(self, group: int) -> Rows:
        path = self._table.path
        rows = rows_of(path, self._table.name, self._table.read_group(group))
        check_range(path, "process", rows.process, 0, self._process_count, "process")
        check_range(path, "message", rows.message, 0, self._message_count, "message")
        stated = self._stated_range(group)
        if stated is not None and stated != (rows.process.min(), rows.process.max()):
            raise Damaged(f"{path} is damaged: row group {group} does not match its statistics")
        return rows

    def _stated_range(self, group: int) -> tuple[int, int] | None:
        return self._table.group_range(group, "process")
