"""The table of messages of a large run, made ready once and then mapped by whoever needs it.

All that a judgement derives from the table lies in one file. Processes that map it share its pages, and the
system can drop pages and read them again: a table that does not fit into memory is slower, and no more. It is
made with the memory of a few blocks of rows; what lies in between goes through files without a name.
"""

import io
import mmap
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from aforesaid.check.reading import Reader
from aforesaid.trace.model import Lists, Log, Messages, Processes, Run, StabilitiesByProcess
from aforesaid.trace.parquet import ParquetTrace

_ALIGNMENT = 64
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Shelf:
    """Where what was made ready of one run lies: a directory that all machines see."""

    directory: Path

    def put(self, trace: ParquetTrace) -> None:
        """Make a run's table ready; it appears when it is complete."""
        self.directory.mkdir(parents=True, exist_ok=True)
        reader = Reader(_WithMessages(trace, self._messages(trace)), self.room)
        # Every reading needs them, and each worker would make its own.
        _ = reader.recorded.first_child, reader.recorded.last_before
        if len(trace.stabilities):
            _ = reader.history.called
        hidden = self.directory / f".{uuid4().hex}"
        with open(hidden, "wb") as file:
            _write(reader, file, trace.stabilities)
        hidden.rename(self._table)

    def take(self, trace: ParquetTrace) -> Reader:
        """A reader of the run's logs, over the mapped table."""
        with open(self._table, "rb") as file:
            return _read(file, trace.stabilities)

    def room(self, count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array in a file without a name, which is gone when the array is."""
        with tempfile.TemporaryFile(dir=self.directory) as file:
            size = max(1, count * np.dtype(kind).itemsize)
            file.truncate(size)
            return np.frombuffer(mmap.mmap(file.fileno(), size), kind, count)

    @property
    def _table(self) -> Path:
        return self.directory / "table"

    def _messages(self, trace: ParquetTrace) -> Messages:
        with ExitStack() as files:

            def column(kind: npt.DTypeLike) -> _Column:
                return _Column(files.enter_context(tempfile.TemporaryFile(dir=self.directory)), kind)

            numbers = {
                "origin": column(np.int32),
                "number": column(np.int32),
                "time_ns": column(np.int64),
                "sent_after": column(np.int32),
                "to_all": column(np.bool_),
            }
            after = _ListColumn(column(np.int64), column(np.int32))
            audience = _ListColumn(column(np.int64), column(np.int32))
            for block in trace.message_blocks():
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


class _WithMessages:
    """A stored trace with its table of messages elsewhere."""

    def __init__(self, trace: ParquetTrace, messages: Messages) -> None:
        self._trace = trace
        self.messages = messages
        self.run: Run = trace.run
        self.processes: Processes = trace.processes
        self.stabilities: StabilitiesByProcess = trace.stabilities

    def log(self, process: int) -> Log:
        return self._trace.log(process)

    def logs(self) -> Iterator[tuple[int, Log]]:
        return self._trace.logs()


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
