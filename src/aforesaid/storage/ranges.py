"""A file's bytes by ranges, with as few requests as a store can do with."""

from typing import Any

from aforesaid.storage.place import Place, Remote

END_BYTES = 1 << 16
"""What is read of a file's end when it is opened: a footer of Parquet's fits, and so do small files."""
AHEAD_BYTES = 16 << 20
"""How much of what is expected a store is asked for at a time."""


class Ranges:
    """A file that was opened once: its size and its last bytes are known.

    On this machine it is opened anew for each range, so that a thousand of them hold no descriptors. In a
    store there is nothing to hold, and each opening would be a request; a small file is kept whole there.
    It can be pickled: whoever gets it opens the file when it needs it, and its end is not read again.
    """

    def __init__(self, there: Place) -> None:
        self._there = there
        file: Any = there.open("rb")
        self.size = int(file.seek(0, 2))
        start = max(0, self.size - END_BYTES)
        file.seek(start)
        self._end = memoryview(file.read(self.size - start))
        self._remote = isinstance(there, Remote)
        self._file = file if self._remote else None
        if not self._remote:
            file.close()
        self._expected = 0
        self._ahead = 0, memoryview(b"")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_end": bytes(self._end), "_ahead": (0, b"")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= {**state, "_end": memoryview(state["_end"]), "_ahead": (0, memoryview(b""))}

    def last(self, count: int) -> memoryview:
        """The last bytes; all of them if there are no more."""
        if count <= len(self._end):
            return self._end[len(self._end) - count :]
        return self.read(max(0, self.size - count), self.size)

    def forget(self) -> None:
        """Hold no more memory than it takes to ask for a range."""
        if not self._remote or len(self._end) < self.size:
            self._end = memoryview(b"")

    def expect(self, end: int) -> None:
        """All up to there will be read, range after range: a store is asked for much of it at a time."""
        self._expected = end
        self._ahead = 0, memoryview(b"")

    def read(self, start: int, end: int) -> memoryview:
        if not self._remote:
            with self._there.open("rb") as file:
                file.seek(start)
                return memoryview(file.read(end - start))
        if len(self._end) == self.size:
            return self._end[start:end]
        first, content = self._ahead
        if not first <= start <= end <= first + len(content):
            stop = max(end, min(self._expected, start + AHEAD_BYTES))
            first, content = start, memoryview(self.source().read_at(stop - start, start))
            # What ends where it was asked for is not asked for again.
            self._ahead = (first, content) if stop > end else (0, memoryview(b""))
        return content[start - first : end - first]

    def source(self) -> Any:
        """What PyArrow reads the file from by itself."""
        if not self._remote:
            return self._there
        if self._file is None:
            self._file = self._there.open("rb")
        return self._file
