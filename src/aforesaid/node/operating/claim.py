"""A directory is one node's at a time: two would write one incarnation, and answer at one control socket."""

from pathlib import Path

from aforesaid.core import Misuse
from aforesaid.ground import ground

LOCK = "lock"


class Claim:
    """Holds a directory until it is released, or the process ends in whatever way."""

    def __init__(self, directory: str) -> None:
        path = Path(directory) / LOCK
        self._disk = ground().disk
        try:
            self._file = self._disk.claim(path)
        except BlockingIOError as error:
            raise Misuse(f"directory: a node runs in {directory} already; give each its own") from error
        except OSError as error:
            raise Misuse(f"cannot write {path}: {error.strerror}") from error

    def release(self) -> None:
        self._disk.close(self._file)
