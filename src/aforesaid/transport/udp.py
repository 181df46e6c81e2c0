"""Datagrams on a non-blocking socket of our own: several per wake-up, and no queue but the kernel's.

asyncio's own datagram endpoints call Python once per datagram and queue without a bound what the kernel does
not take. Here a wake-up takes up to `BURST` times what the kernel has, and what the kernel does not take is
not sent: whoever stands above sends again what matters.

Where the kernel can (Linux), datagrams of one length leave in one call, which it cuts (UDP_SEGMENT), and what
it has put together again comes in one (UDP_GRO): the way through it is then made once for all of them.
Elsewhere each has its own call, and all else is the same.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from aforesaid.core import Misuse, Nanoseconds
from aforesaid.ground import ground
from aforesaid.transport.address import Address

BURST = 64
"""How many calls one wake-up takes at most, so that the rest of the loop has its turn."""

REST: Nanoseconds = 500_000
"""What comes after nothing has come for so long is taken at once; else all that is there together."""

KERNEL_BYTES = 4 * 2**20
"""The kernel's buffers, as far as it allows: they take a burst while Python is busy."""

DATAGRAM_MAX = 65_507
"""No datagram has more bytes: what IPv4 takes, without its header and that of UDP."""

SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104
SEGMENTS_MAX = 64
"""So many datagrams the kernel cuts one call into."""
_LENGTH, _COUNT = Struct("=H"), Struct("=i")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_COUNT.size) if hasattr(socket, "CMSG_SPACE") else 0

_MTU = {socket.AF_INET: (socket.IPPROTO_IP, 14), socket.AF_INET6: (socket.IPPROTO_IPV6, 24)}
_DISCOVER = {socket.AF_INET: (socket.IPPROTO_IP, 10), socket.AF_INET6: (socket.IPPROTO_IPV6, 23)}
_HEADERS = {socket.AF_INET: 20 + 8, socket.AF_INET6: 40 + 8}
PROBE = 3
"""Linux: a datagram is not cut up on its way, whatever is known of it."""

Take = Callable[[list[bytes]], None]


class Datagrams:
    """A bound socket; what arrives is handed over in lists."""

    def __init__(self, sock: socket.socket, size_max: int, take: Take) -> None:
        self._sock = sock
        self.family: socket.AddressFamily = sock.family
        self._size = size_max + 1
        self._take = take
        self._segments = _segments(sock)
        self._receive = self._received_together if self._segments else self._received_alone
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock.fileno(), self._readable)
        self._now = ground().monotonic_ns
        self._woken: Nanoseconds = 0
        """When something came last."""
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

    def send_uncut(self, data: bytes, numeric: Any) -> None:
        """Where a network on the way passes no datagram as long as this one, it is lost."""
        discover = _DISCOVER[self.family]
        try:
            usually = self._sock.getsockopt(*discover)
            self._sock.setsockopt(*discover, PROBE)
        except OSError:
            self.unsent += 1
            return
        self.send(data, numeric)
        self._sock.setsockopt(*discover, usually)

    def send_all(self, datagrams: Sequence[bytes], numeric: Any) -> None:
        """In order, those of one length together; none of them is empty."""
        if not self._segments or len(datagrams) == 1:
            for data in datagrams:
                self.send(data, numeric)
            return
        together: list[bytes] = []
        length = room = 0
        for data in datagrams:
            # The last one may be shorter than the others, and none longer.
            if together and (len(data) > min(length, room) or len(together) == SEGMENTS_MAX):
                self._send_together(together, numeric)
                together = []
            if not together:
                length, room = len(data), DATAGRAM_MAX
            together.append(data)
            room = room - len(data) if len(data) == length else 0
        self._send_together(together, numeric)

    def close(self) -> None:
        if not self.closed:
            self._loop.remove_reader(self._sock.fileno())
            self._sock.close()

    def _send_together(self, datagrams: list[bytes], numeric: Any) -> None:
        if len(datagrams) > 1 and self._segments:
            cut = [(SOL_UDP, UDP_SEGMENT, _LENGTH.pack(len(datagrams[0])))]
            try:
                self._sock.sendmsg(datagrams, cut, 0, numeric)
                return
            except BlockingIOError:
                self.unsent += len(datagrams)
                return
            except OSError:
                # Not by this way out: it may be a device that cannot, or a path that is too narrow.
                self._segments = False
        for data in datagrams:
            self.send(data, numeric)

    def _readable(self) -> None:
        arrived: list[bytes] = []
        receive, now = self._receive, self._now()
        rested, self._woken = now - self._woken > REST, now
        for _ in range(BURST):
            try:
                receive(arrived)
            except BlockingIOError:
                break
            except OSError:
                if self.closed:
                    return
                continue
            if rested:
                # It does not wait until the kernel has said that there is no more.
                rested = False
                self._take(arrived)
                arrived = []
        if arrived:
            self._take(arrived)

    def _received_alone(self, arrived: list[bytes]) -> None:
        arrived.append(self._sock.recv(self._size))

    def _received_together(self, arrived: list[bytes]) -> None:
        data, ancillary, _, _ = self._sock.recvmsg(DATAGRAM_MAX, _ANCILLARY_BYTES)
        size = self._size
        if not ancillary:
            arrived.append(data[:size])
            return
        length = _COUNT.unpack_from(ancillary[0][2])[0]
        kept = min(length, size)
        arrived += [data[at : at + kept] for at in range(0, len(data), length)]


def _segments(sock: Any) -> bool:
    """Whether the kernel cuts, and puts together; asks it to."""
    if not isinstance(sock, socket.socket):
        return False
    try:
        sock.getsockopt(SOL_UDP, UDP_SEGMENT)
        sock.setsockopt(SOL_UDP, UDP_GRO, 1)
    except OSError:
        return False
    return True


def first_step(family: socket.AddressFamily, numeric: Any) -> int:
    """How long a datagram passes the first step of the way to this address, as far as the kernel can tell."""
    asked = ground().socket(family, socket.SOCK_DGRAM)
    try:
        asked.connect(numeric)
        mtu: int = asked.getsockopt(*_MTU[family])
        return mtu - _HEADERS[family]
    except (OSError, AttributeError, KeyError):
        return 0
    finally:
        asked.close()
