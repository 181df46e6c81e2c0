"""A file's bytes by ranges, with few requests to a store, and the next one while one is read."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

from aforesaid.storage.place import Place, Remote

END_BYTES = 1 << 16
"""What is read of a file's end when it is opened: a footer of Parquet's fits, and so do small files."""
AHEAD_BYTES = 8 << 20
"""How much of what is expected a store is asked for at a time."""

Chunk = tuple[int, memoryview]
"""Where in the file it begins, and its bytes."""
NOTHING: Chunk = (0, memoryview(b""))


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
        self._ahead = NOTHING
        self._coming: tuple[int, Future[memoryview]] | None = None
        """Where what follows `_ahead` ends, and its bytes once they are there."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_end": bytes(self._end), "_ahead": None, "_coming": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= {**state, "_end": memoryview(state["_end"]), "_ahead": NOTHING}

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
        """All up to there will be read, range after range: a store is asked for much of it at a time, and for
        what follows while that is worked on."""
        self._expected = end
        self._ahead, self._coming = NOTHING, None

    def read(self, start: int, end: int) -> memoryview:
        if not self._remote:
            with self._there.open("rb") as file:
                file.seek(start)
                return memoryview(file.read(end - start))
        if len(self._end) == self.size:
            return self._end[start:end]
        first, content = self._ahead
        if not first <= start <= end <= first + len(content):
            first, content = self._ahead = self._from(start, end)
        return content[start - first : end - first]

    def _from(self, start: int, end: int) -> Chunk:
        """What is expected from there on, to the end of the range at least."""
        first, content = self._ahead
        coming, self._coming = self._coming, None
        if coming is not None and first <= start <= first + len(content) and end <= coming[0]:
            stop, content = coming[0], _joined(content[start - first :], coming[1].result())
        else:
            stop = max(end, min(self._expected, start + AHEAD_BYTES))
            content = self._fetch(start, stop)
        if stop < self._expected:
            following = min(self._expected, stop + AHEAD_BYTES)
            self._coming = following, _fetching(self._fetch, stop, following)
        return start, content

    def _fetch(self, start: int, stop: int) -> memoryview:
        return memoryview(self.source().read_at(stop - start, start))

    def source(self) -> Any:
        """What PyArrow reads the file from by itself."""
        if not self._remote:
            return self._there
        if self._file is None:
            self._file = self._there.open("rb")
        return self._file


def _joined(rest: memoryview, following: memoryview) -> memoryview:
    return memoryview(b"".join((rest, following))) if rest else following


def _fetching(fetch: Callable[[int, int], memoryview], start: int, stop: int) -> Future[memoryview]:
    """In a thread that ends with its request: a process that has made one may be forked."""
    fetched: Future[memoryview] = Future()

    def work() -> None:
        try:
            fetched.set_result(fetch(start, stop))
        except BaseException as error:
            fetched.set_exception(error)

    Thread(target=work, name="reading ahead", daemon=True).start()
    return fetched
