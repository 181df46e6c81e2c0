"""Reads logs out of `deliveries.parquet`, a row group at a time.

Our own files are sorted by process, so a log lies in one row group, or in neighbours if it is large. Files
of others may be in any order. The statistics of the row groups say which: those whose ranges of processes
overlap are read and sorted together, as one *span*, the others one by one. In a file sorted by time all of
them overlap, and the whole table is one span, in memory. Spans may touch: the process at the seam is held
back until the last span that has it.

A log's positions must be 0, 1, 2, ... once sorted: a gap is a lost row, and no verdict would be right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np

from aforesaid.core import Misuse
from aforesaid.trace.model import Log
from aforesaid.trace.parquet.columns import check_range, deliveries_of
from aforesaid.trace.parquet.spill import Rows, joined
from aforesaid.trace.parquet.table import Table


@dataclass
class _Span:
    """Row groups to read together: no other has a process between `first` and `last`, the two apart."""

    first: int
    last: int
    groups: list[int]


class Deliveries:
    """The logs of one run's processes."""

    def __init__(self, table: Table, process_count: int, message_count: int) -> None:
        self._table = table
        self._process_count = process_count
        self._message_count = message_count
        # The last span read, so that asking for one process after the other reads each span once.
        self._recent: tuple[_Span, Rows] | None = None

    def log(self, process: int) -> Log:
        parts = []
        for span in self._spans:
            if span.first <= process <= span.last:
                rows = self._read(span)
                first, last = np.searchsorted(rows.process, [process, process + 1])
                parts.append(rows.at(slice(first, last)))
        return self._log(process, parts)

    def logs(self) -> Iterator[tuple[int, Log]]:
        """Every process, from 0 on."""
        upcoming = 0
        held: list[Rows] = []
        for span, following in zip_longest(self._spans, self._spans[1:]):
            rows = self._read(span)
            for process, first, last, dense in _extents(rows):
                for silent in range(upcoming, process):
                    yield silent, _SILENT
                upcoming = process + 1
                if following is not None and following.first == process:
                    held.append(rows.at(slice(first, last)))
                elif dense and not held:
                    yield process, Log(rows.message[first:last], rows.time_ns[first:last])
                else:
                    yield process, self._log(process, [*held, rows.at(slice(first, last))])
                    held = []
        for silent in range(upcoming, self._process_count):
            yield silent, _SILENT

    @cached_property
    def _spans(self) -> list[_Span]:
        groups = [group for group in range(self._table.group_count) if self._table.group_rows(group)]
        known = [(stated, group) for group in groups if (stated := self._stated_range(group))]
        if len(known) < len(groups):
            return [_Span(0, self._process_count, groups)]
        spans: list[_Span] = []
        for (first, last), group in sorted(known):
            if spans and first < spans[-1].last:
                spans[-1].groups.append(group)
                spans[-1].last = max(last, spans[-1].last)
            else:
                spans.append(_Span(first, last, [group]))
        return spans

    def _read(self, span: _Span) -> Rows:
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
        rows = Rows(*deliveries_of(path, self._table.read_group(group)))
        check_range(path, "process", rows.process, 0, self._process_count, "process")
        check_range(path, "message", rows.message, 0, self._message_count, "message")
        stated = self._stated_range(group)
        if stated is not None and stated != (rows.process.min(), rows.process.max()):
            raise Misuse(f"{path} is damaged: row group {group} does not match its statistics")
        return rows

    def _stated_range(self, group: int) -> tuple[int, int] | None:
        return self._table.group_range(group, "process")

    def _log(self, process: int, parts: Sequence[Rows]) -> Log:
        """A log from its parts, in the order of positions."""
        if not parts:
            return _SILENT
        rows = joined(parts)
        expected = np.arange(len(rows.position))
        if not np.array_equal(rows.position, expected):
            order = np.argsort(rows.position, kind="stable")
            rows = rows.at(order)
            if not np.array_equal(rows.position, expected):
                wrong = int(np.flatnonzero(rows.position != expected)[0])
                raise Misuse(
                    f"{self._table.path}: the positions of process {process} are not 0, 1, 2, ...: "
                    f"{rows.position[wrong]} where {wrong} should be"
                )
        return Log(rows.message, rows.time_ns)


_SILENT = Log(np.empty(0, np.int32), np.empty(0, np.int64))


def _extents(rows: Rows) -> Iterator[tuple[int, int, int, bool]]:
    """Each process with its first and last row, and whether its positions are 0, 1, 2, ... as they are."""
    changes = np.flatnonzero(rows.process[1:] != rows.process[:-1]) + 1
    starts = np.concatenate(([0], changes))
    ends = np.append(changes, len(rows.process))
    expected = np.arange(len(rows.process)) - np.repeat(starts, ends - starts)
    dense = ~np.logical_or.reduceat(rows.position != expected, starts)
    return zip(rows.process[starts].tolist(), starts.tolist(), ends.tolist(), dense.tolist(), strict=True)
