"""A bad network on one machine: a relay for datagrams that loses, doubles, delays and so reorders them.

Every ordered pair of processes has an address of its own on the relay, which passes on to the real one what
comes there. So nodes are told the relay's addresses in place of each other's, and know nothing of it. The
seed decides what happens to the n-th datagram of a pair; when it comes, the machine decides.
"""

import asyncio
import random
import socket
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from aforesaid.core import Process
from aforesaid.transport.address import Address
from aforesaid.transport.udp import Datagrams

DATAGRAM_BYTES_MAX = 65507


@dataclass(frozen=True)
class Weather:
    """What happens to a datagram, each with its probability."""

    loss: float = 0.01
    duplication: float = 0.01
    delay_s_max: float = 0.005
    """Each is delayed by up to so much, and so overtaken."""
    spike: float = 0.001
    spike_s: float = 0.2
    """A few are delayed by so much more."""
    bytes_max: int = DATAGRAM_BYTES_MAX
    """Longer ones do not pass."""


class LossyRelay:
    """The relay; counts what it did."""

    def __init__(self, weather: Weather, seed: int) -> None:
        self.weather = weather
        self.did: Counter[str] = Counter()
        self.longest = 0
        """Of those that passed, in bytes."""
        self._chance = random.Random(seed)
        self._ports: list[Datagrams] = []
        self._apart: tuple[Collection[Process], ...] = ()
        self._loop = asyncio.get_running_loop()

    async def route(self, source: Process, target: Process, address: Address) -> Address:
        """Where the source is to send what is for the target."""
        _, numeric = await address.resolve(socket.SOCK_DGRAM)
        port: Datagrams
        port = await Datagrams.open(
            Address("127.0.0.1", 0),
            DATAGRAM_BYTES_MAX,
            lambda arrived: self._pass_on(port, numeric, source, target, arrived),
        )
        self._ports.append(port)
        return port.address

    def part(self, *groups: Collection[Process]) -> None:
        """Nothing passes between these groups until `heal`."""
        self._apart = groups

    def heal(self) -> None:
        self._apart = ()

    def close(self) -> None:
        for port in self._ports:
            port.close()

    def _pass_on(
        self, port: Datagrams, numeric: Any, source: Process, target: Process, arrived: list[bytes]
    ) -> None:
        weather, chance = self.weather, self._chance.random
        for data in arrived:
            if len(data) > weather.bytes_max:
                self.did["too long"] += 1
                continue
            self.longest = max(self.longest, len(data))
            if self._parted(source, target):
                self.did["parted"] += 1
                continue
            if chance() < weather.loss:
                self.did["lost"] += 1
                continue
            copies = 1
            if chance() < weather.duplication:
                self.did["doubled"] += 1
                copies = 2
            for _ in range(copies):
                delay = chance() * weather.delay_s_max
                if chance() < weather.spike:
                    self.did["spiked"] += 1
                    delay += weather.spike_s
                self.did["passed"] += 1
                self._loop.call_later(delay, partial(_send, port, data, numeric))

    def _parted(self, source: Process, target: Process) -> bool:
        sides = [
            place for place, group in enumerate(self._apart) for name in (source, target) if name in group
        ]
        return len(set(sides)) > 1


def _send(port: Datagrams, data: bytes, numeric: Any) -> None:
    if not port.closed:
        port.send(data, numeric)
