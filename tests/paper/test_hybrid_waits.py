"""Almeida (2026), table 1, has O(r) for the delay that hybrid buffering adds. For SPS it has no bound.

docs/corrections.md, R14. Two players hit a ball to and fro over links of one constant delay. Before each hit
a player tells something to a third party of its own. SPS exempts the receiver: a hit overtakes what its
player told the third party and still holds, so it is flagged, and what the other player tells next waits for
one permit more than last time. Where nothing overtakes (CSPS, and SPS in order), no wait is longer than the
one before; with any delays from e to d, none is longer than 3d - e.
"""

import heapq
import random
from itertools import count
from typing import Any

import pytest

from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from oracle.printed import PrintedSps
from support.harness import Recorder

DELAY = 10
ROUND_TRIP = 2 * DELAY
THIRD_PARTY = {"a": "x", "b": "y"}
OTHER = {"a": "b", "b": "a"}


def waits(kind: Any, hits: int) -> list[int]:
    """How long each thing told to a third party was held back by its sender."""
    nodes = {name: kind(name, retransmit=False) for name in "abxy"}
    flying: list[tuple[int, int, str, str, Any]] = []
    order, told = count(), dict[int, int]()
    waited: list[int] = []

    def after(name: str, out: Recorder, now: int) -> None:
        for target, frame in out.take_sent():
            heapq.heappush(flying, (now + DELAY, next(order), name, target, frame))

    def hit(name: str, number: int, now: int) -> None:
        out = Recorder()
        told[number] = now
        nodes[name].send((THIRD_PARTY[name],), number, now, out)
        nodes[name].send((OTHER[name],), number + 1, now, out)
        after(name, out, now)

    hit("a", 0, 0)
    while flying and len(waited) < hits:
        now, _, source, target, frame = heapq.heappop(flying)
        out = Recorder()
        nodes[target].receive(source, frame, now, out)
        after(target, out, now)
        for number in out.payloads:
            if target in OTHER:
                hit(target, number, now)
            else:
                waited.append(now - told[number] - DELAY)
    assert len(waited) == hits
    return waited


@pytest.mark.parametrize("kind", [PrintedSps, HybridSps, HybridMulticastSps])
def test_the_waits_of_sps_grow_with_every_hit(kind: Any) -> None:
    waited = waits(kind, 100)
    assert waited[-1] > 40 * ROUND_TRIP
    assert max(waits(kind, 200)) > 1.9 * max(waited)


@pytest.mark.parametrize("kind", [HybridBasic, HybridMulticast])
def test_no_wait_of_csps_is_above_a_round_trip(kind: Any) -> None:
    assert max(waits(kind, 200)) <= ROUND_TRIP


@pytest.mark.parametrize("kind", [HybridInOrder, HybridMulticastInOrder])
def test_in_order_no_wait_is_above_a_round_trip(kind: Any) -> None:
    assert max(waits(kind, 200)) == ROUND_TRIP


LEAST, MOST = 4, 10
"""The delays of links that are not constant."""


def holds(kind: Any, seed: int, audience_max: int) -> list[int]:
    """Everyone answers what it hears, in a closed loop: how long each copy of a message is held back."""
    chance = random.Random(seed)
    names = "abcdef"[: chance.randint(3, 6)]
    nodes = {name: kind(name, retransmit=False) for name in names}
    flying: list[tuple[int, int, str, str, Any]] = []
    order, said = count(), dict[int, int]()
    held: dict[tuple[int, str], int] = {}

    def after(name: str, out: Recorder, now: int) -> None:
        for target, frame in out.take_sent():
            if type(frame) is Msg:
                held[frame.payload, target] = now - said[frame.payload]
            heapq.heappush(flying, (now + chance.randint(LEAST, MOST), next(order), name, target, frame))

    def say(name: str, now: int) -> None:
        out, number = Recorder(), len(said)
        said[number] = now
        others = [other for other in names if other != name]
        nodes[name].send(chance.sample(others, chance.randint(1, audience_max)), number, now, out)
        after(name, out, now)

    for name in names:
        say(name, 0)
    while flying and len(said) < 400:
        now, _, source, target, frame = heapq.heappop(flying)
        out = Recorder()
        nodes[target].receive(source, frame, now, out)
        after(target, out, now)
        for _ in out.payloads:
            for _ in range(chance.choice((0, 1, 1, 2))):
                say(target, now)
    return list(held.values())


@pytest.mark.parametrize("kind", [HybridBasic, HybridInOrder, HybridMulticast, HybridMulticastInOrder])
def test_where_nothing_overtakes_no_wait_is_above_the_bound(kind: Any) -> None:
    """The bound that protocols/delivery/hybrid_in_order.py proves; some come near it."""
    audience_max = 2 if kind in (HybridMulticast, HybridMulticastInOrder) else 1
    longest = [max(holds(kind, seed, audience_max)) for seed in range(60)]
    bound = 3 * MOST - LEAST
    assert 0.8 * bound < max(longest) <= bound
