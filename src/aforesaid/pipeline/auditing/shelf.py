"""The table of messages of a large run, made ready once and then mapped by whoever needs it.

All that a judgement derives from the table lies in one file. Processes that map it share its pages, and the
system can drop pages and read them again: a table that does not fit into memory is slower, and no more. It is
made with the memory of a few blocks of rows; what lies in between goes through files without a name.

The driver makes it, of columns that tasks have read. Executors of other machines get a copy from Spark.
"""

import io
import mmap
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from pyspark import SparkFiles

from aforesaid.check.reading import Reader
from aforesaid.trace.model import NO_LOG, Lists, Log, Messages, Processes, Run, StabilitiesByProcess

_ALIGNMENT = 64
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Tables:
    """A trace but for its logs, which are read elsewhere."""

    run: Run
    processes: Processes
    messages: Messages
    stabilities: StabilitiesByProcess

    def log(self, process: int) -> Log:
        return NO_LOG

    def logs(self) -> Iterator[tuple[int, Log]]:
        return iter(())


@dataclass(frozen=True)
class Shelf:
    """The file in which what was made ready of one run lies."""

    path: Path

    def put(
        self, run: Run, processes: Processes, stabilities: StabilitiesByProcess, blocks: Iterable[Messages]
    ) -> None:
        """Make a run's table ready, from its messages in blocks."""
        messages = self._messages(blocks)
        reader = Reader(Tables(run, processes, messages, stabilities), self.room)
        reader.prepare()
        with self.path.open("wb") as file:
            _write(reader, file, stabilities)

    def take(self, stabilities: StabilitiesByProcess) -> Reader:
        """A reader of the run's logs, over the mapped table."""
        # Where Spark has put a copy, unless this is the machine on which it was made.
        path = self.path if self.path.exists() else Path(SparkFiles.get(self.path.name))
        with path.open("rb") as file:
            return _read(file, stabilities)

    def room(self, count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array in a file without a name, which is gone when the array is."""
        # Other machines have no such directory, but one of their own for temporary files.
        directory = self.path.parent if self.path.parent.is_dir() else None
        with tempfile.TemporaryFile(dir=directory) as file:
            size = max(1, count * np.dtype(kind).itemsize)
            file.truncate(size)
            return np.frombuffer(mmap.mmap(file.fileno(), size), kind, count)

    def _messages(self, blocks: Iterable[Messages]) -> Messages:
        with ExitStack() as files:

            def column(kind: npt.DTypeLike) -> _Column:
                return _Column(files.enter_context(tempfile.TemporaryFile(dir=self.path.parent)), kind)

            numbers = {
                "origin": column(np.int32),
                "number": column(np.int32),
                "time_ns": column(np.int64),
                "sent_after": column(np.int32),
                "to_all": column(np.bool_),
            }
            after = _ListColumn(column(np.int64), column(np.int32))
            audience = _ListColumn(column(np.int64), column(np.int32))
            for block in blocks:
                for name, growing in numbers.items():
                    growing.add(getattr(block, name))
                after.add(block.after)
                audience.add(block.audience)
            arrays: dict[str, Any] = {name: growing.mapped() for name, growing in numbers.items()}
            return Messages(**arrays, after=after.mapped(), audience=audience.mapped())


class _Column:
    """A column that grows in a file."""

    def __init__(self, file: IO[bytes], kind: npt.DTypeLike) -> None:
        self._file, self._kind = file, kind
        self.count = 0

    def add(self, part: npt.NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(part, self._kind).data)
        self.count += len(part)

    def mapped(self) -> npt.NDArray[Any]:
        # A file of no bytes cannot be mapped.
        self._file.write(bytes(1))
        self._file.flush()
        memory = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(memory, self._kind, self.count)


class _ListColumn:
    """A column of lists that grows."""

    def __init__(self, offsets: _Column, values: _Column) -> None:
        self._offsets, self._values = offsets, values
        offsets.add(np.zeros(1, np.int64))

    def add(self, part: Lists) -> None:
        self._offsets.add(part.offsets[1:] + self._values.count)
        self._values.add(part.values)

    def mapped(self) -> Lists:
        return Lists(self._offsets.mapped(), self._values.mapped())


class _Pickler(pickle.Pickler):
    """Leaves out the stable calls: they are not in memory, and whoever reads the rest has them too."""

    def __init__(self, file: IO[bytes], stabilities: StabilitiesByProcess, **options: Any) -> None:
        super().__init__(file, **options)
        self._stabilities = stabilities

    def persistent_id(self, thing: object) -> str | None:
        return "stabilities" if thing is self._stabilities else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], stabilities: StabilitiesByProcess, **options: Any) -> None:
        super().__init__(file, **options)
        self._stabilities = stabilities

    def persistent_load(self, name: str) -> StabilitiesByProcess:
        return self._stabilities


def _write(reader: Reader, file: IO[bytes], stabilities: StabilitiesByProcess) -> None:
    """The arrays one after the other, then all else with their places, then the length of that."""
    places: list[tuple[int, int]] = []

    def put(buffer: pickle.PickleBuffer) -> None:
        file.write(bytes(-file.tell() % _ALIGNMENT))
        with buffer.raw() as raw:
            places.append((file.tell(), raw.nbytes))
            file.write(raw)

    rest = io.BytesIO()
    _Pickler(rest, stabilities, protocol=5, buffer_callback=put).dump(reader)
    told = pickle.dumps((rest.getvalue(), places))
    file.write(told)
    file.write(len(told).to_bytes(_LENGTH_BYTES))


def _read(file: IO[bytes], stabilities: StabilitiesByProcess) -> Reader:
    whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    length = int.from_bytes(whole[-_LENGTH_BYTES:])
    data, places = pickle.loads(whole[-_LENGTH_BYTES - length : -_LENGTH_BYTES])
    buffers = [whole[start : start + size] for start, size in places]
    reader: Reader = _Unpickler(io.BytesIO(data), stabilities, buffers=buffers).load()
    return reader
