"""The disk of a machine of a world: it fills up, is slow, and without power loses what was not forced."""

import errno
import os
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aforesaid.world.machine import Machine

NUMBERS = 10**6
"""Descriptors of files, apart from those of sockets."""


@dataclass
class _File:
    data: bytearray = field(default_factory=bytearray)
    forced: int = 0
    """So many bytes would survive a loss of power."""


class WorldDisk:
    """Files by path; they outlive the processes that write them."""

    def __init__(self) -> None:
        self.files: dict[Path, _File] = {}
        self.removed: dict[Path, _File] = {}
        """What may come back when power is lost."""
        self.room: int | None = None
        """So many bytes more can be written; None: any number."""
        self.slow_s = 0.0
        """How long a write takes, on average; who writes waits for it."""
        self.torn: set[Path] = set()
        """Files of which something was lost."""
        self._claims: dict[Path, int] = {}
        self._numbers = count(NUMBERS)

    def of(self, machine: "Machine") -> "OpenDisk":
        """As this machine's process sees it."""
        return OpenDisk(self, machine)

    def lose_power(self, chance: Random) -> int:
        """What was not forced is gone, from anywhere on, or was never written in places; how many bytes."""
        lost = 0
        for path, file in self.removed.items():
            if path not in self.files and chance.random() < 0.5:
                self.files[path] = file
        self.removed.clear()
        for path, file in self.files.items():
            keep = chance.randint(file.forced, len(file.data))
            gone = len(file.data) - keep
            del file.data[keep:]
            if chance.random() < 0.5:
                # Pages reach a disk in any order.
                hole = slice(*sorted(chance.randint(file.forced, keep) for _ in range(2)))
                file.data[hole] = bytes(hole.stop - hole.start)
                gone += hole.stop - hole.start
            if gone:
                self.torn.add(path)
            lost += gone
        return lost

    def number(self) -> int:
        return next(self._numbers)

    def take(self, data: bytes) -> bytes:
        """As much of it as there is room for; OSError if there is none."""
        if self.room is None:
            return data
        if not self.room and data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = data[: self.room]
        self.room -= len(taken)
        return taken

    def claim(self, path: Path, number: int) -> None:
        if path in self._claims:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))
        self._claims[path] = number

    def release(self, path: Path) -> None:
        self._claims.pop(path, None)


class OpenDisk:
    """What one process has open on a disk."""

    def __init__(self, disk: WorldDisk, machine: "Machine") -> None:
        self._disk = disk
        self._machine = machine
        self._files: dict[int, _File] = {}
        self._claimed: dict[int, Path] = {}

    def read(self, path: Path) -> bytes | None:
        file = self._disk.files.get(path)
        return None if file is None else bytes(file.data)

    def replace(self, path: Path, data: bytes) -> None:
        self._machine.effect()
        self._wait()
        if len(self._disk.take(data)) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._disk.files[path] = _File(bytearray(data), forced=len(data))

    def begin(self, path: Path, data: bytes) -> int:
        number = self._opened()
        try:
            self.replace(path, data)
        except OSError:
            self.close(number)
            raise
        self._files[number] = self._disk.files[path]
        return number

    def append_to(self, path: Path) -> int:
        self._machine.effect()
        if path in self._disk.files:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        number = self._opened()
        self._files[number] = self._disk.files[path] = _File()
        return number

    def write(self, file: int, data: bytes) -> int:
        self._machine.effect()
        self._wait()
        taken = self._disk.take(data)
        self._files[file].data += taken
        return len(taken)

    def force(self, file: int) -> None:
        self._machine.effect()
        self._files[file].forced = len(self._files[file].data)

    def settle(self, path: Path) -> None:
        self._machine.effect()
        self._disk.files[path].forced = len(self._disk.files[path].data)

    def names(self, directory: Path) -> list[str]:
        return sorted(path.name for path in self._disk.files if path.parent == directory)

    def remove(self, path: Path) -> None:
        self._machine.effect()
        if (file := self._disk.files.pop(path, None)) is not None:
            self._disk.removed[path] = file

    def claim(self, path: Path) -> int:
        self._machine.effect()
        number = self._opened()
        try:
            self._disk.claim(path, number)
        except OSError:
            self._machine.give_back(number)
            raise
        self._claimed[number] = path
        return number

    def close(self, file: int) -> None:
        self._machine.give_back(file)
        self._files.pop(file, None)
        if (path := self._claimed.pop(file, None)) is not None:
            self._disk.release(path)

    def _wait(self) -> None:
        if self._disk.slow_s:
            self._machine.network.did["slow write"] += 1
            self._machine.stand_still(self._machine.chance.uniform(0.0, 2 * self._disk.slow_s))

    def _opened(self) -> int:
        number = self._disk.number()
        self._machine.take_descriptor(number, lambda: self.close(number))
        return number
