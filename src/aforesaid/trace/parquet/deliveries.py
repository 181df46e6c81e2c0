"""Reads logs out of `deliveries.parquet`, one after the other (see `by_process`).

A log's positions must be 0, 1, 2, ... once sorted: a gap is a lost row, and no verdict would be right.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, zip_longest

import numpy as np

from aforesaid.core import Misuse
from aforesaid.trace.model import NO_LOG, Log
from aforesaid.trace.parquet.by_process import ByProcess
from aforesaid.trace.parquet.spill import Rows, joined


class Deliveries(ByProcess):
    """The logs of one run's processes."""

    def log(self, process: int) -> Log:
        return self._log(process, self._parts(process))

    def logs(self, processes: range) -> Iterator[tuple[int, Log]]:
        """A slice of the processes. One at the seam of two spans is held back until the last that has it."""
        upcoming = processes.start
        held: list[Rows] = []
        spans = [span for span in self._spans if span.first < processes.stop and span.last >= upcoming]
        if spans:
            self._table.expect([group for span in spans for group in span.groups])
        for span, following in zip_longest(spans, spans[1:]):
            rows = self._read(span)
            for process, first, last, dense in _extents(rows):
                if process not in processes:
                    continue
                for silent in range(upcoming, process):
                    yield silent, NO_LOG
                upcoming = process + 1
                if following is not None and following.first == process:
                    held.append(rows.at(slice(first, last)))
                elif dense and not held:
                    yield process, Log(rows.message[first:last], rows.time_ns[first:last])
                else:
                    log = self._log(process, [*held, rows.at(slice(first, last))])
                    # Before anyone works on it: the parts are as large as the whole.
                    held = []
                    yield process, log
        for silent in range(upcoming, processes.stop):
            yield silent, NO_LOG

    def slices(self, rows_max: int) -> list[range]:
        """All processes, cut where row groups begin, into slices of about so many rows."""
        cuts, rows = [0], 0
        for span in self._spans:
            if rows and rows + span.rows > rows_max and span.first > cuts[-1]:
                cuts.append(span.first)
                rows = 0
            rows += span.rows
        return [range(first, last) for first, last in pairwise([*cuts, self._process_count])]

    def _log(self, process: int, parts: Sequence[Rows]) -> Log:
        """A log from its parts, in the order of positions."""
        if not parts:
            return NO_LOG
        starts = [0, *accumulate(len(part.position) for part in parts)]
        if all(
            np.array_equal(part.position, np.arange(*ends))
            for part, ends in zip(parts, pairwise(starts), strict=True)
        ):
            # The usual case, and a log may be long: no more of it is copied than is kept.
            return Log(
                np.concatenate([part.message for part in parts]),
                np.concatenate([part.time_ns for part in parts]),
            )
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


def _extents(rows: Rows) -> Iterator[tuple[int, int, int, bool]]:
    """Each process with its first and last row, and whether its positions are 0, 1, 2, ... as they are."""
    process, position = rows.process, rows.position
    changes = np.flatnonzero(process[1:] != process[:-1]) + 1
    starts = np.concatenate(([0], changes))
    ends = np.append(changes, len(process))
    follows = np.empty(len(process), np.bool_)
    np.equal(position[1:], position[:-1] + 1, out=follows[1:])
    follows[starts] = position[starts] == 0
    dense = np.logical_and.reduceat(follows, starts)
    return zip(process[starts].tolist(), starts.tolist(), ends.tolist(), dense.tolist(), strict=True)
