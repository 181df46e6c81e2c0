"""Streams of a world, as asyncio's transports: bytes in order, in pieces of any size, until they end.

What a process has written is in its own memory until the other end's kernel has room for it; so much of it as
has left arrives even if the process is killed, a prefix of what was written. A cut keeps bytes back until it
is healed, or the connection is given up. A lost piece only takes longer: what is behind it waits.
"""

import asyncio
import errno
import os
import socket
from collections import deque
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from aforesaid.core import Nanoseconds
from aforesaid.world.machine import Machine

if TYPE_CHECKING:
    from aforesaid.world.network import Network

WINDOW = 64 * 1024
"""So many bytes are on their way, or wait to be read, before the writer has to wait."""

PIECE_BYTES_MAX = 16 * 1024
AGAIN_S = 0.2
"""What was lost on the way, or cut off, is sent again after so long."""

GIVEN_UP_S = 30.0
"""A connection on which nothing gets through for so long is reset."""


class Connection:
    """Two ends."""

    def __init__(self, network: "Network", caller: Machine, called: Machine) -> None:
        self.network = network
        self.near, self.far = Pipe(self, caller), Pipe(self, called)
        self.near.other, self.far.other = self.far, self.near
        self.near.open()

    def reset(self) -> None:
        """Both ends hear that it broke."""
        for end in (self.near, self.far):
            end.broke(ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))

    def over(self) -> None:
        if self.near.gone and self.far.gone:
            self.network.ended(self)


class Pipe(asyncio.Transport):
    """One end, and what it has written."""

    other: "Pipe"
    context: Context

    def __init__(self, connection: Connection, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self.gone = False
        """True once the protocol has heard, or its machine's death means, that it is over."""
        self._connection = connection
        self._network = connection.network
        self._protocol: Any = None
        self._unsent = bytearray()
        self._under_way = 0
        """Bytes that left here and were not read there."""
        self._last_arrival: Nanoseconds = 0
        self._way: deque[tuple[Nanoseconds, bytes | None]] = deque()
        """What left here and is not there yet, and when it will be if nothing is cut."""
        self._came: deque[bytes | None] = deque()
        """What the kernel here has for the protocol; None: the other end will write no more."""
        self._reading = True
        self._told_to_read = False
        self._closing = False
        self._ended = False
        """True once it is said that no more will be written."""
        self._end_left = False
        """True once the other end is on its way to hear that."""
        self._high, self._low = 64 * 1024, 16 * 1024
        self._over_high = False
        self._number = self._network.new_number()

    def open(self) -> None:
        """Its process has it; OSError if it can have no more."""
        self.machine.take_descriptor(self._number, self._died)
        self.context = copy_context()

    def fileno(self) -> int:
        return self._number

    def setblocking(self, flag: bool) -> None: ...

    def carry(self, protocol: Any) -> None:
        """The protocol is there: from here on it is told."""
        if not self.gone:
            self._protocol = protocol
            protocol.connection_made(self)
            self._tell()

    # ------------------------------------------------------------------------------------ for the user

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return _Options() if name == "socket" else default

    def is_closing(self) -> bool:
        return self._closing or self.gone

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 64 * 1024 if high is None else high
        self._low = self._high // 4 if low is None else low

    def write(self, data: Any) -> None:
        self.machine.effect()
        if self.gone or self._closing or self._ended:
            return
        self._unsent += data
        self._pump()
        if len(self._unsent) > self._high and not self._over_high:
            self._over_high = True
            self._protocol.pause_writing()

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._tell()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._ended:
            self._ended = True
            self._pump()

    def close(self) -> None:
        """Once what is written has left."""
        if self._protocol is None:
            self.abort()
        elif not self.is_closing():
            self._closing = True
            self.write_eof()

    def abort(self) -> None:
        if not self.gone:
            self._hang_up()
            self.broke(None)

    # ----------------------------------------------------------------------------------- on the way

    def _pump(self) -> None:
        """Let leave what the other end has room for."""
        chance = self._network.chance
        # Never for a few bytes' sake, or pieces would become smaller and smaller.
        while self._unsent and self._under_way <= WINDOW - PIECE_BYTES_MAX:
            size = 1 + int(chance.random() * PIECE_BYTES_MAX)
            piece = bytes(self._unsent[:size])
            del self._unsent[:size]
            self._under_way += len(piece)
            self._leave(piece)
        if self._over_high and len(self._unsent) <= self._low:
            self._over_high = False
            self._later(lambda: self._protocol.resume_writing())
        if self._ended and not self._unsent:
            self._ended_for_good()

    def _ended_for_good(self) -> None:
        if self._protocol is None or self._end_left:
            return
        self._end_left = True
        self._leave(None)
        if self._closing:
            self.broke(None)

    def _leave(self, piece: bytes | None) -> None:
        """In order: nothing arrives before what left earlier."""
        network = self._network
        delay = network.delay_s()
        if network.weather.loss and network.chance.random() < network.weather.loss:
            delay += AGAIN_S
            network.did["piece of a stream late"] += 1
        self._last_arrival = max(network.loop.now_ns + round(delay * 1e9), self._last_arrival + 1)
        self._way.append((self._last_arrival, piece))
        if len(self._way) == 1:
            self._carry_on(0.0)

    def _carry_on(self, cut_off_s: float) -> None:
        """See to what comes first on the way."""
        due, _ = self._way[0]
        wait_s = AGAIN_S if cut_off_s else (due - self._network.loop.now_ns) / 1e9
        self._network.later(max(0.0, wait_s), self._arrive, cut_off_s)

    def _arrive(self, cut_off_s: float) -> None:
        there = self.other
        if not self._way:
            return
        if not self._network.passes(self.machine, there.machine):
            if cut_off_s > GIVEN_UP_S:
                self._network.did["stream given up"] += 1
                self._way.clear()
                self._connection.reset()
            else:
                self._network.did["piece of a stream cut off"] += 1
                self._carry_on(cut_off_s + AGAIN_S)
            return
        _, piece = self._way.popleft()
        if self._way:
            self._carry_on(0.0)
        if not there.gone:
            there._came.append(piece)
            there._tell()
        elif piece is not None:
            # Nobody is there to read it, which is answered.
            self.broke(ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))

    def _hang_up(self) -> None:
        """The other end hears that nobody is here any more."""
        self._unsent.clear()
        error = ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        self._network.later(self._network.delay_s(), self._reach_with, error, 0.0)

    def _reach_with(self, error: OSError, waited_s: float) -> None:
        if self._network.passes(self.machine, self.other.machine) or waited_s > GIVEN_UP_S:
            self.other.broke(error)
        else:
            self._network.later(AGAIN_S, self._reach_with, error, waited_s + AGAIN_S)

    # ----------------------------------------------------------------------------- for the protocol

    def _tell(self) -> None:
        if self._came and self._reading and not self._told_to_read and self._protocol is not None:
            self._told_to_read = True
            self._later(self._read)

    def _read(self) -> None:
        self._told_to_read = False
        if self.gone or not self._reading or not self._came:
            return
        piece = self._came.popleft()
        if piece is None:
            self._protocol.eof_received()
            self.close()
            return
        self.other._under_way -= len(piece)
        self._network.later(0, self.other._pump_if_there)
        self._protocol.data_received(piece)
        self._tell()

    def _pump_if_there(self) -> None:
        if not self.gone:
            self._pump()

    def broke(self, error: Exception | None) -> None:
        """It is over; the protocol hears of it."""
        if self.gone:
            return
        self.gone = True
        self._unsent.clear()
        self._came.clear()
        self.machine.give_back(self._number)
        if self._protocol is not None:
            self._later(lambda: self._protocol.connection_lost(error))
        self._connection.over()

    def _died(self) -> None:
        """Its process was killed: the kernel sends what has left, and then hangs up."""
        if not self.gone:
            self.gone = True
            now, last = self._network.loop.now_ns, self._last_arrival
            self._network.later(max(0, last - now) / 1e9, self._hang_up)
            self._connection.over()

    def _later(self, call: Any) -> None:
        """In a turn of its own machine."""
        self._network.loop.call_soon(call, context=self.context.copy())


