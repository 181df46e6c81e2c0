"""The machine this process runs on."""

import os
import socket
import time
from pathlib import Path
from random import Random

from aforesaid.ground.ports import Disk

OWNER_ONLY = 0o700
"""Directories that a node makes; those that lead to them are as the process makes others."""

RESERVED = 32
"""So many descriptors are left for files, questions and calls of a node's own."""


class RealDisk:
    """The file system."""

    def read(self, path: Path) -> bytes | None:
        return path.read_bytes() if path.exists() else None

    def replace(self, path: Path, data: bytes) -> None:
        os.close(self.begin(path, data))

    def begin(self, path: Path, data: bytes) -> int:
        path.parent.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            while data:
                data = data[os.write(file, data) :]
            os.fsync(file)
            beside.replace(path)
            _force_names(path.parent)
        except BaseException:
            os.close(file)
            raise
        return file

    def append_to(self, path: Path) -> int:
        path.parent.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        # What a node said and heard is nobody else's business.
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    write = staticmethod(os.write)
    # The length of the file is forced with its data; when it was last written is not.
    force = staticmethod(os.fdatasync if hasattr(os, "fdatasync") else os.fsync)

    def settle(self, path: Path) -> None:
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def names(self, directory: Path) -> list[str]:
        return sorted(os.listdir(directory)) if directory.exists() else []

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def claim(self, path: Path) -> int:
        import fcntl  # Not everywhere, and needed here only.

        path.parent.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(file)
            raise
        return file

    close = staticmethod(os.close)


def _force_names(directory: Path) -> None:
    """A file that was forced is not there after a loss of power if its name was not."""
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class RealGround:
    """Its clocks, chance, sockets and files."""

    def __init__(self) -> None:
        self.chance = Random()
        self.disk: Disk = RealDisk()

    monotonic_ns = staticmethod(time.monotonic_ns)
    time_ns = staticmethod(time.time_ns)
    urandom = staticmethod(os.urandom)

    def socket(self, family: socket.AddressFamily, kind: socket.SocketKind) -> socket.socket:
        return socket.socket(family, kind)

    def scarce(self, descriptor: int) -> bool:
        import resource  # Not everywhere, and needed here only.

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # The lowest number that is free is given: a high one tells that most are in use.
        return limit != resource.RLIM_INFINITY and descriptor >= limit - RESERVED


REAL = RealGround()
