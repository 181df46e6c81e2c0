"""The log of one node: what it delivered, in its order, as long as retention says.

Law: a message has an offset, its number in that order, from 1. What is appended is on the disk, as the kernel
keeps it, when `append` returns; without a directory it is in memory. It is not forced: a loss of power may
take the end, never something in between.

The log is a row of *segments*, each a file of records (`journal.records`) or the same in memory: one of
state, then blocks of messages and, now and then, acknowledgments and states again. A state has all that the
records before it came to, so that the oldest segment can go at any time. The records of a file are numbered
on from the file before; a log ends before the first record that cannot be read.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from aforesaid.core import Misuse
from aforesaid.ground import Disk
from aforesaid.journal.records import Damaged, Title, brand_of, read, record_bytes, title_bytes
from aforesaid.node.history.entries import (
    FLOORS_MAX,
    NOBODY,
    Entry,
    Floors,
    Listed,
    above,
    block_bytes,
    raise_floors,
    read_block,
    tops,
)

SUFFIX = ".history"
SEGMENT_BYTES_MAX = 4 * 2**20
SEGMENTS_MIN = 4
"""Retention is counted in whole segments: none is larger than this part of it."""

BLOCK, ACKNOWLEDGED, STATE = b"b", b"a", b"s"
"""How the data of a record begins."""


class _State(msgspec.Struct, array_like=True):
    """What all records before it came to."""

    end: int
    cursor: int
    floors: Listed
    below: Listed
    entered: bool


class Segment:
    """Some blocks."""

    def __init__(self, first: int, path: Path | None) -> None:
        self.first = self.end = first
        """The offset of its first message, and of the one after its last."""
        self.path = path
        self.bytes = 0
        self.newest_ns = 0
        """When its last block was written."""
        self.tops: Floors = {}
        self.blocks: list[bytes] | None = []
        """None: in the file only."""
        self.offsets = array("Q")
        """Of the first message of each block."""

    def add(self, block: bytes, first: int, now_ns: int, entries: Sequence[Entry]) -> None:
        if self.blocks is not None:
            self.blocks.append(block)
        self.offsets.append(first)
        self.end = first + len(entries)
        self.newest_ns = max(self.newest_ns, now_ns)
        self.tops.update(tops(entries))


class DeliveryLog:
    """What one node keeps."""

    def __init__(
        self, disk: Disk, directory: Path | None, owner: str, bytes_max: int, age_ns_max: int | None
    ) -> None:
        self._disk, self._directory, self._owner = disk, directory, owner
        self._bytes_max, self._age_ns_max = bytes_max, age_ns_max
        self._segment_bytes_max = min(SEGMENT_BYTES_MAX, bytes_max // SEGMENTS_MIN)
        self.end = 1
        """The offset that the next message gets."""
        self.cursor = 0
        """Up to here the application has acknowledged all."""
        self.floors: Floors = {}
        """What was ever delivered here, or is known to be lost."""
        self.below: Floors = {}
        """Of that, what is not in the log."""
        self.entered = False
        """Whether this node was ever in its group, with what it was to have of the past."""
        self.pinned: int | None = None
        """From here on nothing goes: somebody is at it."""
        self.segments: list[Segment] = []
        self.bytes = 0
        """Of all segments."""
        self._record = 0
        """The number of the last record."""
        self._checksum = 0
        self._file: int | None = None
        self._brand = 0
        self._read: tuple[Segment, list[bytes]] | None = None
        """What was last read of a file."""
        if directory is not None:
            self._recover(directory)
        self._begin()

    @property
    def first(self) -> int:
        """The offset of the oldest message that is kept."""
        return self.segments[0].first

    def append(self, entries: Sequence[Entry], now_ns: int) -> None:
        """They were delivered, in this order; their floors are raised already."""
        block = block_bytes(self.end, now_ns, entries)
        self._write(BLOCK + block)
        self.segments[-1].add(block, self.end, now_ns, entries)
        self.end += len(entries)
        for author, number in tops(entries).items():
            # In the order of their last words.
            self.floors.pop(author, None)
            self.floors[author] = number
        while len(self.floors) > FLOORS_MAX:
            self.below.pop(author := next(iter(self.floors)), None)
            del self.floors[author]
        if self.segments[-1].bytes >= self._segment_bytes_max:
            self._rotate()
        self.expire(now_ns)

    def acknowledge(self, cursor: int) -> None:
        """The application has all up to this offset."""
        if cursor > self.cursor:
            self.cursor = cursor
            self._write(ACKNOWLEDGED + b"%d" % cursor)

    def adopt(self, floors: Floors) -> None:
        """These are known, and what of them is not in the log never will be."""
        news = above(floors, self.floors)
        if news:
            raise_floors(self.floors, news)
            raise_floors(self.below, news)
            self._write_state()

    def enter(self) -> None:
        """This node is in its group."""
        if not self.entered:
            self.entered = True
            self._write_state()

    def expire(self, now_ns: int) -> None:
        """What is too much, or too old, goes, in whole segments; not what the application may ask for again,
        which the inbox bounds."""
        while len(self.segments) > 1 and self._is_to_go(self.segments[0], now_ns):
            gone = self.segments.pop(0)
            self.bytes -= gone.bytes
            raise_floors(self.below, gone.tops)
            if gone.path is not None:
                self._disk.remove(gone.path)

    def lacking_from(self, floors: Floors) -> int:
        """The offset from which on there may be something that is above these floors."""
        return next((each.first for each in self.segments if above(each.tops, floors)), self.end)

    def since(self, moment_ns: int) -> int:
        """The offset of the first block that was written since."""
        for segment in self.segments:
            if segment.newest_ns >= moment_ns:
                for offset, block in zip(segment.offsets, self._blocks(segment), strict=True):
                    if read_block(block)[1] >= moment_ns:
                        return offset
        return self.end

    def floors_at(self, offset: int) -> Floors:
        """What was known when the message of this offset had not been delivered yet."""
        floors, seen = dict(self.floors), set()
        for _, block in self.blocks(offset):
            first, _, entries = read_block(block)
            for origin, incarnation, number, _ in entries[max(0, offset - first) :]:
                if origin != NOBODY and (origin, incarnation) not in seen:
                    seen.add((origin, incarnation))
                    floors[origin, incarnation] = number - 1
        return floors

    def blocks(self, offset: int, until: int | None = None) -> Iterator[tuple[int, bytes]]:
        """From the block on that has this offset, up to the one that begins with `until`: each with the
        offset at which the next one begins."""
        for segment in list(self.segments):
            if segment.offsets and segment.end > offset:
                place = max(0, bisect_right(segment.offsets, offset) - 1)
                starts = segment.offsets[place:]
                ends = [*starts[1:], segment.end]
                for start, end, block in zip(starts, ends, self._blocks(segment)[place:], strict=True):
                    if until is not None and start >= until:
                        return
                    yield end, block

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            self._disk.close(file)

    # ------------------------------------------------------------------------------------- the parts

    def _is_to_go(self, segment: Segment, now_ns: int) -> bool:
        old = self._age_ns_max is not None and segment.newest_ns < now_ns - self._age_ns_max
        free = segment.end <= self.cursor + 1 and (self.pinned is None or segment.end <= self.pinned)
        return free and (old or self.bytes > self._bytes_max)

    def _blocks(self, segment: Segment) -> list[bytes]:
        if segment.blocks is not None:
            return segment.blocks
        if self._read is None or self._read[0] is not segment:
            path = segment.path or Path()
            contents = read(str(path), self._disk.read(path) or b"")
            found = [each.data[1:] for each in contents.records if each.data.startswith(BLOCK)]
            if len(found) != len(segment.offsets):
                raise Damaged(f"{segment.path}: {len(segment.offsets) - len(found)} blocks are missing")
            self._read = segment, found
        return self._read[1]

    def _begin(self) -> None:
        """Go on in a new segment."""
        path = None
        if self._directory is not None:
            title = title_bytes(Title(self._owner, 0, self._record + 1, self._checksum))
            path = self._directory / f"{self._record + 1:020d}{SUFFIX}"
            self._brand = brand_of(title)
            try:
                self._file = self._disk.begin(path, title)
            except OSError as error:
                raise self._failed(error) from error
        self.segments.append(Segment(self.end, path))
        self._write_state()

    def _rotate(self) -> None:
        full, file = self.segments[-1], self._file
        self._begin()
        if file is not None:
            full.blocks = None
            self._disk.close(file)

    def _write_state(self) -> None:
        floors, below = _listed(self.floors), _listed(self.below)
        state = _State(self.end, self.cursor, floors, below, self.entered)
        self._write(STATE + msgspec.msgpack.encode(state))

    def _write(self, data: bytes) -> None:
        self.segments[-1].bytes += len(data)
        self.bytes += len(data)
        if self._file is None:
            return
        self._record += 1
        record, self._checksum = record_bytes(self._brand, self._record, data)
        try:
            while record:
                record = record[self._disk.write(self._file, record) :]
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> Misuse:
        return Misuse(f"cannot write the history in {self._directory}: {error.strerror}")

    def _recover(self, directory: Path) -> None:
        """What earlier starts have left, up to the first record that cannot be read."""
        paths = [directory / name for name in self._disk.names(directory) if name.endswith(SUFFIX)]
        for path in paths:
            if not self._recover_one(path):
                # What comes after it follows on what is lost.
                self._disk.remove(path)

    def _recover_one(self, path: Path) -> bool:
        contents = read(str(path), self._disk.read(path) or b"")
        title = contents.title
        if title.owner != self._owner:
            raise Damaged(f"{path} is of {title.owner}, not of {self._owner}")
        follows = not self.segments or (title.first, title.follows) == (self._record + 1, self._checksum)
        if not follows or not contents.records:
            return False
        segment = Segment(self.end, path)
        segment.blocks = None
        for record in contents.records:
            self._take(segment, record.data)
            segment.bytes += len(record.data)
            self.bytes += len(record.data)
            self._record, self._checksum = record.sequence, record.checksum
        self.segments.append(segment)
        return True

    def _take(self, segment: Segment, data: bytes) -> None:
        kind, rest = data[:1], data[1:]
        if kind == BLOCK:
            first, now_ns, entries = read_block(rest)
            segment.add(rest, first, now_ns, entries)
            self.end = segment.end
            raise_floors(self.floors, tops(entries))
        elif kind == ACKNOWLEDGED:
            self.cursor = int(rest)
        else:
            state = msgspec.msgpack.decode(rest, type=_State)
            self.end, self.cursor, self.entered = state.end, state.cursor, state.entered
            self.floors = {(origin, number): floor for origin, number, floor in state.floors}
            raise_floors(self.below, {(origin, number): floor for origin, number, floor in state.below})
            if not segment.offsets:
                segment.first = segment.end = state.end
                if not self.segments:
                    self.below = dict(self.floors)  # The segments before it are gone.


def _listed(floors: Floors) -> Listed:
    return [(origin, incarnation, number) for (origin, incarnation), number in floors.items()]
