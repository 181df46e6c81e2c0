"""PRC-broadcast, every schedule of small scopes: links open, close, open again, break while others speak."""

from dataclasses import replace
from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.explore import Exploration, Scope, explore, replay
from aforesaid.protocols.catalog import CATALOG
from mutants.prc import PRC_MUTANTS, PrcMutant
from support.scale import scaled

RING: dict[str, Any] = {"degree": 1, "both_ways": False}
"""One way, p0 to p1 to p2 to p0: three lack the link from p0 to p2."""
BOTH: dict[str, Any] = {"degree": 1, "both_ways": True}
"""A circle of links both ways: three are linked to each other, of four p0 is not to p2."""
MESH: dict[str, Any] = {"degree": 2, "both_ways": False}
"""One way, each to the next two: of four, p0 lacks the link to p3."""

OPENS, CLOSES = ("p0", "open", "p2", ("p1",)), ("p0", "close", "p2")
CROSSES = ("p2", "open", "p1", ("p0",))
FURTHER = ("p0", "open", "p3", ("p1",))
LINKED, EITHER = {True}, {True, False}


def case(ends: set[bool], options: Any, messages: tuple[int, ...], *links: Any, **faults: Any) -> Any:
    """A scope, and whether p0 then ends linked to whom the first call names, or to p2."""
    return ends, Scope(len(messages), messages, fifo=True, links=links, options=options, **faults)


SCOPES: dict[str, tuple[set[bool], Scope]] = {
    "open, two say": case(LINKED, RING, (1, 1, 0), OPENS),
    "open, all say": case(LINKED, RING, (1, 1, 1), OPENS),
    "open, one says two": case(LINKED, RING, (2, 0, 0), OPENS),
    "open, α routed": case(LINKED, {**RING, "alpha": "routed"}, (1, 1, 0), OPENS),
    "open, no route": case(LINKED, RING, (1, 1, 0), ("p0", "open", "p2")),
    "two open at once": case(LINKED, RING, (0, 1, 0), OPENS, CROSSES),
    "open both ways": case(LINKED, BOTH, (1, 0, 0, 0), OPENS),
    "open both ways, α routed": case(LINKED, {**BOTH, "alpha": "routed"}, (0, 1, 0, 0), OPENS),
    "open and close": case(EITHER, RING, (1, 1, 0), OPENS, CLOSES),
    "open, close another": case(LINKED, MESH, (0, 1, 0, 0), FURTHER, CLOSES),
    "open, the mediator closes": case(LINKED, MESH, (0, 1, 0, 0), FURTHER, ("p1", "close", "p3")),
    "open both ways, the mediator closes": case(LINKED, BOTH, (0, 0, 0, 0), OPENS, ("p1", "close", "p2")),
    "open, close, open": case(LINKED, RING, (1, 1, 0), OPENS, CLOSES, OPENS),
    "close, open both ways": case(LINKED, BOTH, (1, 0, 0), CLOSES, OPENS),
    "close, open both ways, another says": case(LINKED, BOTH, (0, 1, 0), CLOSES, OPENS),
    **scaled({}, {"close, open both ways, two say": case(LINKED, BOTH, (1, 1, 0), CLOSES, OPENS)}),
    "close, open, close both ways": case(EITHER, BOTH, (1, 0, 0), CLOSES, OPENS, CLOSES),
    "timer": case(EITHER, RING, (1, 0, 0), OPENS, timer_firings_max=1),
    "timer, another says": case(EITHER, RING, (0, 1, 0), OPENS, timer_firings_max=1),
    "timer, both ways": case(EITHER, BOTH, (1, 0, 0), CLOSES, OPENS, timer_firings_max=1),
    "drop": case(EITHER, RING, (0, 1, 0), OPENS, CLOSES, drops_max=1, timer_firings_max=1),
    "drop, both ways": case(EITHER, BOTH, (0, 0, 0), CLOSES, OPENS, drops_max=1, timer_firings_max=1),
    "disconnection": case(EITHER, MESH, (1, 0, 0), disconnections_max=1),
    "disconnection, both ways": case(EITHER, BOTH, (1, 0, 0), disconnections_max=1),
    "disconnection, open, close": case(EITHER, RING, (0, 1, 0), OPENS, CLOSES, disconnections_max=1),
    "disconnection, open, timer": case(
        EITHER, RING, (0, 1, 0), OPENS, disconnections_max=1, timer_firings_max=1
    ),
    "disconnection, close, open both ways": case(
        EITHER, BOTH, (0, 0, 0), CLOSES, OPENS, disconnections_max=1
    ),
    "crash": case(EITHER, RING, (1, 0, 0), OPENS, crashes_max=1),
    "crash, both ways": case(EITHER, BOTH, (1, 0, 0), CLOSES, OPENS, crashes_max=1),
}


