"""A file's bytes by ranges, with as few requests as a store can do with."""

from typing import Any

from aforesaid.storage.place import Place, Remote

END_BYTES = 1 << 16
"""What is read of a file's end when it is opened: a footer of Parquet's fits, and so do small files."""


class Ranges:
    """A file that was opened once: its size and its last bytes are known.

    On this machine it is opened anew for each range, so that a thousand of them hold no descriptors. In a
    store there is nothing to hold, and each opening would be a request; a small file is kept whole there.
    """

    def __init__(self, there: Place) -> None:
        self._there = there
        file: Any = there.open("rb")
        self.size = int(file.seek(0, 2))
        start = max(0, self.size - END_BYTES)
        file.seek(start)
        self._end = memoryview(file.read(self.size - start))
        self._file = file if isinstance(there, Remote) else None
        if self._file is None:
            file.close()

    def last(self, count: int) -> memoryview:
        """The last bytes; all of them if there are no more."""
        if count <= len(self._end):
            return self._end[len(self._end) - count :]
        return self.read(max(0, self.size - count), self.size)

    def forget(self) -> None:
        """Hold no more memory than it takes to ask for a range."""
        if self._file is None or len(self._end) < self.size:
            self._end = memoryview(b"")

    def read(self, start: int, end: int) -> memoryview:
        if self._file is None:
            with self._there.open("rb") as file:
                file.seek(start)
                return memoryview(file.read(end - start))
        if len(self._end) == self.size:
            return self._end[start:end]
        return memoryview(self._file.read_at(end - start, start))

    def source(self) -> Any:
        """What PyArrow reads the file from by itself."""
        return self._there if self._file is None else self._file
