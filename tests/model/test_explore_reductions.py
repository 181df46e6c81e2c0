"""The reductions keep every outcome, order and verdict: compared with the unreduced search."""

from itertools import product
from typing import Any

import pytest

from aforesaid.explore import ALL, NONE, Exploration, Reductions, Scope, explore
from aforesaid.explore import explorer as explorer_module
from aforesaid.explore.postpone import Postponer
from aforesaid.explore.prompt import Prompter
from aforesaid.explore.scope import LinkCall
from oracle.mutants import Silent
from oracle.watched import watched
from support import broken
from support.chaotic import Linked, chaotic
from support.scale import scaled

ONE_BY_ONE = (
    ALL,
    Reductions(postponing=False, prompting=False),
    Reductions(prompting=False),
    Reductions(postponing=False),
    Reductions(dead_frames=False),
)

WITH_LINKS = scaled((ALL, Reductions(dead_frames=False)), ONE_BY_ONE)
"""Where links open and close, where audits fail most often and cost most."""

TINY = {
    "two": Scope(2, 1),
    "two and one": Scope(2, (2, 1)),
    "three, one speaks": Scope(3, (1, 0, 0)),
    "crash": Scope(2, 1, crashes_max=1),
    "duplicate": Scope(2, 1, duplicates_max=1),
    "drop": Scope(2, 1, drops_max=1),
    "queues": Scope(2, (2, 1), fifo=True),
    "queues, three": Scope(3, (1, 0, 0), fifo=True),
    "queues, drop": Scope(2, 1, fifo=True, drops_max=1),
    "queues, crash": Scope(2, 1, fifo=True, crashes_max=1),
    "links": Scope(2, 1, fifo=True, links=(LinkCall("p0", "open", "p1"), LinkCall("p1", "close", "p0"))),
    "links, drop": Scope(2, 1, fifo=True, links=(LinkCall("p0", "open", "p1"),), drops_max=1),
    "links, disconnection": Scope(2, 1, fifo=True, disconnections_max=1),
    "links, crash": Scope(2, (1, 0), fifo=True, links=(LinkCall("p1", "close", "p0"),), crashes_max=1),
}

RING: Any = {"degree": 1, "both_ways": False}
CIRCLE: Any = {"degree": 1}
OPENS, JOINS = LinkCall("p0", "open", "p2", ("p1",)), LinkCall("p2", "join", "p0")

SEEDS = scaled(3, 6)
"""Chaotic protocols of each scope."""
STATES_MAX = 2_000
"""Chaotic protocols that go on for longer than this, unreduced, are left out."""

