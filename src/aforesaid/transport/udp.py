"""Datagrams on a non-blocking socket of our own: several per wake-up, and no queue but the kernel's.

asyncio's own datagram endpoints call Python once per datagram and queue without a bound what the kernel does
not take. Here a wake-up takes up to `BURST` datagrams at a time, and what the kernel does not take is not
sent: whoever stands above sends again what matters.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from aforesaid.core import Misuse
from aforesaid.ground import ground
from aforesaid.transport.address import Address

BURST = 64
"""How many datagrams one wake-up takes at most, so that the rest of the loop has its turn."""

KERNEL_BYTES = 4 * 2**20
"""The kernel's buffers, as far as it allows: they take a burst while Python is busy."""

Take = Callable[[list[bytes]], None]


class Datagrams:
    """A bound socket; what arrives is handed over in lists."""

    def __init__(self, sock: socket.socket, size_max: int, take: Take) -> None:
        self._sock = sock
        self.family: socket.AddressFamily = sock.family
        self._size = size_max + 1
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock.fileno(), self._readable)
        self.unsent = 0
        """How many datagrams the kernel did not take."""

    @staticmethod
    async def open(address: Address, size_max: int, take: Take) -> "Datagrams":
        """Bind the address. A datagram longer than `size_max` arrives as `size_max + 1` bytes of it."""
        family, numeric = await address.resolve(socket.SOCK_DGRAM)
        sock = ground().socket(family, socket.SOCK_DGRAM)
        try:
            sock.setblocking(False)
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                sock.setsockopt(socket.SOL_SOCKET, option, KERNEL_BYTES)
            sock.bind(numeric)
        except OSError as error:
            sock.close()
            raise Misuse(f"cannot listen at {address}: {error.strerror}") from error
        return Datagrams(sock, size_max, take)

    @property
    def address(self) -> Address:
        host, port = self._sock.getsockname()[:2]
        return Address(host, port)

    @property
    def closed(self) -> bool:
        return self._sock.fileno() < 0

    def send(self, data: bytes, numeric: Any) -> None:
        try:
            self._sock.sendto(data, numeric)
        except OSError:
            # A full buffer, or an ICMP error that an earlier datagram met: as good as lost on the way.
            self.unsent += 1

    def close(self) -> None:
        if not self.closed:
            self._loop.remove_reader(self._sock.fileno())
            self._sock.close()

    def _readable(self) -> None:
        arrived = []
        receive, size = self._sock.recv, self._size
        for _ in range(BURST):
            try:
                arrived.append(receive(size))
            except BlockingIOError:
                break
            except OSError:
                continue
        if arrived:
            self._take(arrived)
