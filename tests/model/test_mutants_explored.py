"""Broken protocols in the explorer: each is found, by a schedule that no shorter one beats, and replays."""

from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.explore import NONE, Scope, explore, replay
from aforesaid.protocols.catalog import CATALOG
from mutants.overlay import OVERLAY_MUTANTS
from mutants.registry import MUTANTS, Mutant

SCOPES: dict[str, dict[str, Any]] = {
    "past as a set": {"processes": 2, "messages": (4, 0)},
    "delivered shrinks with the past": {"messages": (1, 1, 0)},
    "self-delivery at broadcast over uniform broadcast": {"messages": (1, 0, 0), "crashes_max": 1},
    "origin is self": {"processes": 2, "messages": (1, 0)},
    "one pass instead of a fixpoint": {"processes": 2, "messages": (2, 0)},
    "no waiting at all": {"processes": 2, "messages": (2, 0)},
    "waits for the sender only": {"messages": (1, 1, 0)},
    "counts before stamping": {"processes": 2, "messages": (1, 0)},
    "no relay": {"messages": (1, 0, 0), "crashes_max": 1},
    "every copy is news": {"messages": (1, 0, 0)},
    "delivers on first receipt": {"messages": (1, 0, 0), "crashes_max": 1},
    "deaf to crashes": {"messages": (1, 0, 0), "crashes_max": 1},
    "half for a majority": {"messages": (1, 0, 0), "crashes_max": 1},
    "own message not awaited": {"messages": (1, 0, 0), "fifo": True},
}
CAUGHT = [mutant for mutant in (*MUTANTS, *OVERLAY_MUTANTS) if mutant.name in SCOPES]


@pytest.mark.parametrize("mutant", CAUGHT, ids=lambda mutant: mutant.name)
def test_the_explorer_finds_the_mutant_by_a_shortest_schedule_that_replays(mutant: Mutant) -> None:
    scope = Scope(**SCOPES[mutant.name])
    promises = CATALOG[mutant.algorithm].promises
    found = explore(mutant.build, scope, promises)
    assert found.violation is not None, mutant.name
    assert found.violation.shortest
    unpruned = explore(mutant.build, scope, promises, reductions=NONE)
    assert unpruned.violation is not None
    assert len(found.violation.steps) == len(unpruned.violation.steps)
    again = check(replay(mutant.build, scope, found.violation.steps))
    broken = {name for name in promises if again.verdicts[name].value == "violated"}
    # A delivery under a false name breaks the port itself, which the explorer says in its own words.
    assert broken or "p0#1" in found.violation.failure


@pytest.mark.parametrize("mutant", CAUGHT, ids=lambda mutant: mutant.name)
def test_the_shipped_algorithm_survives_the_same_scope(mutant: Mutant) -> None:
    assert explore(mutant.algorithm, Scope(**SCOPES[mutant.name])).verdict == "kept"


@pytest.mark.parametrize("name", ["best_effort", "reliable", "majority", "waiting", "no_waiting_gc"])
def test_pruning_changes_no_outcome(name: str) -> None:
    scope = Scope(processes=3, messages=(1, 1, 0) if name != "no_waiting_gc" else (1, 0, 0), crashes_max=1)
    pruned = explore(name, scope)
    whole = explore(name, scope, reductions=NONE)
    assert (pruned.verdict, whole.verdict) == ("kept", "kept")
    assert pruned.outcomes == whole.outcomes
    assert pruned.states < whole.states
