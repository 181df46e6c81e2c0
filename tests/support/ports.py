"""Ports of loopback for those who must know theirs before they listen.

They lie below those that the system hands out by itself: who asks for port 0, or calls out, never takes one that a
test has been promised and has left for a moment (a node that is started again). Test processes take turns by number,
so that two of them are not promised the same.
"""

import itertools
import os
import socket
from collections.abc import Iterator
from pathlib import Path

FIRST, WORKERS = 10_000, 16
_LOWEST_HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Free for UDP and for TCP."""
    return list(itertools.islice(_free, count))


def _ports() -> Iterator[int]:
    end = int(_LOWEST_HANDED_OUT.read_text().split()[0]) if _LOWEST_HANDED_OUT.exists() else 32_768
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    mine = range(FIRST + worker, end, WORKERS)
    # Runs beside each other, and one after the other, begin at different places.
    begin = os.getpid() * 101 % len(mine)
    while True:
        for at in range(len(mine)):
            port = mine[(begin + at) % len(mine)]
            if _is_free(port):
                yield port


def _is_free(port: int) -> bool:
    with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagram:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            stream.bind(("127.0.0.1", port))
            datagram.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_free = _ports()
