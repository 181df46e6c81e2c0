"""The trace segments of a node: what it said and delivered, on disk before anyone else can know.

Records (`aforesaid.wire.segments`) are written before the frames of the same turn leave. So whatever kills
the process, what others have of it is in its segments, and all that it had delivered before it; what may be
missing is a last record, or a tail of events that nobody has seen. A power failure may take more: nothing is
forced to disk.
"""

from pathlib import Path
from typing import Protocol

import msgspec

from aforesaid.core import Misuse
from aforesaid.ground import ground
from aforesaid.node.operating.logs import tell
from aforesaid.wire.segments import SUFFIX, Event, Origin, record_of


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

    def mark(self) -> tuple[int, int]:
        """Force all of it to the disk; the segment and the byte where the next event will stand."""

    def close(self) -> None: ...


class SegmentWriter:
    """Appends events to files; rotates these by size."""

    def __init__(self, directory: Path, origin: Origin, bytes_max: int, forces: bool = False) -> None:
        """`forces`: no segment is left before it is forced to the disk."""
        self._disk = ground().disk
        self._forces = forces
        self._directory = directory
        self._origin = origin
        self._bytes_max = bytes_max
        self._events: list[Event] = []
        self._failure: Misuse | None = None
        """What stopped the writing, for good: nobody could read what came after a record that is torn."""
        try:
            self._file = self._disk.append_to(self._path_of(origin))
        except OSError as error:
            raise self._failed(error) from error
        try:
            self._begin()
        except BaseException:
            # Nobody has this writer: nobody else can close its file.
            self._disk.close(self._file)
            raise

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
                self._rotate()

    def mark(self) -> tuple[int, int]:
        self.write()
        try:
            self._disk.force(self._file)
        except OSError as error:
            raise self._failed(error) from error
        return self._origin.segment, self._length

    def _rotate(self) -> None:
        """Go on in a new file; if none can be had, as when descriptors have run out, in this one for now."""
        if self._forces:
            self.mark()
        origin = msgspec.structs.replace(self._origin, segment=self._origin.segment + 1)
        try:
            file = self._disk.append_to(self._path_of(origin))
        except OSError as error:
            tell(
                origin.name,
                "cannot rotate",
                level="warning",
                path=str(self._path_of(origin)),
                error=error.strerror,
            )
            self._bytes = 0
            return
        full, self._file, self._origin = self._file, file, origin
        try:
            self._begin()
        finally:
            self._disk.close(full)

    def close(self) -> None:
        try:
            if self._failure is None:
                self.write()
        finally:
            self._disk.close(self._file)

    def _begin(self) -> None:
        self._bytes = self._length = 0
        self._write(self._origin)

    def _path_of(self, origin: Origin) -> Path:
        return self._directory / f"{origin.name}-{origin.incarnation}-{origin.segment:06d}{SUFFIX}"

    def _write(self, value: Origin | list[Event]) -> None:
        record = record_of(value)
        self._bytes += len(record)
        self._length += len(record)
        try:
            # A disk that is almost full takes a part, and says why with the rest.
            while record:
                record = record[self._disk.write(self._file, record) :]
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> Misuse:
        self._failure = Misuse(f"cannot write {self._path_of(self._origin)}: {error.strerror}")
        return self._failure
