"""Where a process can be reached: a host and a port, written `host:port`, or `[host]:port` for IPv6."""

import asyncio
import socket
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, NamedTuple

from aforesaid.core import Misuse


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    @staticmethod
    @lru_cache(4096)  # Members of a changing group tell each other the same ones over and over.
    def parse(text: str) -> "Address":
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise Misuse(f"{text!r} is no address: host:port, with a port up to 65535")
        return Address(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def known(self) -> bool:
        """False for port 0, at which nobody is: where it is will be told."""
        return self.port != 0

    @property
    def loopback(self) -> bool:
        """True if nobody on another machine can be there, or listen."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def version(self) -> int | None:
        """4 or 6, if the host is a number."""
        return _version(self.host)

    async def resolve(
        self, kind: socket.SocketKind, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> tuple[socket.AddressFamily, Any]:
        """The family and the numeric address, as sockets want it."""
        return (await self.resolve_all(kind, family))[0]

    async def resolve_all(
        self, kind: socket.SocketKind, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[tuple[socket.AddressFamily, Any]]:
        """All that a name stands for."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(self.host, self.port, type=kind, family=family)
        except OSError as error:
            raise Misuse(f"cannot find {self}: {error.strerror}") from error
        return list(dict.fromkeys((family, numeric) for family, _, _, _, numeric in found))


@lru_cache(4096)  # Asked of every peer at every heartbeat.
def _version(host: str) -> int | None:
    try:
        return ip_address(host).version
    except ValueError:
        return None
