"""A journal that is being written: records are gathered, and forced to the disk together.

Law: a record is durable once `commit` has returned, and `durable` tells so. Every start of its owner is an
epoch, written down before the journal takes its first record; it begins a segment of its own, whose title
tells where it went on. What can be read of the segment before and may never have been forced is written again
there: after a kill the kernel still has it, and a loss of power would take it yet. A write that fails ends
the journal for good: what the disk has then, only the next start can tell.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from aforesaid.core import Misuse, WrongValue
from aforesaid.ground import Disk
from aforesaid.journal.records import DATA_BYTES_MAX, UNTOLD, Code, Title, brand_of, record_bytes, title_bytes
from aforesaid.journal.recovery import SEGMENT, SNAPSHOT, Recovered, file_name, numbered, recover

SEGMENT_BYTES_MAX = 16 * 2**20
SNAPSHOT_BYTES = 16 * 2**20
"""With so many bytes of records after a snapshot, the next one is due: so much is read by a restart."""


class Journal:
    """The journal of one owner in one directory, from one start on."""

    def __init__(
        self,
        disk: Disk,
        directory: Path,
        owner: str,
        epoch_known: int = 0,
        segment_bytes_max: int = SEGMENT_BYTES_MAX,
        snapshot_bytes: int = SNAPSHOT_BYTES,
        code: Code = UNTOLD,
    ) -> None:
        self._disk, self._directory, self._owner, self._code = disk, directory, owner, code
        self._segment_bytes_max, self._snapshot_bytes = segment_bytes_max, snapshot_bytes
        self.recovered: Recovered = recover(disk, directory, owner, epoch_known, code)
        """What stood there before this start."""
        self.epoch = self.recovered.epoch + 1
        self._written = self.recovered.last - self.recovered.unforced
        """The number of the last record that was given its place on the disk."""
        self._checksum = self.recovered.checksum
        self._since_snapshot = sum(map(len, self.recovered.records))
        self._pending: list[bytes] = []
        self._failure: Misuse | None = None
        self._begin(self.recovered.records[self._written - self.recovered.covers :])
        self.last = self._written
        """The number of the last record, durable or not."""
        self.durable = self.last
        """The number of the last record that will survive."""

    @property
    def pending(self) -> int:
        """How many records wait for a commit."""
        return len(self._pending)

    @property
    def snapshot_due(self) -> bool:
        return self._since_snapshot >= self._snapshot_bytes

    def append(self, data: bytes) -> int:
        """A record, whose number is returned; it is not on the disk yet."""
        if len(data) > DATA_BYTES_MAX:
            raise WrongValue(f"a record of {len(data)} bytes; the limit is {DATA_BYTES_MAX}")
        self.last += 1
        self._pending.append(data)
        return self.last

    def commit(self) -> None:
        """Force what was appended to the disk, all of it at once."""
        self.force(self.gathered())

    def gathered(self) -> list[bytes]:
        """The next batch: what was appended since the last one."""
        self._check()
        batch, self._pending = self._pending, []
        return batch

    def force(self, batch: list[bytes]) -> None:
        """Force a batch to the disk. A thread may do it while the next one is gathered, and nothing else."""
        self._check()
        if not batch:
            return
        data = self._records(batch)
        try:
            self._write(data)
            self._disk.force(self._file)
            # Not forced: if it is lost, the next start writes the batch again.
            self._write(record_bytes(self._brand, self._written, b"")[0])
            self.durable = self._written
        except OSError as error:
            raise self._failed(error) from error
        self._since_snapshot += len(data)
        if self._bytes >= self._segment_bytes_max:
            self._rotate()

    def snapshot(self, data: bytes) -> None:
        """What all records up to the last one came to: they are not needed any more, and removed."""
        self.commit()
        title = title_bytes(self._title(self.last))
        record, _ = record_bytes(brand_of(title), self.last, data)
        try:
            self._disk.replace(self._path(self.last, SNAPSHOT), title + record)
        except OSError as error:
            raise self._failed(error) from error
        self._since_snapshot = 0
        self._rotate()
        self._sweep()

    def close(self) -> None:
        try:
            if self._failure is None:
                self.commit()
        finally:
            self._disk.close(self._file)

    # ------------------------------------------------------------------------------------- the parts

    def _begin(self, again: Sequence[bytes] = ()) -> None:
        """Go on in a new segment, whole from the outset, which begins with these records.

        A segment that holds no record that was forced has the same name, and gives way to it.
        """
        path = self._path(self._written + 1, SEGMENT)
        title = title_bytes(self._title(self._written + 1))
        self._brand = brand_of(title)
        records = self._records(again)
        seal, _ = record_bytes(self._brand, self._written, b"")
        data = b"".join((title, records, seal))
        self._bytes = len(data)
        try:
            self._file = self._disk.begin(path, data)
        except OSError as error:
            raise self._failed(error) from error

    def _rotate(self) -> None:
        full = self._file
        self._begin()
        self._disk.close(full)

    def _sweep(self) -> None:
        """Remove what the snapshot covers; what cannot be removed costs room and nothing else."""
        with suppress(OSError):
            names = self._disk.names(self._directory)
            for number, name in numbered(names, SEGMENT) + numbered(names, SNAPSHOT):
                if number < self.last or (number == self.last and name.endswith(SEGMENT)):
                    self._disk.remove(self._directory / name)

    def _records(self, batch: Sequence[bytes]) -> bytes:
        """A batch as it stands on the disk."""
        records = []
        for data in batch:
            self._written += 1
            record, self._checksum = record_bytes(self._brand, self._written, data)
            records.append(record)
        return b"".join(records)

    def _write(self, data: bytes) -> None:
        self._bytes += len(data)
        # A disk that is almost full takes a part, and says why with the rest.
        while data:
            data = data[self._disk.write(self._file, data) :]

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _failed(self, error: OSError) -> Misuse:
        self._failure = Misuse(f"cannot write the journal in {self._directory}: {error.strerror}")
        return self._failure

    def _title(self, number: int) -> Title:
        return Title(self._owner, self.epoch, number, self._checksum, *self._code)

    def _path(self, number: int, suffix: str) -> Path:
        return self._directory / file_name(number, suffix)