class _Options:
    """A socket's options, which change nothing here."""

    def setsockopt(self, *option: int) -> None: ...


class Listening:
    """A socket at which calls are taken, as the standard library's; at a Unix socket nobody calls."""

    family = socket.AF_INET

    def __init__(self, network: "Network", machine: Machine) -> None:
        self.machine = machine
        self._network = network
        self._bound: tuple[str, int] | None = None
        self._backlog = 0
        self._calls: deque[Connection] = deque()
        self._number = network.new_number()
        machine.take_descriptor(self._number, self.close)

    def setblocking(self, flag: bool) -> None: ...

    def setsockopt(self, level: int, option: int, value: int) -> None: ...

    def bind(self, address: Any) -> None:
        if isinstance(address, tuple):
            self._bound = self._network.listen(self, *address)

    def listen(self, backlog: int) -> None:
        self._backlog = backlog

    @property
    def full(self) -> bool:
        """True if no more calls can wait here."""
        return len(self._calls) >= self._backlog

    def call(self, connection: Connection) -> None:
        self._calls.append(connection)
        self._network.loop.readable(self._number, True)

    def accept(self) -> tuple[Pipe, tuple[str, int]]:
        while self._calls and self._calls[0].far.gone:
            self._calls.popleft()
        if not self._calls:
            self._network.loop.readable(self._number, False)
            raise BlockingIOError
        connection = self._calls[0]
        connection.far.open()
        self._calls.popleft()
        return connection.far, (connection.near.machine.host, connection.near.fileno())

    def getsockname(self) -> Any:
        return self._bound

    def fileno(self) -> int:
        return self._number

    def close(self) -> None:
        if self._number >= 0:
            if self._bound is not None:
                self._network.unlisten(self._bound)
            self._network.loop.readable(self._number, False)
            for connection in self._calls:
                connection.far.abort()
            self._calls.clear()
            self.machine.give_back(self._number)
            self._number = -1
