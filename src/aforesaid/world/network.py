"""The network of a world: datagrams that are lost, doubled, delayed and overtaken, and where streams lead.

Every machine has an address of its own. Cuts are one-way: nothing said by the one reaches the other.
"""

import asyncio
import errno
import os
import socket
from collections import Counter, deque
from contextvars import Context
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from aforesaid.core import Process
from aforesaid.ground import ground
from aforesaid.world.loop import WorldLoop
from aforesaid.world.machine import Machine
from aforesaid.world.streams import Connection, Listening, Pipe

SYN_AGAIN_S = 1.0
"""A call that got no answer is made again after so long, then after twice as long."""

PORTS_FROM = 40_000


@dataclass
class Weather:
    """What happens to what is on its way."""

    loss: float = 0.0
    duplication: float = 0.0
    delay_s: float = 0.001
    jitter_s: float = 0.001
    spike: float = 0.0
    spike_s: float = 0.2
    """A few take so much longer."""
    socket_bytes: int = 4 * 2**20
    """What a socket keeps of datagrams that nobody reads."""


@dataclass
class Ways:
    """How long a datagram passes: the first step of every way is as wide, what follows may be narrow."""

    first_step: int = 0
    """What the kernel tells of it; 0: nothing."""
    passes: tuple[int, int] = (2**16, 2**16)
    """The longest that arrives, until a moment and from then on."""
    turns_s: float = 0.0
    """That moment, by the world's clock."""


class Network:
    """Who is where, and what passes between them."""

    def __init__(self, loop: WorldLoop, chance: Random) -> None:
        self.loop = loop
        self.weather = Weather()
        self.ways = Ways()
        self.did: Counter[str] = Counter()
        self.chance = chance
        self._hosts: set[str] = set()
        self.names: dict[str, str] = {}
        """What a name stands for, of hosts that have one besides their own."""
        self._cut: set[tuple[Process, Process]] = set()
        self._bound: dict[tuple[str, int], WorldSocket] = {}
        self._listening: dict[tuple[str, int], Listening] = {}
        self._connections: dict[Connection, None] = {}
        self._ports = count(PORTS_FROM)
        self._numbers = count(3)
        loop.network = self

    # ------------------------------------------------------------------------------------ for the world

    def add(self, host: str) -> None:
        """There is a machine of this address, whether it runs or not."""
        self._hosts.add(host)

    def knows(self, host: str) -> bool:
        return host in self._hosts

    def cut(self, source: Process, target: Process) -> None:
        """Nothing that the source says reaches the target."""
        self._cut.add((source, target))

    def mend(self, source: Process, target: Process) -> None:
        self._cut.discard((source, target))

    def heal(self) -> None:
        self._cut.clear()

    def passes(self, source: Machine, target: Machine) -> bool:
        return (source.name, target.name) not in self._cut

    def reset_streams(self, share: float) -> None:
        """Some connections break."""
        for connection in list(self._connections):
            if self.chance.random() < share:
                self.did["stream reset"] += 1
                connection.reset()

    # ---------------------------------------------------------------------------------------- datagrams

    def new_socket(self, machine: Machine, kind: socket.SocketKind) -> "WorldSocket | Listening":
        return WorldSocket(self, machine) if kind == socket.SOCK_DGRAM else Listening(self, machine)

    def new_number(self) -> int:
        return next(self._numbers)

    def bind(self, sock: "WorldSocket", host: str, port: int) -> tuple[str, int]:
        address = self._free(host, port, self._bound)
        self._bound[address] = sock
        return address

    def unbind(self, address: tuple[str, int]) -> None:
        self._bound.pop(address, None)

    def datagram(self, source: Machine, address: tuple[str, int], data: bytes) -> None:
        weather, chance = self.weather, self.chance.random
        target = self._bound.get(address)
        if target is None:
            self.did["datagram to nobody"] += 1
            return
        if not self.passes(source, target.machine):
            self.did["datagram cut off"] += 1
            return
        if len(data) > self.ways.passes[self.loop.time() >= self.ways.turns_s]:
            self.did["datagram too long"] += 1
            return
        if weather.loss and chance() < weather.loss:
            self.did["datagram lost"] += 1
            return
        copies = 1
        if weather.duplication and chance() < weather.duplication:
            self.did["datagram doubled"] += 1
            copies = 2
        for _ in range(copies):
            self.later(self.delay_s(), self._arrive, target, data)

    def delay_s(self) -> float:
        weather, chance = self.weather, self.chance.random
        delay = weather.delay_s + chance() * weather.jitter_s
        if weather.spike and chance() < weather.spike:
            self.did["delay spike"] += 1
            delay += weather.spike_s
        return delay

    def later(self, delay_s: float, call: Any, *args: Any) -> None:
        """The network's own doing: no machine's death stops it."""
        self.loop.call_later(delay_s, call, *args, context=Context())

    def _arrive(self, target: "WorldSocket", data: bytes) -> None:
        if target.bound is None:
            return
        if target.queued + len(data) > self.weather.socket_bytes:
            self.did["socket full"] += 1
            return
        target.put(data)

    # ------------------------------------------------------------------------------------------ streams

    def listen(self, listening: Listening, host: str, port: int) -> tuple[str, int]:
        address = self._free(host, port, self._listening)
        self._listening[address] = listening
        return address

    def unlisten(self, address: tuple[str, int]) -> None:
        self._listening.pop(address, None)

    async def connect(self, factory: Any, host: str, port: int) -> tuple[Pipe, Any]:
        """As asyncio's `create_connection`."""
        caller, again_s = _machine(), SYN_AGAIN_S
        caller.effect()
        while True:
            await asyncio.sleep(self.delay_s())
            listening = self._listening.get((host, port))
            if listening is None:
                if not self.knows(host):
                    raise OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
                raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
            if not self.passes(caller, listening.machine) or not self.passes(listening.machine, caller):
                self.did["call cut off"] += 1
            elif not listening.full:
                break
            await asyncio.sleep(again_s)
            again_s *= 2
        connection = Connection(self, caller, listening.machine)
        self._connections[connection] = None
        listening.call(connection)
        protocol = factory()
        connection.near.carry(protocol)
        await asyncio.sleep(self.delay_s())
        return connection.near, protocol

    def ended(self, connection: Connection) -> None:
        self._connections.pop(connection, None)

    def _free(self, host: str, port: int, taken: Any) -> tuple[str, int]:
        while not port:
            port = next(self._ports)
            if (host, port) in taken:
                port = 0
        if (host, port) in taken:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        return host, port


