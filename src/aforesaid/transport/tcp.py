"""Streams on asyncio: bytes in order between two addresses, until the connection is lost, and then no more.

Of what was written to a lost connection, a prefix has arrived. Nobody here connects again: who it was that
was lost, and whether to look for him, is for others.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from aforesaid.ground import ground
from aforesaid.transport.address import Address

HANDSHAKE_S = 5.0
"""How long a connection, and TLS on it, may take to come about."""


READ_BYTES = 256 * 1024
"""At most so many are read at a time."""

_BUFFERS: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()
"""One for all streams of a loop: what was read into it is taken out before the loop reads again. To allocate
as much for each read takes longer than a read."""


class Stream(asyncio.BufferedProtocol):
    """One connection. `on_data(data)` and `on_lost()` are set by whoever uses it."""

    def __init__(self, on_open: "Callable[[Stream], None] | None" = None) -> None:
        self._on_open = on_open
        self._transport: Any = None
        self._buffer = memoryview(b"")
        self.on_data: Callable[[bytes], None] = _ignore
        self.on_lost: Callable[[], None] = _ignore_nothing
        self.on_drained: Callable[[], None] = _ignore_nothing
        """Called when less than half of what `limit` allows is left to be written."""
        self._now = ground().monotonic_ns
        self.heard_ns = self.spoke_ns = self._now()
        """When bytes last came, and when some were last written."""
        self.lost = False
        """True once nothing more can be written, or will be handed over."""
        self.open = True
        """False once asyncio has done with it."""

    # ------------------------------------------------------------------------------------ for the user

    @property
    def ssl_object(self) -> ssl.SSLObject | None:
        found: ssl.SSLObject | None = self._transport.get_extra_info("ssl_object")
        return found

    @property
    def buffered(self) -> int:
        """How many written bytes the kernel has not taken yet."""
        size: int = self._transport.get_write_buffer_size()
        return size

    def limit(self, high: int) -> None:
        """How many bytes may wait before it is worth telling that they are gone."""
        self._transport.set_write_buffer_limits(high=high, low=high // 2)

    def write(self, data: bytes) -> None:
        # A connection that just broke is closing, and `on_lost` is about to be called.
        if not self.lost and not self._transport.is_closing():
            self.spoke_ns = self._now()
            self._transport.write(data)

    def pause(self) -> None:
        """Take no more bytes for now: the other end's kernel, and then the other end, will feel it."""
        if not self.lost:
            self._transport.pause_reading()

    def resume(self) -> None:
        if not self.lost:
            self.heard_ns = self._now()
            self._transport.resume_reading()

    def close(self) -> None:
        """End the connection once what is written is sent. Nothing that comes is handed over any more."""
        self._end()
        self._transport.close()

    def finish(self) -> None:
        """End the connection once the other end has read all that is written, and has closed it.

        To close with bytes unread resets a connection, and takes from the other end what it has not read. So
        bytes are taken still, for nobody, until the other end closes. TLS does so by itself.
        """
        self._end()
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.resume_reading()
            self._transport.write_eof()
        else:
            self._transport.close()

    def abort(self) -> None:
        """End the connection now."""
        self._end()
        self._transport.abort()

    def _end(self) -> None:
        self.lost = True
        self.on_data, self.on_lost, self.on_drained = _ignore, _ignore_nothing, _ignore_nothing

    # ------------------------------------------------------------------------------------- for asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        loop = asyncio.get_running_loop()
        self._buffer = _BUFFERS.get(loop) or _BUFFERS.setdefault(loop, memoryview(bytearray(READ_BYTES)))
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._on_open is not None:
            self._on_open(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        self.heard_ns = self._now()
        self.on_data(data)

    def resume_writing(self) -> None:
        self.on_drained()

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self.open = False
        self.on_lost()


def _ignore(data: bytes) -> None:
    """Nobody listens."""


def _ignore_nothing() -> None:
    """Nobody wants to know."""


async def dial(address: Address, context: ssl.SSLContext | None) -> Stream:
    """Connect; raises OSError (ssl.SSLError and TimeoutError are such)."""
    loop = asyncio.get_running_loop()
    secure: dict[str, Any] = (
        {}
        if context is None
        else {"ssl": context, "server_hostname": "aforesaid", "ssl_handshake_timeout": HANDSHAKE_S}
    )
    async with asyncio.timeout(2 * HANDSHAKE_S):
        _, stream = await loop.create_connection(Stream, address.host, address.port, **secure)
    return stream
