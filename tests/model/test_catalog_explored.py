"""Every algorithm of the catalog, every schedule of a small scope: orders, crashes, duplicates, timers."""

from typing import Any

import pytest

from aforesaid.explore import Scope, explore
from aforesaid.protocols.algorithm import Algorithm, Need
from aforesaid.protocols.catalog import CATALOG
from support.scale import scaled

TIMED = {"pak": 2, "pak_credit": 2, "pak_nak": 3, "newtop": 6}
"""Algorithms with timers: how many may fire. Time is abstract, so that each may fire at any moment."""


def scopes(entry: Algorithm) -> dict[str, dict[str, Any]]:
    """A scope with a crash and one with a duplicate, as far as the algorithm's model allows them."""
    world: dict[str, Any] = {"processes": 3, "timer_firings_max": TIMED.get(entry.name, 0)}
    if Need.FIFO_LINKS in entry.needs:
        world["fifo"] = True
    found = {}
    if Need.NO_CRASH not in entry.needs:
        # What waits for acks of everyone has many more schedules: two messages of one process, or one.
        acks = 0 if entry.name in TIMED else 2 if Need.DETECTOR in entry.needs else 1
        if entry.name == "no_waiting_gc_uniform":
            acks = scaled(0, acks)
        messages: Any = (1, 1, 0) if entry.linked else {0: (1, 0, 0), 1: 1, 2: (2, 0, 0)}[acks]
        found["crash"] = {**world, "messages": messages, "crashes_max": 1}
    if "fifo" not in world:
        two = (1, 0, 0) if entry.name in TIMED or entry.name == "no_waiting_gc_uniform" else (1, 1, 0)
        found["duplicate"] = {**world, "messages": two, "duplicates_max": 1}
    if Need.NO_CRASH in entry.needs:
        found["order"] = {**world, "messages": 2 if entry.name == "tree" else (2, 1, 1)}
    return found


CASES = [(name, case) for name, entry in CATALOG.items() if not entry.addressed for case in scopes(entry)]

ADDRESSED: dict[str, dict[str, Any]] = {
    "two and one": {"messages": (2, 1, 0)},
    "duplicate": {"messages": (1, 1, 0), "duplicates_max": 1},
    "crash": {"messages": (1, 1, 0), "crashes_max": 1},
}
"""Scopes for what names its audiences; every audience is tried."""


def is_in_its_model(entry: Algorithm, case: str) -> bool:
    # These have by far the most schedules: test_hybrid_explored.py, test_adaptive_explored.py.
    if case == "two and one" and entry.name.startswith("hybrid_multicast"):
        return False
    if case != "duplicate" and entry.name == "hybrid_adaptive_multicast":
        return scaled(False, True)
    if case == "two and one":
        return True
    return (Need.NO_CRASH if case == "crash" else Need.FIFO_LINKS) not in entry.needs


ADDRESSED_CASES = [
    (name, case)
    for name, entry in CATALOG.items()
    for case in ADDRESSED
    if entry.addressed and is_in_its_model(entry, case)
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_schedule_keeps_every_promise(name: str, case: str) -> None:
    scope = Scope(**scopes(CATALOG[name])[case])
    found = explore(name, scope)
    assert found.verdict == "kept", str(found)
    assert found.complete
    # Every crash point gives its own outcome; the search was not idle.
    assert found.ends >= (4 if case == "crash" else 1)
    assert found.states > 15


@pytest.mark.parametrize(("name", "case"), ADDRESSED_CASES)
def test_every_schedule_with_every_audience_keeps_every_promise(name: str, case: str) -> None:
    entry = CATALOG[name]
    scope = Scope(processes=3, fifo=Need.FIFO_LINKS in entry.needs, **ADDRESSED[case])
    found = explore(name, scope)
    assert found.verdict == "kept", str(found)
    assert (found.complete, found.cut) == (True, 0)
    assert found.promises == entry.promised(crashes=case == "crash")
    audiences = 2 if entry.unicast else 3
    assert found.ends >= audiences ** sum(scope.counts)
    assert found.states > 50


def test_no_more_can_be_promised_by_hybrid_buffering_once_one_crashes() -> None:
    """What the crashed process sent may be lost with it, and what follows it may not."""
    scope = Scope(processes=3, messages=(2, 1, 0), crashes_max=1)
    for name in ("hybrid_basic", "hybrid_sps"):
        found = explore(name, scope, CATALOG[name].promises)
        assert found.violation is not None
        assert found.violation.properties == ("causal",)
        assert len(found.violation.steps) == 7
    multicast = explore("hybrid_multicast", Scope(3, (1, 0, 0), crashes_max=1), CATALOG["rst"].promises)
    assert multicast.violation is not None
    assert multicast.violation.properties == ("agreement",)


def test_three_processes_two_messages_each_of_the_waiting_algorithm() -> None:
    """Or but for one; the reductions keep the search as small as it is."""
    messages, states_max = scaled(((2, 2, 1), 20_000), ((2, 2, 2), 200_000))
    found = explore("waiting", Scope(processes=3, messages=messages))
    assert (found.verdict, found.complete) == ("kept", True)
    assert states_max / 2 < found.states < states_max
