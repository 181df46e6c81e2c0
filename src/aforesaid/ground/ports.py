"""The ports."""

import socket
from pathlib import Path
from random import Random
from typing import Any, Protocol


class Disk(Protocol):
    """The files a node keeps. Whatever fails is an OSError."""

    def read(self, path: Path) -> bytes | None:
        """What is in a file; None: there is none."""

    def replace(self, path: Path, data: bytes) -> None:
        """Put this in its place, whole or not at all; forced to the disk when it returns. Its directory is
        made if need be."""

    def begin(self, path: Path, data: bytes) -> int:
        """As `replace`, and the file is there to append to."""

    def append_to(self, path: Path) -> int:
        """A new file to append to; its directory is made, too."""

    def write(self, file: int, data: bytes) -> int:
        """Append; how many bytes were taken."""

    def force(self, file: int) -> None:
        """What was written to this file survives a loss of power from here on."""

    def settle(self, path: Path) -> None:
        """As `force`, for a file that an earlier process may have written."""

    def names(self, directory: Path) -> list[str]:
        """Of the files in a directory, in order; none if there is no such directory."""

    def remove(self, path: Path) -> None:
        """A file that need not be there any more: a loss of power may bring it back."""

    def claim(self, path: Path) -> int:
        """Hold this file until it is closed, or the process ends; BlockingIOError if somebody holds it."""

    def close(self, file: int) -> None: ...


class Ground(Protocol):
    """One machine, as a node sees it."""

    chance: Random
    disk: Disk

    def monotonic_ns(self) -> int: ...

    def time_ns(self) -> int:
        """The wall clock, which may jump."""

    def urandom(self, count: int) -> bytes:
        """Bytes that nobody can guess."""

    def socket(self, family: socket.AddressFamily, kind: socket.SocketKind) -> Any:
        """A new socket, as the standard library's. Streams come from the event loop."""

    def scarce(self, descriptor: int) -> bool:
        """True if a descriptor with this number, just had, is one of the last: others may need those."""
