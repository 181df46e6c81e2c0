"""A directory is one node's at a time: two would write one incarnation, and answer at one control socket."""

import os
from pathlib import Path

from aforesaid.core import Misuse

_FILE = "lock"


class Claim:
    """Holds a directory until it is released, or the process ends in whatever way."""

    def __init__(self, directory: str) -> None:
        import fcntl  # Not everywhere, and needed here only.

        path = Path(directory) / _FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise Misuse(f"cannot write {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            if isinstance(error, BlockingIOError):
                raise Misuse(f"directory: a node runs in {directory} already; give each its own") from error
            raise Misuse(f"cannot lock {path}: {error.strerror}") from error

    def release(self) -> None:
        os.close(self._file)
