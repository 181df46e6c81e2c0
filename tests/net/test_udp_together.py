"""Datagrams that leave and come together, where the kernel can, are the datagrams that were sent."""

import asyncio
import random
import socket

import pytest

from aforesaid.transport import Address, Datagrams, first_step, udp
from net.net_stage import run, until

LENGTHS = [
    [1400] * 5 + [300],
    [300, 1400, 1400, 200, 1400, 1400, 1500],
    [9000] * 20,
    [10] * 200,
    [1, 5, 5, 1, 5],
    [40_000, 40_000],
]


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_all_arrive_as_they_were(lengths: list[int], cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not cut:
        monkeypatch.setattr(udp, "_segments", lambda sock: False)
    chance = random.Random(1)
    sent = [chance.randbytes(length) for length in lengths]

    async def main() -> None:
        arrived: list[bytes] = []
        here = Address("127.0.0.1", 0)
        bob = await Datagrams.open(here, 30_000, arrived.extend)
        alice = await Datagrams.open(here, 30_000, arrived.extend)
        try:
            alice.send_all(sent, tuple(bob.address))
            await until(lambda: len(arrived) + alice.unsent >= len(sent), "all have come")
            assert arrived == [data[:30_001] for data in sent]
            assert (alice.unsent, alice._segments) == (0, cut and udp._segments(alice._sock))
        finally:
            alice.close()
            bob.close()

    run(main())


def test_a_kernel_that_refuses_to_cut_is_not_asked_again() -> None:
    class Refusing:
        calls = 0

        def sendmsg(self, *arguments: object) -> int:
            self.calls += 1
            raise OSError(5, "no")

        def sendto(self, data: bytes, numeric: object) -> int:
            sent.append(data)
            return len(data)

    sent: list[bytes] = []

    async def main() -> None:
        datagrams = await Datagrams.open(Address("127.0.0.1", 0), 1400, lambda arrived: None)
        real, refusing = datagrams._sock, Refusing()
        datagrams._sock, datagrams._segments = refusing, True  # type: ignore[assignment]
        for _ in range(2):
            datagrams.send_all([b"one", b"two"], ("127.0.0.1", 9))
        datagrams._sock = real
        datagrams.close()
        assert sent == [b"one", b"two"] * 2
        assert refusing.calls == 1

    run(main())


def test_the_first_step_to_this_machine_is_wide() -> None:
    async def main() -> None:
        family, numeric = await Address("127.0.0.1", 9).resolve(socket.SOCK_DGRAM)
        assert first_step(family, numeric) == 65_535 - 28

    asyncio.run(main())
