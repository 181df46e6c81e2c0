"""Segments of nodes while they are written: a stream of spans, each some whole records of one segment.

An offset is, for each log, the segment and the byte up to which it was read: always the end of a record,
since one that is not there from end to end is left for the next time. New logs are found as they appear, and
rotated segments are gone through in their order. The bytes of a batch are cut into as many equal shares as
there are tasks, at the ends of records; one task for each file would leave most cores idle.

A row is a span, packed (`aforesaid.live.spans`): what the JVM hands on is a few values, not an event each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from aforesaid.core import Misuse
from aforesaid.live.spans import read_span
from aforesaid.pipeline.memory import settle, uncollected
from aforesaid.storage import Place, sizes_below
from aforesaid.wire.segments import SUFFIX, first_bytes, whole_bytes

BATCH_BYTES = 48 << 20
"""How much a batch has at most, by and large: a backlog is read in several."""
SPAN_BYTES = 4 << 20
"""What is read at once, by and large, and is one value."""

_SEGMENT = re.compile(rf"(.+)-(\d+){re.escape(SUFFIX)}")

Offset = Mapping[str, Mapping[str, int]]
"""By log: `segment` and `bytes`."""


class Spans:
    """The rows: one for each span."""

    schema = pa.schema([pa.field("span", pa.binary())])

    def pieces(self, root: Place, bytes_max: int) -> Iterator[tuple[Any, int]]:
        raise Misuse("spans are read as a stream: spark.readStream")

    def tables(self, piece: Any) -> Iterator[Any]:
        raise Misuse("spans are read as a stream: spark.readStream")


@dataclass(frozen=True)
class Stretch:
    """Some bytes of a segment."""

    file: Place
    log: str
    segment: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    def read(self) -> bytes:
        with self.file.open("rb") as file:
            file.seek(self.start)
            return file.read(self.size)


@dataclass
class Share(InputPartition):
    """What one task reads."""

    stretches: list[Stretch]


class SegmentTail(DataSourceStreamReader):
    def __init__(self, roots: Sequence[Place], tasks: int) -> None:
        self._roots, self._tasks = list(roots), tasks

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """As far as whole records reach; but not much further than a batch can take, fairly by log."""
        logs = found(self._roots)
        unread = {log: _unread(segments, start.get(log)) for log, segments in logs.items()}
        growing = [log for log in unread if unread[log]]
        share = BATCH_BYTES // max(1, len(growing))
        latest = dict(start)
        for log in growing:
            latest[log] = _reached(unread[log], start.get(log), share)
        return {log: at for log, at in latest.items() if at is not None}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        stretches = list(between(found(self._roots), start, end))
        return shares(stretches, self._tasks)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for stretch in getattr(partition, "stretches", ()):
            with uncollected():
                span = read_span(stretch.read(), stretch.log, stretch.segment, stretch.start)
            yield pa.record_batch([pa.array([span.packed()], pa.binary())], Spans.schema)
        settle()


def found(roots: Sequence[Place]) -> dict[str, list[Stretch]]:
    """The segments of each log, in order, from end to end.

    A segment is begun when the one before it is whole. So names come before sizes: who sees the name of the
    next one sees all of this one.
    """
    logs: dict[str, list[Stretch]] = {}
    for number, root in enumerate(roots):
        names = sizes_below(root)
        sizes = sizes_below(root)
        for path in sorted(names.keys() & sizes.keys()):
            match = _SEGMENT.fullmatch(path or root.name)
            if match is not None:
                log, segment = f"{number}:{match[1]}", int(match[2])
                file = root / path if path else root
                logs.setdefault(log, []).append(Stretch(file, log, segment, 0, sizes[path]))
    for segments in logs.values():
        segments.sort(key=lambda stretch: stretch.segment)
    return logs


def _unread(segments: list[Stretch], at: Mapping[str, int] | None) -> list[Stretch]:
    """What is there of a log behind an offset."""
    reached = (0, 0) if at is None else (at["segment"], at["bytes"])
    return [
        Stretch(each.file, each.log, each.segment, reached[1] if each.segment == reached[0] else 0, each.stop)
        for each in segments
        if (each.segment, each.stop) > reached
    ]


def _reached(unread: list[Stretch], at: Mapping[str, int] | None, most: int) -> Mapping[str, int] | None:
    """How far whole records reach."""
    for stretch in unread:
        end = stretch.start + _whole(stretch, most)
        if end > stretch.start:
            at = {"segment": stretch.segment, "bytes": end}
        most -= end - stretch.start
        if end < stretch.stop or most <= 0:
            break
    return at


def _whole(stretch: Stretch, most: int) -> int:
    """The bytes of its whole records, of at least one if there is one."""
    head = Stretch(stretch.file, stretch.log, stretch.segment, stretch.start, stretch.start + 8).read()
    size = min(stretch.size, max(most, first_bytes(head)))
    return whole_bytes(
        Stretch(stretch.file, stretch.log, stretch.segment, stretch.start, stretch.start + size).read()
    )


def between(logs: Mapping[str, list[Stretch]], start: Offset, end: Offset) -> Iterator[Stretch]:
    """What lies between two offsets, segment by segment."""
    for log, at in end.items():
        for each in _unread(logs.get(log, []), start.get(log)):
            if each.segment < at["segment"]:
                yield each
            elif each.segment == at["segment"] and each.start < at["bytes"]:
                yield Stretch(each.file, log, each.segment, each.start, at["bytes"])


def shares(stretches: Sequence[Stretch], tasks: int) -> list[InputPartition]:
    """Stretches cut to a size and dealt to tasks, the largest first, each to whom has least."""
    total = sum(stretch.size for stretch in stretches)
    most = min(SPAN_BYTES, total // tasks + 1)
    pieces = sorted(
        (piece for each in stretches for piece in _cut(each, most)), key=lambda piece: -piece.size
    )
    dealt: list[list[Stretch]] = [[] for _ in range(min(tasks, len(pieces)))]
    for piece in pieces:
        min(dealt, key=lambda share: sum(each.size for each in share)).append(piece)
    return [Share(share) for share in dealt]


def _cut(stretch: Stretch, most: int) -> Iterator[Stretch]:
    """A stretch in pieces of about so many bytes, cut at the ends of records."""
    start = stretch.start
    while start < stretch.stop:
        rest = Stretch(stretch.file, stretch.log, stretch.segment, start, stretch.stop)
        # What is damaged goes to whoever reads it, in one piece.
        size = rest.size if rest.size <= most else _whole(rest, most) or rest.size
        yield Stretch(stretch.file, stretch.log, stretch.segment, start, start + size)
        start += size
