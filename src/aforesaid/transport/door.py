"""Where a process takes calls: whoever calls is a stranger until it has said who it is; strangers are few.

A call costs a descriptor, and with TLS a handshake. So nobody who merely calls may have many, or keep one for
long: there is room for `STRANGERS_MAX`, each has `STRANGE_S` to complete the handshake and to say who it is.
Whoever calls while all places are taken gets that of the oldest stranger from where most of them are, if that
one has had `GRACE_S`; else nobody is let in until it has, and the kernel keeps the callers waiting. Thus a
siege costs a known share of the loop, and a member that calls in the middle of it still gets its turn.
The last descriptors that the process may have are not for strangers (`Ground.scarce`).
"""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from aforesaid.core import Misuse
from aforesaid.ground import ground
from aforesaid.transport.address import Address
from aforesaid.transport.tcp import Stream

STRANGERS_MAX = 128
STRANGE_S = 5.0
"""How long a stranger may be one."""

GRACE_S = 0.25
"""How long nobody loses its place to another."""

BURST = 16
"""How many are let in at a time, so that the rest of the loop has its turn."""

BACKLOG = 256
"""How many callers the kernel keeps waiting."""


class Stranger:
    """Somebody who called."""

    __slots__ = ("came", "late", "place", "sock", "stream", "task")

    late: asyncio.TimerHandle
    task: "asyncio.Task[None]"

    def __init__(self, sock: Any, place: object, came: float) -> None:
        self.sock: Any = sock
        """The socket, until a stream is made of it."""
        self.place = place
        """Where it calls from."""
        self.came = came
        self.stream: Stream | None = None
        """None while the handshake is under way."""


class Door:
    """Listens at an address; `on_open(stream)` is called for each stranger once its handshake is complete."""

    def __init__(
        self, context: ssl.SSLContext | None, on_open: Callable[[Stream], None], refuse: Callable[[str], None]
    ) -> None:
        self.context = context
        """For handshakes from here on; None: in the clear."""
        self._on_open = on_open
        self._refuse = refuse
        """Told the reason whenever somebody is not let in."""
        self._loop = asyncio.get_running_loop()
        self._ground = ground()
        self._listening: list[Any] = []
        self._strangers: dict[Stranger, None] = {}
        """The oldest first."""
        self._rest: asyncio.TimerHandle | None = None
        """Set while nobody is let in."""

    async def open(self, address: Address) -> Address:
        """Begin to listen; says where."""
        for family, numeric in await address.resolve_all(socket.SOCK_STREAM):
            sock = self._ground.socket(family, socket.SOCK_STREAM)
            self._listening.append(sock)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                sock.bind(numeric)
                sock.listen(BACKLOG)
            except OSError as error:
                await self.close()
                raise Misuse(f"cannot listen at {address}: {error.strerror or error}") from error
        self._resume()
        return Address(*self._listening[0].getsockname()[:2])

    def let_in(self, stream: Stream) -> bool:
        """It has said who it is, and is no stranger any more; False if it was too late for that."""
        found = next((each for each in self._strangers if each.stream is stream), None)
        if found is not None:
            self._forget(found)
        return found is not None

    async def close(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        for sock in self._listening:
            self._loop.remove_reader(sock.fileno())
            sock.close()
        self._listening.clear()
        strangers = list(self._strangers)
        for stranger in strangers:
            self._turn_out(stranger)
        await asyncio.gather(*(stranger.task for stranger in strangers), return_exceptions=True)

    # ------------------------------------------------------------------------------------- being called

    def _called(self, sock: Any) -> None:
        for _ in range(BURST):
            # One more than there is room for, or nobody would make room for somebody who really calls.
            if len(self._strangers) > STRANGERS_MAX and not self._make_room():
                self._pause()
                return
            try:
                accepted, where = sock.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                self._refuse("no descriptors")
                self._pause()
                return
            if self._ground.scarce(accepted.fileno()):
                accepted.close()
                self._refuse("no descriptors")
                self._make_room()
                self._pause()
                return
            self._begin(accepted, _place(where[0]))

    def _begin(self, sock: Any, place: object) -> None:
        sock.setblocking(False)
        stranger = Stranger(sock, place, self._loop.time())
        stranger.late = self._loop.call_later(STRANGE_S, self._too_late, stranger)
        stranger.task = self._loop.create_task(self._shake_hands(stranger))
        stranger.task.add_done_callback(lambda _: _close_unused(stranger))
        self._strangers[stranger] = None

    async def _shake_hands(self, stranger: Stranger) -> None:
        sock, stranger.sock = stranger.sock, None

        def opened(stream: Stream) -> None:
            stranger.stream = stream
            self._on_open(stream)

        timeout_s = None if self.context is None else STRANGE_S
        try:
            await self._loop.connect_accepted_socket(
                lambda: Stream(opened), sock, ssl=self.context, ssl_handshake_timeout=timeout_s
            )
        except OSError:
            self._forget(stranger)
            self._refuse("handshake")

    # --------------------------------------------------------------------------------------- making room

    def _make_room(self) -> bool:
        """At the cost of the oldest from where most of them are; False if that one has just come."""
        places = Counter(stranger.place for stranger in self._strangers)
        if not places:
            return False
        most = max(places.values())
        oldest = next(each for each in self._strangers if places[each.place] == most)
        if self._loop.time() - oldest.came < GRACE_S:
            return False
        self._refuse("too many strangers")
        self._turn_out(oldest)
        return True

    def _too_late(self, stranger: Stranger) -> None:
        self._refuse("hello too late")
        self._turn_out(stranger)

    def _turn_out(self, stranger: Stranger) -> None:
        self._forget(stranger)
        if stranger.stream is None:
            stranger.task.cancel()
        else:
            stranger.stream.abort()

    def _forget(self, stranger: Stranger) -> None:
        self._strangers.pop(stranger, None)
        stranger.late.cancel()

    def _pause(self) -> None:
        for sock in self._listening:
            self._loop.remove_reader(sock.fileno())
        self._rest = self._loop.call_later(GRACE_S / 4, self._resume)

    def _resume(self) -> None:
        self._rest = None
        for sock in self._listening:
            self._loop.add_reader(sock.fileno(), self._called, sock)


def _close_unused(stranger: Stranger) -> None:
    """Who was turned out before a stream was begun."""
    if stranger.sock is not None:
        stranger.sock.close()


def _place(host: str) -> object:
    """Where somebody is: of IPv6 the network, for whoever has one has all of its addresses."""
    number = ip_address(host.partition("%")[0])
    return number.packed[:8] if number.version == 6 else number.packed
