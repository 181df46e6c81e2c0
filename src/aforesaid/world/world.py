"""A world: one loop, one network, machines with their disks, and one seed for all of it."""

import gc
import sys
from asyncio import Task
from asyncio.events import _set_running_loop
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from random import Random
from typing import Any, TypeVar

from aforesaid.core import SECOND, Process
from aforesaid.ground import standing_on
from aforesaid.world.disk import WorldDisk
from aforesaid.world.loop import WorldLoop
from aforesaid.world.machine import Machine
from aforesaid.world.network import Network

WALL_NS = 1_700_000_000 * SECOND
"""About what wall clocks show when a world begins."""

AWAITS_MAX = 100
"""Which nothing that ends awaits so often."""

Result = TypeVar("Result")


class World:
    """Everything there is."""

    def __init__(self, seed: object) -> None:
        self.chance = Random(f"world {seed}")
        self.loop = WorldLoop(Random(f"turns {seed}"))
        self.network = Network(self.loop, Random(f"network {seed}"))
        self.disks: dict[Process, WorldDisk] = {}
        self.machines: list[Machine] = []
        """Every life of every process."""
        self._hosts: dict[Process, str] = {}

    @property
    def now_s(self) -> float:
        """Since the world began."""
        return self.loop.time() - 1.0

    def host(self, name: Process) -> str:
        """The address of a process's machine; it is one of loopback, where nothing need be secured."""
        if name not in self._hosts:
            number = len(self._hosts)
            self._hosts[name] = f"127.1.{number // 250}.{number % 250 + 1}"
            self.network.add(self._hosts[name])
        return self._hosts[name]

    def boot(self, name: Process) -> Machine:
        """A new life of a process, on the disk that it had before."""
        disk = self.disks.setdefault(name, WorldDisk())
        chance = Random(f"{name} {len(self.machines)} {self.chance.random()}")
        wall_ns = WALL_NS + chance.randrange(-SECOND, SECOND)
        machine = Machine(name, self.host(name), self.loop, self.network, chance, disk, wall_ns)
        self.machines.append(machine)
        return machine

    def on(self, machine: Machine, work: Callable[[], Coroutine[Any, Any, Result]]) -> "Task[Result]":
        """Let this machine do some work."""

        def begin() -> "Task[Result]":
            with standing_on(machine):
                return self.loop.create_task(work())

        return Context().run(begin)

    def run(self, main: Coroutine[Any, Any, Result]) -> Result:
        """Until this is done."""
        return self.loop.run_until_complete(main)

    def bury(self) -> None:
        """The end: what was never finished is ended here, and has no more effect on anything."""
        for machine in self.machines:
            machine.kill()
        # Who begins a task on its way out is to begin it here, and not in the loop of this thread.
        _set_running_loop(self.loop)
        try:
            for _, task in self.loop.tasks:
                if not task.done():
                    _end(task)
        finally:
            _set_running_loop(None)
        self.loop.close()


@contextmanager
def quiet_burial() -> Iterator[None]:
    """What the dead were doing is gone when this ends, without a word."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    # What was there before is not looked through: it takes longer than many a world.
    gc.freeze()
    try:
        yield
        gc.collect()
    finally:
        gc.unfreeze()
        sys.unraisablehook = hook


def _end(task: "Task[Any]") -> None:
    work = task.get_coro()
    for _ in range(AWAITS_MAX):
        try:
            work.close()
            return
        except BaseException:
            continue  # It awaits something on its way out.
