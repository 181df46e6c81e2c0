"""The event loop of a world: its clock jumps, and chance decides whose turn it is.

When nothing is ready the clock goes on to what is due next. What is ready on one machine runs in the order in
which it became ready, as asyncio promises; between machines the order is drawn. A callback takes a little of
the world's time, so that who never rests does not stop the clock. Callbacks of a dead machine are dropped,
those of a halted one wait.
"""

import asyncio
import errno
import os
import socket
from asyncio import Handle, TimerHandle
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop
from random import Random
from typing import TYPE_CHECKING, Any

from aforesaid.core import AforesaidError
from aforesaid.ground import Ground, ground, ground_of
from aforesaid.world.machine import Killed, Machine

if TYPE_CHECKING:
    from aforesaid.world.network import Network

BEGAN_NS = 10**9
STEP_NS_MAX = 4_000
"""A callback takes up to so long."""

THREAD_S_MAX = 0.01
"""Another thread takes up to so long."""

CANCELLED_MAX = 1024
"""So many cancelled timers are carried along."""


class Stuck(AforesaidError):
    """Nothing will ever happen again in this world."""


class WorldLoop(asyncio.BaseEventLoop):
    """One loop for all machines."""

    # asyncio's own, which its stubs do not tell of.
    _ready: "deque[Handle]"
    _scheduled: list[TimerHandle]
    _timer_cancelled_count: int

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self.now_ns = BEGAN_NS
        self.network: Network
        """Set by the network itself."""
        self._chance = chance
        self._readers: dict[int, Handle] = {}
        self._readable: dict[int, None] = {}
        """Sockets with something to read, in the order in which it came."""
        self.tasks: list[tuple[Ground, asyncio.Task[Any]]] = []
        """All there ever were, and on which ground: what a dead machine was doing is never finished, nor
        finalised meanwhile."""
        self.failures: list[dict[str, Any]] = []
        """What nobody caught."""
        self.set_task_factory(self._new_task)
        self.set_exception_handler(self._failed)

    def time(self) -> float:
        return self.now_ns / 1e9

    # ------------------------------------------------------------------------------- one turn of the loop

    def _run_once(self) -> None:
        for descriptor in self._readable:
            handle = self._readers.get(descriptor)
            # What a halted machine does not read is there when it goes on.
            if handle is not None and _runs(_ground_of(handle)):
                self._ready.append(handle)
        self._wake()
        turns: dict[Ground, deque[Handle]] = {}
        for handle in self._ready:
            turns.setdefault(_ground_of(handle), deque()).append(handle)
        self._ready.clear()
        machines = list(turns)
        while machines:
            place = int(self._chance.random() * len(machines))
            handles = turns[machines[place]]
            self._take_turn(machines[place], handles.popleft())
            if not handles:
                del machines[place]

    def _take_turn(self, machine: Ground, handle: Handle) -> None:
        if handle._cancelled:
            return
        if isinstance(machine, Machine) and not machine.runs:
            machine.put_off(handle)
            return
        self.now_ns += 1 + int(self._chance.random() * STEP_NS_MAX)
        handle._run()

    def _wake(self) -> None:
        """What is due is ready; if nothing is, the clock jumps to what is due next."""
        scheduled = self._scheduled
        if self._timer_cancelled_count > CANCELLED_MAX:
            scheduled[:] = [handle for handle in scheduled if not handle.cancelled()]
            heapify(scheduled)
            self._timer_cancelled_count = 0
        while scheduled and scheduled[0].cancelled():
            heappop(scheduled)
            self._timer_cancelled_count -= 1
        if not self._ready and not self._stopping:  # type: ignore[attr-defined]
            if not scheduled:
                raise Stuck("nothing is ready, and nothing will be due")
            self.now_ns = max(self.now_ns, round(scheduled[0].when() * 1e9))
        now = self.time() + 1e-9
        while scheduled and scheduled[0].when() < now:
            self._ready.append(heappop(scheduled))

    def ready_again(self, handle: Handle) -> None:
        """What was put off runs after all."""
        self._ready.append(handle)

    # ------------------------------------------------------------------------------- what asyncio asks for

    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        self._readers[_number(fd)] = Handle(callback, args, self)

    def remove_reader(self, fd: Any) -> bool:
        return self._readers.pop(_number(fd), None) is not None

    def readable(self, descriptor: int, something: bool) -> None:
        """Whether a socket has something to read."""
        if something:
            self._readable[descriptor] = None
        else:
            self._readable.pop(descriptor, None)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        host = self.network.names.get(host, host)
        if not self.network.knows(host):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, options.get("type", 0), 0, "", (host, port))]

    async def create_connection(self, protocol_factory: Any, host: Any, port: Any, **options: Any) -> Any:  # type: ignore[override]
        return await self.network.connect(protocol_factory, host, port)

    async def connect_accepted_socket(self, protocol_factory: Any, sock: Any, **options: Any) -> Any:
        if sock.gone:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        protocol = protocol_factory()
        sock.carry(protocol)
        return sock, protocol

    async def create_unix_server(self, protocol_factory: Any, path: Any = None, **options: Any) -> Any:
        return asyncio.Server(self, [options["sock"]], protocol_factory, None, 100, None)

    def _start_serving(self, *parts: Any) -> None:
        """Nobody calls at a Unix socket of a world."""

    def _stop_serving(self, sock: Any) -> None:
        sock.close()

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        """What a thread would do, done a little later in one go."""
        done = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(result)

        self.call_later(self._chance.random() * THREAD_S_MAX, work)
        return done

    def _write_to_self(self) -> None:
        """There is no other thread."""

    # ------------------------------------------------------------------------------------------ the parts

    def _new_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=self, **options)
        # A dead machine's tasks never end.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.tasks.append((ground(), task))
        return task

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Killed):
            self.failures.append(context)


def _ground_of(handle: Handle) -> Ground:
    return ground_of(handle._context)  # type: ignore[attr-defined]


def _runs(machine: Ground) -> bool:
    return not isinstance(machine, Machine) or machine.runs


def _number(descriptor: Any) -> int:
    return descriptor if isinstance(descriptor, int) else int(descriptor.fileno())
