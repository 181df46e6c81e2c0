"""Complete explorations of shipped protocols under each kind of fault, counted: green is not idle."""

from typing import Any

import pytest

from aforesaid.explore import NONE, Reductions, Scope, explore
from aforesaid.protocols.catalog import algorithm
from support import broken

COMPLETE: dict[str, tuple[str, dict[str, Any], int]] = {
    # name: algorithm, scope, and how many states there are at least
    "crash": ("waiting", {"messages": 1, "crashes_max": 1}, 6_000),
    "two crashes": ("waiting", {"messages": (1, 1, 0), "crashes_max": 2}, 900),
    "crash, unordered": ("reliable", {"messages": 1, "crashes_max": 1}, 7_000),
    "duplicate": ("waiting", {"messages": 1, "duplicates_max": 1}, 500),
    "duplicates": ("waiting", {"processes": 2, "messages": 2, "duplicates_max": 2}, 160),
    "queues": ("waiting", {"messages": 1, "fifo": True, "crashes_max": 1}, 3_000),
    "four processes": ("waiting", {"processes": 4, "messages": 1}, 7_000),
    "order of the past": ("no_waiting", {"messages": (2, 1, 1)}, 1_900),
    "acks": ("no_waiting_gc", {"processes": 2, "messages": 2}, 1_500),
    "acks, all orders": ("uniform", {"messages": 1}, 2_500),
}


@pytest.mark.parametrize("case", COMPLETE)
def test_every_schedule_keeps_every_promise(case: str) -> None:
    name, bounds, states_min = COMPLETE[case]
    found = explore(name, Scope(**{"processes": 3, **bounds}))
    assert found.verdict == "kept", str(found)
    assert found.complete
    assert found.states >= states_min
    assert found.cut == 0


@pytest.mark.parametrize("firings", [1, 2, 3])
def test_perfect_links_make_up_for_a_loss_and_a_duplicate(firings: int) -> None:
    scope = Scope(
        processes=2,
        messages=1,
        perfect_links=True,
        drops_max=1,
        duplicates_max=1,
        timer_firings_max=firings,
    )
    found = explore("waiting", scope)
    assert found.verdict == "kept", str(found)
    assert found.states > 100
    # Where the lost frame is not sent again for want of firings, nothing is owed yet; such states are few.
    assert found.ends == 1


def test_without_perfect_links_a_loss_is_found() -> None:
    promises = algorithm("waiting").promises
    found = explore("waiting", Scope(processes=2, messages=1, drops_max=1), promises)
    assert found.violation is not None
    assert "validity" in found.violation.properties
    assert [step.do for step in found.violation.steps].count("lose") == 1


def test_duplicates_are_covered_though_reduced_away() -> None:
    """Reduced, a duplicate shows as a frame proved dead; unreduced, as more states."""
    scope = Scope(processes=3, messages=1, duplicates_max=1)
    reduced, full = explore("waiting", scope), explore("waiting", scope, reductions=NONE)
    assert reduced.pruned.dead_frames > 100
    assert full.states > 50_000
    assert (reduced.verdict, reduced.outcomes) == (full.verdict, full.outcomes)


def test_reliable_broadcast_breaks_causal_order_if_it_is_asked_for() -> None:
    """The negative control: it promises no order, and there is a schedule of four steps that shows why."""
    promises = ("no_duplicate", "no_creation", "causal")
    found = explore("reliable", Scope(processes=3, messages=1), promises)
    assert found.violation is not None
    assert found.violation.properties == ("causal",)
    assert len(found.violation.steps) == 4


def test_relays_in_queues_make_waiting_for_the_sender_enough() -> None:
    """Who relays a message before speaking has it overtaken on no queue: FIFO order is causal order then."""
    assert explore(broken.fifo_only, Scope(processes=3, messages=1)).verdict == "violated"
    assert explore(broken.fifo_only, Scope(processes=3, messages=1, fifo=True)).verdict == "kept"


def test_a_reliable_broadcast_is_not_uniform() -> None:
    found = explore("waiting", Scope(processes=3, messages=(1, 0, 0), crashes_max=1), ("uniform_agreement",))
    assert found.violation is not None
    assert found.violation.properties == ("uniform_agreement",)


@pytest.mark.parametrize("postponing", [True, False])
def test_the_same_local_states_are_reached_with_and_without_postponing(postponing: bool) -> None:
    found = explore(
        "waiting",
        Scope(processes=3, messages=(2, 1, 1)),
        reductions=Reductions(postponing=postponing, prompting=False),
    )
    assert found.local_states == 209
    assert (found.states < 1_500) == postponing