def _machine() -> Machine:
    machine = ground()
    if not isinstance(machine, Machine):
        raise TypeError("streams of a world are for its machines")
    return machine


class WorldSocket:
    """For datagrams, as a socket of the standard library, as far as nodes use one."""

    def __init__(self, network: "Network", machine: Machine) -> None:
        self.machine = machine
        self.family = socket.AF_INET
        self.bound: tuple[str, int] | None = None
        self.queued = 0
        self._loop = network.loop
        self._network = network
        self._arrived: deque[bytes] = deque()
        self._number = self._network.new_number()
        machine.take_descriptor(self._number, self.close)

    def put(self, data: bytes) -> None:
        self._arrived.append(data)
        self.queued += len(data)
        self._loop.readable(self._number, True)

    def setblocking(self, flag: bool) -> None: ...

    def setsockopt(self, level: int, option: int, value: int) -> None: ...

    def connect(self, address: Any) -> None: ...

    def getsockopt(self, level: int, option: int) -> int:
        """How long a packet the first step takes."""
        return self._network.ways.first_step

    def bind(self, address: Any) -> None:
        self.bound = self._network.bind(self, *address)

    def getsockname(self) -> Any:
        return self.bound

    def fileno(self) -> int:
        return self._number

    def sendto(self, data: bytes, address: tuple[str, int]) -> int:
        self.machine.effect()
        self._network.datagram(self.machine, address, data)
        return len(data)

    def recv(self, size: int) -> bytes:
        if not self._arrived:
            self._loop.readable(self._number, False)
            raise BlockingIOError
        data = self._arrived.popleft()
        self.queued -= len(data)
        return data[:size]

    def close(self) -> None:
        if self._number >= 0:
            if self.bound is not None:
                self._network.unbind(self.bound)
                self.bound = None
            self._loop.readable(self._number, False)
            self.machine.give_back(self._number)
            self._number = -1
