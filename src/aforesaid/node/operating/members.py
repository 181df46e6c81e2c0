"""The members of a changing group that a node knows of, in its directory: where it looks after a restart."""

from collections.abc import Callable, Iterable
from pathlib import Path

from aforesaid.core import Misuse
from aforesaid.ground import ground
from aforesaid.transport import Address

_FILE = "members"
KEPT = 32
KEEP_CALLS = 10
"""The file is forced to the disk, which takes a while: it is written once in so many calls at most."""


class Members:
    """Their addresses, one per line."""

    def __init__(self, directory: str | None) -> None:
        self._path = None if directory is None else Path(directory) / _FILE
        self._disk = ground().disk
        self._kept: frozenset[Address] = frozenset()
        self._calls = 0

    def read(self) -> list[Address]:
        """None at all if there is no such file, or one that nobody can read: it only saves a search."""
        if self._path is None:
            return []
        try:
            lines = (self._disk.read(self._path) or b"").decode().splitlines()
            return [Address.parse(line) for line in lines]
        except (OSError, UnicodeDecodeError, Misuse):
            return []

    def keep(self, known: Callable[[], Iterable[Address]]) -> None:
        """Write them down if they changed; a disk that takes nothing does not stop a node here."""
        self._calls += 1
        if self._path is None or (self._kept and self._calls % KEEP_CALLS):
            return
        members = frozenset(list(known())[:KEPT])
        if members and members != self._kept:
            try:
                lines = "".join(f"{each}\n" for each in sorted(members))
                self._disk.replace(self._path, lines.encode())
                self._kept = members
            except OSError:
                return