def linked(found: Exploration) -> set[bool]:
    """Whether p0 can end linked to the peer, and whether it can end without."""
    peer = found.scope.links[0].peer if found.scope.links else "p2"
    return {peer in ends[0].links for ends in found.outcomes}


@pytest.mark.parametrize("name", SCOPES)
def test_every_schedule_keeps_every_promise(name: str) -> None:
    ends, scope = SCOPES[name]
    found = explore("prc", scope)
    assert found.verdict == "kept", str(found)
    assert found.complete
    # The links came about, or did not, as they may: the search was not idle.
    assert linked(found) == ends
    assert found.states > 50


def test_who_is_isolated_is_evicted_and_the_others_owe_it_nothing() -> None:
    """In a circle one way, whoever loses its only way in or out is at its end."""
    found = explore("prc", SCOPES["disconnection, open, close"][1])
    gone = {tuple(end.gone for end in ends) for ends in found.outcomes}
    assert {(False, False, False), (True, True, True)} < gone


TEETH = {
    "BetaDirect": ("open, two say", "no_duplicate"),
    "PiDirect": ("open, two say", "at rest p2 holds"),
    "RhoDirect": ("open, α routed", "no_duplicate"),
    "SafeAtOnce": ("open, two say", "no_duplicate"),
    "ExpectsAllOfBpi": ("open, two say", "at rest p2 holds"),
    "ExpectsNothing": ("open both ways", "no_duplicate"),
    "BalphaForgotten": ("close, open both ways", "no_duplicate"),
    "Backwards": ("open, one says two", "causal"),
    "BufferDropped": ("open both ways", "no_duplicate"),
    "FlushedFirst": ("close, open both ways", "no_duplicate"),
    "AnyAttempt": ("open, close, open", "no_duplicate"),
    "AnyBuffer": ("timer, another says", "no_duplicate"),
    "AnyInstance": ("disconnection", "no_duplicate"),
    "OlderAttemptsStay": ("drop", "at rest p2 holds"),
    "NoTimers": ("drop", "at rest p2 holds"),
    "SilentEnd": ("drop", "at rest p2 holds"),
    "IsolatedInSilence": ("disconnection, open, close", "at rest p1 holds"),
}
"""By mutant: the scope in which it dies, and of what."""


@pytest.mark.parametrize(
    "mutant", [m for m in PRC_MUTANTS if m.name in TEETH], ids=lambda mutant: mutant.name
)
def test_a_mutant_dies_by_a_shortest_schedule_that_replays(mutant: PrcMutant) -> None:
    name, broken = TEETH[mutant.name]
    entry, scope = replace(CATALOG["prc"], make=lambda setup, _: mutant.build(setup)), SCOPES[name][1]
    found = explore(entry, scope)
    assert found.violation is not None
    assert found.violation.shortest
    assert broken in " ".join(found.violation.sentences)
    report = found.violation.report
    again = check(replay(entry, scope, found.violation.steps), report.required)
    assert again.to_dict() == report.to_dict()


def test_the_preventive_broadcast_opens_and_closes_links_too() -> None:
    found = explore("preventive", case(LINKED, {"degree": 1}, (1, 0, 0, 0), OPENS)[1])
    assert (found.verdict, found.complete) == ("kept", True)
    assert linked(found) == LINKED
