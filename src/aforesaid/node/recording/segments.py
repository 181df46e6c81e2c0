"""The trace segments of a node: what it said and delivered, in order, on disk before anyone else can know.

A segment is a file of records: a length and a CRC-32 of four bytes each, big-endian, and a msgpack value. The
first record tells who writes (`Origin`), each other one holds events, as tuples that begin with a letter:
    ("s", number, time, targets or None)           this node said its message `number`; None: to everyone
    ("d", origin, incarnation, number, time)       it delivered this one
    ("k", origin, incarnation, number, time)       it knows that everyone has delivered it
    ("p", peer, incarnation)                       it heard of this incarnation of a peer first
    ("a", peer, incarnation or None)               it admits this newcomer
    ("x", peer, time, how, owed)                   the peer was "evicted" or has "left", or another one
                                                   "told" that it is gone; how many messages said to
                                                   it it had not acknowledged
    ("e", time, how, drained)                      the end: "closed" in order, or "isolated"
Times are nanoseconds since 1970 by the node's own clock.

Records are written before the frames of the same turn leave. So whatever kills the process, what others have
of it is in its segments, and all that it had delivered before it; what may be missing is a last record, or a
tail of events that nobody has seen. A power failure may take more: nothing is forced to disk.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Protocol
from zlib import crc32

import msgspec

from aforesaid.core import Misuse, Process

SUFFIX = ".segment"
VERSION = 1
RECORD_BYTES_MAX = 64 * 2**20
_HEAD = Struct(">II")
_encode = msgspec.msgpack.Encoder().encode

Event = tuple[Any, ...]


class Origin(msgspec.Struct, frozen=True):
    """Who writes a segment: its first record."""

    name: Process
    incarnation: int
    algorithm: str
    cluster: str
    group: tuple[Process, ...]
    """The founding group; of a newcomer, itself."""
    joined: bool
    began_ns: int
    segment: int
    """Which one of this incarnation's, from 1."""
    code_version: str
    version: int = VERSION
    linked: bool | None = None
    """Of the algorithm, which the reader may not have; None in segments of 0.1: it is in the catalog."""
    promises: tuple[str, ...] = ()
    promises_if_crashed: tuple[str, ...] | None = None


class Recorder(Protocol):
    """What a host tells all that happens at its node, in order, as events.

    `write` is called at the end of every turn, before the frames of that turn leave and before the
    application sees its messages: what is on record then cannot be unknown when others know it. Trace
    segments are one recorder; a durable journal or an observer would be another.
    """

    @property
    def pending(self) -> int: ...

    def add(self, event: Event, /) -> None: ...

    def insert(self, place: int, event: Event, /) -> None: ...

    def write(self) -> None: ...

    def close(self) -> None: ...


class SegmentWriter:
    """Appends events to files; rotates these by size."""

    def __init__(self, directory: Path, origin: Origin, bytes_max: int) -> None:
        self._directory = directory
        self._origin = origin
        self._bytes_max = bytes_max
        self._events: list[Event] = []
        self._failure: Misuse | None = None
        """What stopped the writing, for good: nobody could read what came after a record that is torn."""
        self._open()

    @property
    def pending(self) -> int:
        """How many events are not on disk yet: the place of the next one."""
        return len(self._events)

    def add(self, event: Event, /) -> None:
        self._events.append(event)

    def insert(self, place: int, event: Event, /) -> None:
        self._events.insert(place, event)

    def write(self) -> None:
        """Put what was added on disk, as the kernel keeps it."""
        if self._failure is not None:
            raise self._failure
        if self._events:
            self._write(self._events)
            self._events.clear()
            if self._bytes >= self._bytes_max:
                full = self._file
                self._origin = msgspec.structs.replace(self._origin, segment=self._origin.segment + 1)
                self._open()
                os.close(full)

    def close(self) -> None:
        try:
            if self._failure is None:
                self.write()
        finally:
            os.close(self._file)

    def _open(self) -> None:
        origin = self._origin
        self._path = self._directory / f"{origin.name}-{origin.incarnation}-{origin.segment:06d}{SUFFIX}"
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError as error:
            raise self._failed(error) from error
        self._bytes = 0
        self._write(origin)

    def _write(self, value: Any) -> None:
        data = _encode(value)
        record = _HEAD.pack(len(data), crc32(data)) + data
        self._bytes += len(record)
        try:
            # A disk that is almost full takes a part, and says why with the rest.
            while record:
                record = record[os.write(self._file, record) :]
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> Misuse:
        self._failure = Misuse(f"cannot write {self._path}: {error.strerror}")
        return self._failure


def find_segments(path: Path) -> list[Path]:
    """The segments in a directory and below it, or the one file."""
    if path.is_file():
        return [path]
    return sorted(path.rglob(f"*{SUFFIX}"), key=lambda segment: (segment.name, segment))


def torn_bytes(path: Path) -> int:
    """How many bytes at the end of a segment nobody can read: they are in no whole record."""
    data = _read(path)
    return len(data) - sum(_HEAD.size + len(record) for record in _records(data))


def read_segment(path: Path) -> tuple[Origin | None, Iterator[Event]]:
    """Who wrote it and its events, up to the first record that is torn; None if not even that is whole."""
    records = _records(_read(path))
    try:
        origin = msgspec.msgpack.decode(next(records), type=Origin)
    except StopIteration:
        return None, iter(())
    except msgspec.MsgspecError as error:
        raise Misuse(f"{path} is no trace segment: {error}") from error
    if not re.fullmatch(rf"{re.escape(origin.name)}-{origin.incarnation}-\d+{re.escape(SUFFIX)}", path.name):
        raise Misuse(f"{path} holds a segment of {origin.name}-{origin.incarnation}: it was renamed")
    if origin.version > VERSION:
        raise Misuse(f"{path} is of version {origin.version}; this aforesaid reads {VERSION}")
    return origin, (tuple(event) for record in records for event in msgspec.msgpack.decode(record))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Misuse(f"cannot read {path}: {error.strerror}") from error


def _records(data: bytes) -> Iterator[bytes]:
    start = 0
    while start + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, start)
        start += _HEAD.size
        record = data[start : start + length]
        if len(record) < length or crc32(record) != checksum:
            return
        yield record
        start += length
