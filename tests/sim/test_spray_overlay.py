"""Overlays of Spray by itself: views near ln N, balance, connection, loss and crashes.

A join adds one arc, and one for each of the contact's. So the mean view of N processes is expected to be
1 + 1/3 + 1/4 + ... + 1/N, which tends to ln N + 0.08. Which contacts the first few joins had decides how far
a single overlay is from that; exchanges between the joins bring it nearer.
"""

from statistics import fmean, pstdev
from typing import Any

import pytest

from aforesaid.core import MILLISECOND, SECOND
from aforesaid.protocols.overlay.spray import NEW_PERIODS, Spray
from mutants.spray import NeverShrinks
from support.spray_stage import EVERY, Overlay

SLOW: dict[str, Any] = {"latency": (1 * MILLISECOND, 300 * MILLISECOND), "handshake": 2 * SECOND}


def grown(count: int, seed: int, kind: type[Spray] = Spray, **network: Any) -> Overlay:
    """The first joins, which matter most, have time to mix; then come ten per second."""
    overlay = Overlay(kind, seed, **network)
    overlay.grow(40, EVERY)
    overlay.grow(count - 40)
    return overlay


@pytest.mark.parametrize(("count", "seeds", "view"), [(100, 12, 4.9), (300, 12, 6.0), (1000, 6, 7.2)])
def test_views_grow_with_the_logarithm(count: int, seeds: int, view: float) -> None:
    overlays = [grown(count, seed) for seed in range(12, 12 + seeds)]
    mean = fmean(overlay.mean_view() for overlay in overlays)
    assert mean == pytest.approx(1 + sum(1 / n for n in range(3, count + 1)), abs=0.3)
    assert mean == pytest.approx(view, abs=0.5)
    assert all(overlay.connected() for overlay in overlays)


@pytest.mark.parametrize("seed", range(3))
def test_exchanges_keep_arcs_and_connection_and_balance_the_load(seed: int) -> None:
    overlay = Overlay(seed=seed, **SLOW)
    overlay.grow(200)
    overlay.run(SECOND)
    before = overlay.arcs()
    crowded = pstdev(overlay.in_degrees().values())
    for _ in range(6):
        overlay.run(4 * EVERY)
        assert overlay.connected()
    overlay.rest()
    assert overlay.arcs() == before
    mean, degrees = overlay.mean_view(), overlay.in_degrees()
    chance = mean**0.5
    assert pstdev(degrees.values()) < 0.75 * chance < crowded
    assert min(degrees.values()) >= 1
    assert max(degrees.values()) < 2.5 * mean
    sizes = [len(machine.view) for machine in overlay.machines.values()]
    assert mean / 2 < min(sizes)
    assert max(sizes) < 2 * mean


@pytest.mark.parametrize("loss", [0.05, 0.3])
def test_lost_messages_cost_time_and_no_arcs(loss: float) -> None:
    overlay = Overlay(seed=5, **SLOW)
    overlay.grow(100)
    overlay.run(SECOND)
    before = overlay.arcs()
    overlay.loss = loss
    overlay.run(20 * EVERY)
    overlay.rest()
    assert overlay.arcs() == before
    assert overlay.connected()
    assert all(machine.gauges() == {"exchanges": 0} for machine in overlay.machines.values())


def halved(kind: type[Spray]) -> tuple[float, list[int]]:
    """How much shorter views became when 100 of 200 processes crashed, and how many stayed together."""
    shrunk, together = [], []
    for seed in range(6):
        overlay = grown(200, seed, kind, **SLOW)
        overlay.run(12 * EVERY)
        before = overlay.mean_view()
        overlay.crash(overlay.random.sample(sorted(overlay.machines), 100))
        overlay.run(4 * EVERY)
        overlay.rest()
        assert set(overlay.in_degrees()) == set(overlay.machines), "no arc to a crashed process is left"
        shrunk.append(before - overlay.mean_view())
        together.append(overlay.largest_component())
    return fmean(shrunk), together


def test_half_may_crash_and_views_shrink_as_the_logarithm_does() -> None:
    """ln N - ln(N/2) = 0.69. Who lost all its neighbours at once is alone, and has to join again."""
    shrunk, together = halved(Spray)
    assert shrunk == pytest.approx(0.69, abs=0.1)
    assert min(together) >= 98
    assert together.count(100) >= 5


def test_views_that_replace_every_arc_do_not_shrink() -> None:
    shrunk, _ = halved(NeverShrinks)
    assert shrunk < 0.3


def test_lost_links_lose_few_arcs() -> None:
    """An exchange whose link is lost in its midst may double arcs and lose others: as many on average. Nobody
    is a newcomer any more."""
    overlay = grown(100, 0, **SLOW)
    overlay.run(NEW_PERIODS * EVERY)
    before = overlay.arcs()
    for _ in range(300):
        overlay.run(EVERY // 20)
        one, other = sorted(overlay.random.choice(sorted(map(sorted, overlay.standing))))
        overlay.lose_link(one, other)
    overlay.rest()
    assert overlay.arcs() == pytest.approx(before, rel=0.03)
    assert overlay.connected()
