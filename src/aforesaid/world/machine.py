"""A machine of a world, from the start of its process to the end: the ground its node stands on."""

import errno
import os
import socket
from asyncio import Handle
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from aforesaid.core import Nanoseconds, Process
from aforesaid.ground import Disk

if TYPE_CHECKING:
    from aforesaid.world.disk import WorldDisk
    from aforesaid.world.network import Network

BOOT_NS_MAX = 10**15
"""Monotonic clocks count from when their machine was switched on."""

DESCRIPTORS_MAX = 1024
RESERVED = 32
"""The last ones, which are not for strangers."""


class Killed(BaseException):
    """The process was killed, in the middle of what it was doing."""


class Clockwork(Protocol):
    """What a machine needs of its world's loop."""

    now_ns: Nanoseconds

    def ready_again(self, handle: Handle) -> None: ...


class Machine:
    """One life of one process."""

    def __init__(
        self,
        name: Process,
        host: str,
        loop: Clockwork,
        network: "Network",
        chance: Random,
        disk: "WorldDisk",
        wall_ns: int,
    ) -> None:
        self.name = name
        self.network = network
        self.host = host
        """Its address."""
        self.chance = chance
        self.disk: Disk = disk.of(self)
        self.alive = True
        self.halted = False
        self._stands_still_until: Nanoseconds = 0
        """While it waits for its disk."""
        self.fuse: int | None = None
        """After so many more effects on the outside it is killed, in the middle of its turn."""
        self.wall_ns = wall_ns
        """How far its wall clock is ahead of the world's."""
        self.descriptors_max = DESCRIPTORS_MAX
        self.open: dict[int, Callable[[], None]] = {}
        """What it has open, and how each is closed when it dies."""
        self.on_death: Callable[[Machine], None] = _nobody_mourns
        self._loop = loop
        self._boot_ns = chance.randrange(BOOT_NS_MAX)
        self._late: list[Handle] = []

    @property
    def runs(self) -> bool:
        return self.alive and not self.halted and self._loop.now_ns >= self._stands_still_until

    # -------------------------------------------------------------------------------- what a node sees

    def monotonic_ns(self) -> Nanoseconds:
        return self._loop.now_ns + self._boot_ns

    def time_ns(self) -> Nanoseconds:
        return self._loop.now_ns + self.wall_ns

    def urandom(self, count: int) -> bytes:
        return self.chance.randbytes(count)

    def socket(self, family: socket.AddressFamily, kind: socket.SocketKind) -> Any:
        return self.network.new_socket(self, kind)

    def scarce(self, descriptor: int) -> bool:
        return len(self.open) > self.descriptors_max - RESERVED

    # ----------------------------------------------------------------------------- what happens to it

    def effect(self) -> None:
        """Called before each effect on the outside: it may be the last thing that this process wanted."""
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                self.fuse = None
                self.kill()
        if not self.alive:
            raise Killed(self.name)

    def kill(self) -> None:
        if not self.alive:
            return
        self.alive = False
        self._late.clear()
        for close in list(self.open.values()):
            close()
        self.open.clear()
        self.on_death(self)

    def halt(self) -> None:
        self.halted = True

    def go_on(self) -> None:
        self.halted = False
        self._catch_up()

    def stand_still(self, seconds: float) -> None:
        """What it is doing takes so long: nothing else of it happens meanwhile."""
        begins = max(self._loop.now_ns, self._stands_still_until)
        self._stands_still_until = begins + round(seconds * 1e9)
        wait_s = (self._stands_still_until - self._loop.now_ns) / 1e9
        self.network.later(wait_s + 1e-9, self._catch_up)

    def _catch_up(self) -> None:
        if self.runs:
            late, self._late = self._late, []
            for handle in late:
                self._loop.ready_again(handle)

    def put_off(self, handle: Handle) -> None:
        if self.alive:
            self._late.append(handle)

    def take_descriptor(self, number: int, close: Callable[[], None]) -> None:
        if len(self.open) >= self.descriptors_max:
            self.network.did["no descriptor left"] += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self.open[number] = close

    def give_back(self, number: int) -> None:
        self.open.pop(number, None)


def _nobody_mourns(machine: Machine) -> None: ...