SHIPPED = [
    ("waiting", Scope(3, 1)),
    ("waiting", Scope(3, 1, fifo=True)),
    ("waiting", Scope(2, 2, duplicates_max=1)),
    ("waiting", Scope(3, (1, 1, 0), crashes_max=1)),
    ("waiting", Scope(3, (1, 0, 0), crashes_max=2)),
    ("reliable", Scope(3, (1, 1, 0))),
    ("no_waiting", Scope(3, (1, 1, 0))),
    ("no_waiting", Scope(2, (2, 2))),
    ("uniform", Scope(2, (2, 1))),
    ("uniform", Scope(3, (1, 0, 0), crashes_max=1)),
    ("no_waiting_gc", Scope(2, (2, 1))),
    ("no_waiting_gc", Scope(2, 1, crashes_max=1)),
    ("newtop", Scope(2, 1, fifo=True, timer_firings_max=2)),
    ("waiting", Scope(2, 1, perfect_links=True, drops_max=1, duplicates_max=1, timer_firings_max=2)),
    ("hybrid_basic", Scope(3, (2, 1, 0))),
    ("hybrid_sps", Scope(3, (1, 1, 0), crashes_max=1)),
    ("hybrid_sps", Scope(3, (1, 1, 0), duplicates_max=1)),
    ("hybrid_sps", Scope(3, (2, 0, 0), drops_max=1, timer_firings_max=1)),
    ("hybrid_sps", Scope(3, (2, 1, 0), fifo=True)),
    ("hybrid_multicast", Scope(3, (1, 1, 0))),
    ("hybrid_multicast_sps", Scope(3, audiences=(((1, 2), (1,)), ((2,),), ()))),
    ("rst", Scope(3, (2, 1, 0))),
    ("ks", Scope(3, (1, 1, 0), duplicates_max=1)),
    ("mf", Scope(3, (1, 1, 0), crashes_max=1)),
    ("cykas", Scope(3, (2, 1, 0), fifo=True)),
    ("prc", Scope(3, (1, 1, 0), fifo=True, options=RING)),
    ("prc", Scope(3, (1, 1, 0), fifo=True, links=(OPENS, LinkCall("p0", "close", "p2")), options=RING)),
    ("prc", Scope(3, 0, fifo=True, links=(OPENS,), drops_max=1, timer_firings_max=1, options=RING)),
    ("prc", Scope(3, (0, 1, 0), fifo=True, links=(OPENS,), disconnections_max=1, options=RING)),
    ("prc", Scope(3, (1, 0, 0), fifo=True, links=(OPENS,), crashes_max=1, options=RING)),
    ("prc", Scope(3, (1, 0, 0), links=(LinkCall("p0", "close", "p2"), OPENS), options=CIRCLE)),
    ("prc", Scope(3, (1, 0, 1), links=(JOINS,), options=CIRCLE)),
    ("prc", Scope(3, (1, 0, 0), links=(JOINS, LinkCall("p1", "leave")), options=CIRCLE)),
    ("prc", Scope(3, (1, 0, 0), suspicions_max=1, options=CIRCLE)),
    ("preventive", Scope(3, (1, 1, 0), links=(JOINS,), options=CIRCLE)),
    ("prc_spray", Scope(3, 0, timer_firings_max=1, options=CIRCLE)),
    (broken.impatient, Scope(2, 2)),
    (broken.one_pass, Scope(2, (3, 0))),
    (broken.past_as_set, Scope(3, (2, 1, 0))),
]


def outcomes(build: Any, scope: Scope, reductions: Reductions, remember_order: bool) -> Any:
    """What can come of it, nothing being promised."""
    found = explore(build, scope, (), reductions=reductions, remember_order=remember_order)
    assert found.complete
    return found.outcomes


@pytest.mark.parametrize(
    ("build", "scope", "remember_order"),
    [
        (*case, remember_order)
        for number, case in enumerate(SHIPPED)
        for remember_order in scaled((number % 2 == 1,), (False, True))
    ],
)
def test_shipped_and_broken_protocols_have_the_same_outcomes(
    build: Any, scope: Scope, remember_order: bool
) -> None:
    full = outcomes(build, scope, NONE, remember_order)
    for reductions in WITH_LINKS if build in ("prc", "preventive", "prc_spray") else ONE_BY_ONE:
        assert outcomes(build, scope, reductions, remember_order) == full


@pytest.mark.parametrize("scope", TINY)
def test_chaotic_protocols_have_the_same_outcomes(scope: str) -> None:
    compared = pruned = 0
    for seed, remember_order in product(range(6 - SEEDS, 6), (False, True)):
        full = unreduced(seed, TINY[scope], remember_order)
        if full is None:
            continue
        for reductions in ONE_BY_ONE:
            found = explore(
                drawn(seed, TINY[scope]),
                TINY[scope],
                (),
                reductions=reductions,
                remember_order=remember_order,
            )
            assert found.outcomes == full.outcomes, (seed, reductions)
            compared += 1
            pruned += found.states < full.states
    assert compared >= 3 * SEEDS
    # With a crash, or calls that commute with nothing, little can be pruned, and chaotic frames seldom die.
    assert pruned >= (0 if TINY[scope].crashes_max or TINY[scope].rewires else SEEDS)


