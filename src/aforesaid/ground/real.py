"""The machine this process runs on."""

import os
import socket
import time
from pathlib import Path
from random import Random

from aforesaid.ground.ports import Disk

RESERVED = 32
"""So many descriptors are left for files, questions and calls of a node's own."""


class RealDisk:
    """The file system."""

    def read(self, path: Path) -> str | None:
        return path.read_text() if path.exists() else None

    def replace(self, path: Path, text: str) -> None:
        beside = path.with_suffix(".new")
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)

    def append_to(self, path: Path) -> int:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What a node said and heard is nobody else's business.
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    write = staticmethod(os.write)

    def claim(self, path: Path) -> int:
        import fcntl  # Not everywhere, and needed here only.

        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(file)
            raise
        return file

    close = staticmethod(os.close)


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
