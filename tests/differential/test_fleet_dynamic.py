"""The dynamic kernel against the reference: the same deliveries in the same order, space and control."""

from dataclasses import replace
from typing import Any

import pytest

from aforesaid.fleet import Paper
from aforesaid.fleet.plan import delays, paces_of
from differential.compared import compare, small
from differential.fleet_campaign import differences, impatient
from support.scale import scaled

DELAYS_MS = (1.0, 40.000007, 300.000019, 1_300.000003)


@pytest.mark.parametrize("seed", range(scaled(12, 24)))
def test_exchanges_joins_and_handshakes(seed: int) -> None:
    compared = compare(small(8 + 3 * (seed % 7), seed, DELAYS_MS[seed % 4]))
    assert compared.differences == []
    assert compared.deliveries > 1_000
    assert min(compared.control[kind] for kind in "αβπρ") > 50
    assert compared.control["Request"] > 20


@pytest.mark.parametrize("seed", range(8))
def test_joins_while_all_speak(seed: int) -> None:
    compared = compare(small(24, seed, DELAYS_MS[1 + seed % 3], joins_per_second=0.3, speak_from=0.6))
    assert compared.differences == []
    assert compared.space_max > 0


@pytest.mark.parametrize("seed", range(4))
def test_joins_after_the_talking(seed: int) -> None:
    """Who enters then exchanges nothing, as nobody does any more."""
    compared = compare(small(24, seed, DELAYS_MS[seed], joins_per_second=0.3, speak_until=1.0))
    assert compared.differences == []


@pytest.mark.parametrize("seed", [*range(11), 19])
def test_crashes(seed: int) -> None:
    """Crashes: peers down, arcs replaced, mediators lost, and (seeds 2 and 19) processes that begin again."""
    compared = compare(small(20, seed, DELAYS_MS[seed % 3], crashes_per_minute=30.0, speak_until=2.5))
    assert compared.differences == []
    assert compared.evicted > 0 or seed not in (2, 19)


@pytest.mark.parametrize(("processes", "seed"), [(4, 6), (4, 7), (8, 10), (12, 4)])
def test_contacts_that_crash_before_they_are_asked(processes: int, seed: int) -> None:
    """The newcomer's word is lost with them; it hears of the crash, and begins again."""
    compared = compare(small(processes, seed, 2_500.000003, crashes_per_minute=60.0))
    assert compared.differences == []
    assert compared.evicted > 0


@pytest.mark.parametrize(("processes", "seed", "delay_ms"), [(3, 12, 2_500.000003), (3, 17, 9_000.000003)])
def test_the_last_one_inside(processes: int, seed: int, delay_ms: float) -> None:
    """It loses its last link, and nobody is left through whom to begin again: then it holds nothing."""
    parts = {"minutes": 3.5, "speak_until": 2.5, "crashes_per_minute": 100.0}
    assert compare(small(processes, seed, delay_ms, **parts)).differences == []


def test_churn_at_the_paper_s_slowest() -> None:
    parts = {"minutes": 9.0, "speak_from": 1.0, "speak_until": 5.0, "broadcasts_per_second": 3}
    paper = Paper(60, 35, delay_ms=2_500.0, crashes_per_minute=15.0, traced="all", **parts)  # type: ignore[arg-type]
    assert compare(paper.plan()).differences == []


@pytest.mark.parametrize("seed", range(12))
def test_handshakes_that_do_not_come_about(seed: int) -> None:
    """Impatient processes try again, give up routes and flood, until the overlay falls apart."""
    plan = small(16, seed, DELAYS_MS[1 + seed % 3], patience_s=(0.3, 2.0, 7.0)[seed % 3])
    compared = compare(plan)
    assert compared.differences == []
    assert compared.control["Flood"] > 1_000


@pytest.mark.parametrize("seed", range(6))
def test_crashes_and_impatience(seed: int) -> None:
    patience_s = (0.5, 2.0, 5.0)[seed % 3]
    plan = small(20, seed, DELAYS_MS[seed % 2], patience_s, crashes_per_minute=30.0, speak_until=2.5)
    assert compare(plan).differences == []


@pytest.mark.parametrize("seed", [20, 27, 41, 82])
def test_patience_shorter_than_the_delay(seed: int) -> None:
    """Who has ended its part of a link is asked again, agrees again and asks in turn; timers meet frames."""
    assert compare(impatient(seed)).differences == []


@pytest.mark.parametrize(("seed", "delay_ms", "rate"), [(2, 300.000019, 3), (0, 1_300.000003, 10)])
def test_crashes_and_handshakes_shorter_than_eight_hops(seed: int, delay_ms: float, rate: int) -> None:
    """Messages are expected for longer than any handshake lasts, and floods take slots as well."""
    parts = {"crashes_per_minute": 30.0, "speak_until": 1.2, "minutes": 1.6, "broadcasts_per_second": rate}
    assert compare(small(30, seed, delay_ms, 2.0, **parts)).differences == []


@pytest.mark.parametrize("seed", range(scaled(4, 16)))
def test_the_authors_options(seed: int) -> None:
    """Batches that enter at the same moment; any neighbour as partner; routes that are not given away."""
    parts: dict[str, Any] = {"joins_at_once": 1 + 5 * (seed % 3), "routes_stay": seed != 2}
    parts["partner"] = ("any", "oldest")[seed % 2]
    compared = compare(small(25, seed, DELAYS_MS[seed % 4], joins_per_second=20.0, **parts))
    assert compared.differences == []
    assert compared.control["Request"] > 20


@pytest.mark.parametrize("seed", range(scaled(9, 24)))
def test_a_delay_for_each_link(seed: int) -> None:
    """Sixteen paces; joins and exchanges, crashes, or handshakes that are given up."""
    more = ({}, {"crashes_per_minute": 30.0, "speak_until": 2.5}, {"joins_per_second": 0.3})[seed % 3]
    plan = small(10 + 2 * seed, seed, DELAYS_MS[seed % 4], (120.0, 5.0, 2.0)[seed // 3 % 3], **more)
    compared = compare(replace(plan, paces=paces_of(0.5)))
    assert compared.differences == []
    assert compared.deliveries > 500


def test_a_crowd_at_once() -> None:
    """150 enter within a tenth of a second, before any exchange: a few have most of the arcs."""
    plan = small(150, 1, 1.0, joins_per_second=1_500.0, minutes=1.0, speak_until=0.6)
    assert compare(plan).differences == []


@pytest.mark.parametrize("seed", range(1_000, 1_008))
def test_a_share_of_the_campaign(seed: int) -> None:
    assert differences(seed) == [], f"python tests/differential/fleet_campaign.py 1 {seed}"


def test_the_paper_s_delay_that_rises() -> None:
    """30 processes, minutes 14 to 17 of the paper's experiment: the delay goes up 10 ms every 6 s."""
    plan = small(30, 3, 1.0, minutes=17.0, speak_from=14.0, speak_until=16.5)
    rising = delays(Paper(30))
    assert compare(replace(plan, delay=rising, period=60_000_000_011)).differences == []