@pytest.mark.parametrize("scope", TINY)
def test_chaotic_protocols_get_the_same_verdict_by_schedules_of_the_same_length(scope: str) -> None:
    orders = (
        ("no_duplicate", "no_creation"),
        ("no_duplicate", "fifo", "causal"),
        ("validity", "agreement"),
        ("causal", "stability"),
    )
    verdicts = set()
    short = [seed for seed in range(8, 8 + SEEDS) if unreduced(seed, TINY[scope], False) is not None]
    for seed, promises in product(short, orders):
        full = explore(drawn(seed, TINY[scope]), TINY[scope], promises, reductions=NONE)
        found = explore(drawn(seed, TINY[scope]), TINY[scope], promises)
        verdicts.add(full.verdict)
        assert found.verdict == full.verdict, (seed, promises)
        # In queues, frames without effect are received in passing and are no steps of a reduced schedule.
        if full.violation is not None and not TINY[scope].fifo:
            assert steps(found) == steps(full), (seed, promises)
    assert verdicts == {"kept", "violated"}


def test_links_are_reduced_if_it_is_asked_for_or_there_are_many_worlds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scope = Scope(3, (1, 0, 0), links=(LinkCall("p0", "close", "p2"), OPENS), options=CIRCLE)
    plain, reduced = explore("prc", scope), explore("prc", scope, reductions=ALL)
    assert (plain.verdict, plain.pruned.prompted) == (reduced.verdict, 0)
    assert reduced.states < plain.states / 3
    monkeypatch.setattr(explorer_module, "PLAIN_MAX", plain.states // 2)
    assert explore("prc", scope).states == reduced.states
    assert not explore("prc", scope, states_max=plain.states // 4).complete


@pytest.mark.parametrize("mutant", [None, Silent])
def test_addressed_messages_get_the_same_verdict_by_schedules_of_the_same_length(mutant: Any) -> None:
    """What a crashed process sent may be missing and must not come late; see `guard`."""
    entry = watched("hybrid_sps", mutant, asleep=True)
    scope = Scope(3, audiences=(((2,), (1,)), ((2,),), ()), crashes_max=1)
    for promises in (entry.promises_if_crashed, entry.promises):
        found, full = (explore(entry, scope, promises, reductions=how) for how in (ALL, NONE))
        assert found.verdict == full.verdict
        assert (full.verdict == "kept") == (mutant is None and promises != entry.promises)
        if full.violation is not None:
            assert steps(found) == steps(full)


def drawn(seed: int, scope: Scope) -> Any:
    return chaotic(seed, Linked) if scope.rewires else chaotic(seed)


def unreduced(seed: int, scope: Scope, remember_order: bool) -> Exploration | None:
    full = explore(
        drawn(seed, scope), scope, (), reductions=NONE, remember_order=remember_order, states_max=STATES_MAX
    )
    return full if full.complete else None


def steps(found: Exploration) -> int:
    assert found.violation is not None
    return sum(step.do != "lose" for step in found.violation.steps)


def never(*_: Any) -> set[Any]:
    return set()


class TestEveryAuditIsNeeded:
    """Without it a wrong result, or none, would be believed."""

    def differs(self, scope: Scope, seeds: range) -> bool:
        for seed, remember_order in product(seeds, (False, True)):
            full = unreduced(seed, scope, remember_order)
            if full is not None:
                try:
                    found = explore(chaotic(seed), scope, (), remember_order=remember_order)
                except RuntimeError:
                    return True
                if found.outcomes != full.outcomes:
                    return True
        return False

    def test_that_dead_frames_stay_dead(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(explorer_module, "revived", never)
        assert self.differs(Scope(2, (2, 1)), range(10))

    def test_that_prompt_frames_commute(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Prompter, "hasty", never)
        assert self.differs(Scope(2, (2, 1)), range(30))

    def test_that_the_postponed_send_nothing_new(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Postponer, "_is_redundant", lambda *_: True)
        assert self.differs(Scope(2, (2, 1)), range(30))

    def test_that_the_order_of_mappings_is_immaterial(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scope = Scope(3, 1)
        full = explore(broken.hoarder, scope, (), reductions=NONE, remember_order=True)
        assert explore(broken.hoarder, scope, (), remember_order=True).outcomes == full.outcomes
        monkeypatch.setattr(explorer_module, "misrepresented", never)
        with pytest.raises(RuntimeError, match="does not happen when run again"):
            explore(broken.hoarder, scope, (), remember_order=True)
