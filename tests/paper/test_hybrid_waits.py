"""Almeida (2026), table 1, has O(r) for the delay that hybrid buffering adds. For SPS it has no bound.

docs/corrections.md, R14. Two players hit a ball to and fro over links of one constant delay. Before each hit
a player tells something to a third party of its own. SPS exempts the receiver: a hit overtakes what its
player told the third party and still holds, so it is flagged, and what the other player tells next waits for
one permit more than last time. Where nothing overtakes (CSPS), no wait is longer than the one before.
"""

import heapq
from itertools import count
from typing import Any

import pytest

from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from support.harness import Recorder

DELAY = 10
ROUND_TRIP = 2 * DELAY
THIRD_PARTY = {"a": "x", "b": "y"}
OTHER = {"a": "b", "b": "a"}


def waits(kind: Any, hits: int) -> list[int]:
    """How long each thing told to a third party was on its way, beyond the delay of the link."""
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


@pytest.mark.parametrize("kind", [HybridSps, HybridMulticastSps])
def test_the_waits_of_sps_grow_with_every_hit(kind: Any) -> None:
    waited = waits(kind, 100)
    assert waited[-1] > 40 * ROUND_TRIP
    assert max(waits(kind, 200)) > 1.9 * max(waited)


@pytest.mark.parametrize("kind", [HybridBasic, HybridMulticast])
def test_no_wait_of_csps_is_above_a_round_trip(kind: Any) -> None:
    assert max(waits(kind, 200)) <= ROUND_TRIP
