"""Preventive broadcast on Spray, in the fleet's kernel and in the reference: as `test_fleet_dynamic`."""

from dataclasses import replace
from typing import Any

import pytest

from aforesaid.fleet import Paper
from aforesaid.fleet.plan import paces_of
from differential.compared import Compared, compare, small
from differential.fleet_campaign import impatient
from differential.test_fleet_dynamic import DELAYS_MS
from support.scale import scaled


def compared(
    processes: int, seed: int, delay_ms: float, patience_s: float = 120.0, **more: float
) -> Compared:
    return compare(replace(small(processes, seed, delay_ms, patience_s, **more), preventive=True))


@pytest.mark.parametrize("seed", range(scaled(6, 24)))
def test_exchanges_joins_and_handshakes(seed: int) -> None:
    """The same deliveries, counters, buffers and control messages; of these two for each link."""
    both = compared(8 + 3 * (seed % 7), seed, DELAYS_MS[seed % 4])
    assert both.differences == []
    assert both.deliveries > 1_000
    assert min(both.control[kind] for kind in "αρ") > 50
    assert "β" not in both.control


@pytest.mark.parametrize("seed", [*range(4), 19])
def test_crashes(seed: int) -> None:
    """And processes that begin again (seed 19), with the counters of whom they enter through."""
    both = compared(20, seed, DELAYS_MS[seed % 3], crashes_per_minute=30.0, speak_until=2.5)
    assert both.differences == []
    assert both.evicted > 0 or seed != 19


@pytest.mark.parametrize("seed", [0, 3])
def test_a_newcomer_does_not_deliver_what_its_contact_had(seed: int) -> None:
    """It may lie in the first buffer of a link that another opens to the newcomer."""
    parts: dict[str, Any] = {"delay_ms": 700.0, "crashes_per_minute": 40.0, "algorithm": "preventive_spray"}
    paper = Paper(30, seed, minutes=3.5, speak_from=1.0, speak_until=2.5, traced="all", **parts)
    assert compare(paper.plan()).differences == []


@pytest.mark.parametrize("seed", range(3))
def test_who_floods_is_counted_too(seed: int) -> None:
    both = compared(16, seed, DELAYS_MS[1 + seed], (0.1, 0.5, 3.0)[seed])
    assert both.differences == []
    assert both.control["Flood"] > 200
    # Each of 16 speaks or floods, or does both.
    assert both.space_max > 16 * 16


@pytest.mark.parametrize("seed", [20, 27])
def test_patience_shorter_than_the_delay(seed: int) -> None:
    assert compare(replace(impatient(seed), preventive=True)).differences == []


@pytest.mark.parametrize("seed", range(scaled(3, 12)))
def test_a_delay_for_each_link(seed: int) -> None:
    more = ({}, {"crashes_per_minute": 30.0, "speak_until": 2.5}, {"joins_per_second": 0.3})[seed % 3]
    plan = small(10 + 2 * seed, seed, DELAYS_MS[seed % 4], (120.0, 5.0, 2.0)[seed // 3 % 3], **more)
    both = compare(replace(plan, paces=paces_of(0.5), preventive=True))
    assert both.differences == []
    assert both.deliveries > 500
