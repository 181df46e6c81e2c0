"""Every schedule of small scopes, in any network order, with earliest time judged at every step.

The explorer tries every audience, and judges order and delivery; `oracle.watched` judges the rest.
"""

from typing import Any

import pytest

from aforesaid.explore import Scope, explore
from oracle.mutants import MUTANTS, Overtakes, Silent
from oracle.watched import watched
from support.scale import scaled

UNICAST = ("hybrid_basic", "hybrid_sps", "hybrid_in_order")
MULTICAST = ("hybrid_multicast", "hybrid_multicast_sps", "hybrid_multicast_in_order")

THREE: dict[str, dict[str, Any]] = {
    "one each": {"messages": 1},
    "two and one": {"messages": (2, 1, 0)},
    "three of one": {"messages": (3, 0, 0)},
}
FAULTS: dict[str, dict[str, Any]] = {
    "duplicate": {"messages": (1, 1, 0), "duplicates_max": 1},
    "loss": {"messages": (1, 1, 0), "drops_max": 1, "timer_firings_max": 1},
    "loss, two of one": {"messages": (2, 0, 0), "drops_max": 1, "timer_firings_max": 1},
    "crash": {"messages": (1, 1, 0), "crashes_max": 1},
}
ODD: dict[str, dict[str, Any]] = {
    "to oneself": {"audiences": (((0,), (1,)), ((0,), (2,)), ())},
    "to nobody": {"audiences": (((), (1, 0)), ((2, 0),), ())},
}


# Multicasts of several have as many schedules as all of the rest: see `test_multicasts_to_chosen_audiences`.
EVERY_AUDIENCE = scaled(("three of one",), ("three of one", "two and one"))


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name in UNICAST for case in THREE]
    + [(name, case) for name in MULTICAST for case in EVERY_AUDIENCE],
)
def test_three_processes_three_messages(name: str, case: str) -> None:
    """Reliable links and no timer that fires: everything drains, whoever is written to."""
    found = explore(watched(name), Scope(processes=3, **THREE[case]))
    assert found.verdict == "kept", str(found)
    assert found.complete
    assert found.cut == 0
    # One outcome for each way of choosing audiences.
    assert found.ends == (8 if name in UNICAST else 27)
    assert found.states > 300


CHOSEN: dict[str, Any] = {
    "two and one": (((1, 2), (1,)), ((0, 2),), ()),
    "one each": (((1, 2),), ((0, 2),), ((0,),)),
    **scaled({}, {"a broadcast of each": (((1, 2),), ((0, 2),), ((0, 1),))}),
}


@pytest.mark.parametrize("case", CHOSEN)
@pytest.mark.parametrize("name", MULTICAST)
def test_multicasts_to_chosen_audiences(name: str, case: str) -> None:
    found = explore(watched(name), Scope(processes=3, audiences=CHOSEN[case]))
    assert (found.verdict, found.cut, found.ends) == ("kept", 0, 1), str(found)
    assert found.states > 1_000


@pytest.mark.parametrize("case", FAULTS)
@pytest.mark.parametrize("name", [*UNICAST, *MULTICAST])
def test_faults(name: str, case: str) -> None:
    found = explore(watched(name), Scope(processes=3, **FAULTS[case]))
    assert found.verdict == "kept", str(found)
    assert found.complete
    assert found.ends >= 4


@pytest.mark.parametrize(
    ("name", "case"),
    [*((name, "to oneself") for name in UNICAST), *((name, "to nobody") for name in MULTICAST)],
)
def test_odd_audiences(name: str, case: str) -> None:
    found = explore(watched(name), Scope(processes=3, **ODD[case]))
    assert (found.verdict, found.cut) == ("kept", 0), str(found)
    assert found.states > 50


@pytest.mark.parametrize("name", UNICAST)
def test_a_crash_and_a_message_that_follows_one_that_is_lost(name: str) -> None:
    found = explore(watched(name), Scope(processes=3, messages=(2, 1, 0), crashes_max=1))
    assert found.verdict == "kept", str(found)
    assert found.ends > 100


def test_who_evicts_in_silence_breaks_the_order() -> None:
    """p0 dies; p1 evicts it and speaks; p2, who has not heard of it, takes p1's message first, then p0's."""
    scope = Scope(processes=3, messages=(2, 1, 0), crashes_max=1)
    found = explore(watched("hybrid_sps", Silent), scope)
    assert found.violation is not None
    assert found.violation.properties == ("causal_unless_lost",)
    assert "only at position 1" in found.violation.sentences[0]


def test_who_overtakes_is_not_in_order() -> None:
    scope = Scope(processes=3, audiences=(((1,), (2,)), (), ((1,), (0,))))
    assert explore(watched("hybrid_in_order"), scope).verdict == "kept"
    found = explore(watched("hybrid_in_order", Overtakes), scope)
    assert found.violation is not None
    assert "early: p2 sends 2 to p0" in str(found)


SCOPES: dict[str, dict[str, Any]] = {
    "R7 self-sends enqueued": ODD["to oneself"],
    "R10 empty audience enqueued": ODD["to nobody"],
    "R12 ack for one": THREE["three of one"],
    "R12 unflagged is no permit": {"messages": (3, 1, 0)},
}
CAUGHT = [name for name in MUTANTS if not name.startswith("R4")]
"""R4 is a matter of cost: what it sends is right."""


@pytest.mark.parametrize("mutant", CAUGHT)
def test_mutants_die(mutant: str) -> None:
    _, kind = MUTANTS[mutant]
    name = "hybrid_multicast" if "algorithm 3" in MUTANTS[mutant][0] else "hybrid_sps"
    scope = Scope(processes=3, **SCOPES.get(mutant, {"messages": (2, 1, 0)}))
    found = explore(watched(name, kind), scope)
    assert found.violation is not None, str(found)
    if scope.counts not in [case["messages"] for case in THREE.values()]:
        assert explore(watched(name), scope).verdict == "kept"


def test_the_same_mutants_die_by_what_they_promise_alone() -> None:
    """Without a mind: those that lose, misname or hold up a message, not those that are late or needless."""
    dead = set()
    for mutant in CAUGHT:
        name = "hybrid_multicast" if "algorithm 3" in MUTANTS[mutant][0] else "hybrid_sps"
        entry = watched(name, MUTANTS[mutant][1], asleep=True)
        scope = Scope(processes=3, **SCOPES.get(mutant, {"messages": (2, 1, 0)}))
        if explore(entry, scope).violation is not None:
            dead.add(mutant.split()[0])
    assert dead == {"R1", "R2", "R3", "R5", "R7", "R8", "R9", "R10", "R12"}
