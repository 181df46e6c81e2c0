"""Events in the order they happened in, in the order of processes out, in bounded memory.

Events are deliveries or stable calls: their tables have the same columns.

Rows are buffered up to a limit, then sorted by process and appended to one scratch file as a *chunk*. To give
them back, processes are cut into ranges that fill a row group each. In every chunk a range is one slice, so a
row group is the slices of its range, sorted by process once more. Both sorts are stable, so each process
keeps its local order. A row is written, read and radix-sorted a fixed number of times: the work is linear,
and nothing costs processes times chunks. The file is read and not mapped: mapped pages would count as memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from aforesaid.core import WrongValue
from aforesaid.trace.model import Int32s, Int64s


class Rows(NamedTuple):
    """Columns of `deliveries`, and of `stabilities`."""

    process: Int32s
    position: Int32s
    time_ns: Int64s
    message: Int32s

    def at(self, rows: slice | npt.NDArray[np.intp]) -> "Rows":
        return Rows(self.process[rows], self.position[rows], self.time_ns[rows], self.message[rows])


_TYPES: tuple[np.dtype[Any], ...] = (
    np.dtype(np.int32),
    np.dtype(np.int32),
    np.dtype(np.int64),
    np.dtype(np.int32),
)


class Spill:
    """Takes rows as they come, and gives them back as row groups."""

    def __init__(self, path: Path, memory_rows_max: int) -> None:
        self._path = path
        self._memory_rows_max = memory_rows_max
        self._file: BinaryIO | None = None
        self._buffer: list[Rows] = []
        self._buffered = 0
        self._chunks: list[_Chunk] = []
        self._counts = np.zeros(0, np.int64)
        self.process_max = -1
        self.message_max = -1

    def append(self, rows: Rows) -> None:
        """Takes the arrays over: the caller must not change them afterwards."""
        if not len(rows.process):
            return
        if rows.process.min() < 0 or rows.message.min() < 0:
            raise WrongValue("a row names a process or a message by a negative index")
        self.process_max = max(self.process_max, int(rows.process.max()))
        self.message_max = max(self.message_max, int(rows.message.max()))
        self._buffer.append(rows)
        self._buffered += len(rows.process)
        if self._buffered >= self._memory_rows_max:
            if self._file is None:
                self._file = self._path.open("w+b")
            self._chunks.append(_FileChunk.write(self._file, self._buffered, self._sorted_buffer()))
            self._buffered = 0

    def row_groups(self, rows_max: int) -> Iterator[Rows]:
        """All rows by process, in row groups that hold whole processes unless one alone is too large."""
        if self._buffered:
            self._chunks.append(_MemoryChunk(Rows(*self._sorted_buffer())))
            self._buffered = 0
        bounds = row_group_bounds(self._counts, rows_max)
        cuts = [np.searchsorted(chunk.processes(), bounds).tolist() for chunk in self._chunks]
        for group in range(len(bounds) - 1):
            slices = [
                (chunk, cut[group], cut[group + 1]) for chunk, cut in zip(self._chunks, cuts, strict=True)
            ]
            for rows in _pieces(slices, rows_max):
                yield rows.at(_stable_order(rows.process))

    def close(self) -> None:
        """Drop all rows and the scratch file."""
        self._buffer, self._chunks = [], []
        if self._file is not None:
            self._file.close()
            self._file = None
            self._path.unlink(missing_ok=True)

    def _sorted_buffer(self) -> Iterator[npt.NDArray[Any]]:
        """The buffered rows by process, column by column, so that only one column is there twice."""
        buffer, self._buffer = self._buffer, []
        process = np.concatenate([rows.process for rows in buffer])
        counts = np.bincount(process)
        if len(counts) > len(self._counts):
            self._counts = np.pad(self._counts, (0, len(counts) - len(self._counts)))
        self._counts[: len(counts)] += counts
        order = _stable_order(process)
        yield process[order]
        del process
        for column in range(1, len(Rows._fields)):
            yield np.concatenate([rows[column] for rows in buffer])[order]


def row_group_bounds(counts: Int64s, rows_max: int) -> Int64s:
    """Cuts 0 = b0 < b1 < ... of the processes: row group g holds those from b(g) up to b(g + 1).

    As many processes as fit go together; one with more than `rows_max` rows is alone with its range.
    """
    ends = np.cumsum(counts)
    bounds, rows = [0], 0
    while bounds[-1] < len(counts):
        fitting = int(np.searchsorted(ends, rows + rows_max, side="right"))
        bounds.append(max(fitting, bounds[-1] + 1))
        rows = int(ends[bounds[-1] - 1])
    return np.array(bounds, np.int64)


class _Chunk(Protocol):
    """Rows sorted by process."""

    def processes(self) -> Int32s: ...

    def rows(self, first: int, last: int) -> Rows: ...


@dataclass(frozen=True)
class _MemoryChunk:
    columns: Rows

    def processes(self) -> Int32s:
        return self.columns.process

    def rows(self, first: int, last: int) -> Rows:
        return self.columns.at(slice(first, last))


@dataclass(frozen=True)
class _FileChunk:
    """Four columns one after the other, from a place in the scratch file on."""

    file: BinaryIO
    start: int
    count: int

    @staticmethod
    def write(file: BinaryIO, count: int, columns: Iterator[npt.NDArray[Any]]) -> "_FileChunk":
        start = file.seek(0, 2)
        for column, kind in zip(columns, _TYPES, strict=True):
            file.write(np.ascontiguousarray(column, kind).data)
        return _FileChunk(file, start, count)

    def processes(self) -> Int32s:
        return self._column(0, 0, self.count)

    def rows(self, first: int, last: int) -> Rows:
        return Rows(*(self._column(column, first, last) for column in range(len(_TYPES))))

    def _column(self, column: int, first: int, last: int) -> npt.NDArray[Any]:
        kind = _TYPES[column]
        before = sum(earlier.itemsize for earlier in _TYPES[:column]) * self.count
        values = np.empty(last - first, kind)
        self.file.seek(self.start + before + first * kind.itemsize)
        if self.file.readinto(values.data) != values.nbytes:  # type: ignore[attr-defined]
            raise OSError(f"the scratch file ends before {values.nbytes} bytes")
        return values


def _pieces(slices: Sequence[tuple[_Chunk, int, int]], rows_max: int) -> Iterator[Rows]:
    """The slices joined, at most `rows_max` rows at a time."""
    parts: list[Rows] = []
    room = rows_max
    for chunk, first, last in slices:
        while first < last:
            step = min(last - first, room)
            parts.append(chunk.rows(first, first + step))
            first, room = first + step, room - step
            if not room:
                yield joined(parts)
                parts, room = [], rows_max
    if parts:
        yield joined(parts)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _stable_order(process: Int32s) -> npt.NDArray[np.intp]:
    # NumPy's stable sort is a linear radix sort on 16-bit keys only: so the low half, then the high half.
    order = np.argsort(process.astype(np.uint16), kind="stable")
    if process.max() >> 16:
        high = (process >> 16).astype(np.uint16)
        order = order[np.argsort(high[order], kind="stable")]
    return order
