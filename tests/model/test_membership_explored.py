"""Members come and go, every schedule of small scopes: joins, leaves, false suspicion, peer sampling."""

from dataclasses import replace
from typing import Any

import pytest

from aforesaid.check import check
from aforesaid.explore import Exploration, LinkCall, Scope, explore, replay
from aforesaid.protocols.catalog import CATALOG
from mutants.prc import PRC_MUTANTS, PrcMutant
from support.scale import scaled

CIRCLE: Any = {"degree": 1}
MESH: Any = {"degree": 2}
"""Links one way, as `preventive` has them: three are linked to each other."""

JOINS, LEAVES, HANDS_OVER = LinkCall("p2", "join", "p0"), LinkCall("p2", "leave"), LinkCall("p2", "hand_over")
OTHER_LEAVES, OPENS = LinkCall("p1", "leave"), LinkCall("p2", "open", "p1", ("p0",))


def scope(options: Any, messages: tuple[int, ...], *links: LinkCall, **faults: Any) -> Scope:
    return Scope(3, messages, links=links, options=options, **faults)


SCOPES: dict[str, tuple[str, Scope]] = {
    "join": ("prc", scope(CIRCLE, (1, 0, 1), JOINS)),
    "join, another says": ("prc", scope(CIRCLE, (0, 1, 1), JOINS)),
    "join, open": ("prc", scope(CIRCLE, (1, 0, 0), JOINS, OPENS)),
    "join, leave": ("prc", scope(CIRCLE, (1, 1, 0), JOINS, OTHER_LEAVES)),
    "join, drop": ("prc", scope(CIRCLE, (1, 0, 1), JOINS, drops_max=1, timer_firings_max=1)),
    "join, crash": ("prc", scope(CIRCLE, (1, 0, 0), JOINS, crashes_max=1, timer_firings_max=1)),
    "leave": ("prc", scope(CIRCLE, (1, 0, 1), LEAVES)),
    "hand over": ("prc", scope(CIRCLE, (1, 0, 0), HANDS_OVER, LEAVES, timer_firings_max=1)),
    "suspicion": ("prc", scope(CIRCLE, (1, 0, 0), suspicions_max=1)),
    "suspicion, join": ("prc", scope(CIRCLE, (1, 0, 0), JOINS, suspicions_max=1, timer_firings_max=1)),
    "suspicion, crash": ("prc", scope(CIRCLE, (1, 0, 0), suspicions_max=1, crashes_max=1)),
    "preventive, join": ("preventive", scope(CIRCLE, (1, 0, 1), JOINS)),
    "preventive, join, open": ("preventive", scope(CIRCLE, (1, 1, 0), JOINS, OPENS)),
    "preventive, leave": ("preventive", scope(MESH, (1, 1, 0), LEAVES)),
    "preventive, suspicion": ("preventive", scope(MESH, (1, 0, 0), suspicions_max=1)),
    "Spray": ("prc_spray", scope(CIRCLE, (0, 0, 0), timer_firings_max=1)),
    "Spray, join": ("prc_spray", scope(CIRCLE, (1, 0, 0), JOINS)),
    "Spray, leave": ("prc_spray", scope(CIRCLE, (1, 0, 0), HANDS_OVER, LEAVES)),
    "Spray, suspicion": ("prc_spray", scope(CIRCLE, (1, 0, 0), suspicions_max=1)),
    "Spray, crash": ("prc_spray", scope(CIRCLE, (0, 0, 0), crashes_max=1, timer_firings_max=1)),
    **scaled(
        {},
        {
            "Spray, join, exchange": ("prc_spray", scope(CIRCLE, (0, 0, 0), JOINS, timer_firings_max=1)),
            "Spray, one says": ("prc_spray", scope(CIRCLE, (1, 0, 0), timer_firings_max=1)),
            "Spray, drop": ("prc_spray", scope(CIRCLE, (0, 0, 0), drops_max=1, timer_firings_max=2)),
        },
    ),
}


def explored(name: str) -> Exploration:
    algorithm, bounds = SCOPES[name]
    return explore(algorithm, bounds)


@pytest.mark.parametrize("name", SCOPES)
def test_every_schedule_keeps_every_promise(name: str) -> None:
    found = explored(name)
    assert found.verdict == "kept", str(found)
    assert found.complete
    assert found.states > 50


def test_a_newcomer_is_owed_what_its_contact_had_not_delivered() -> None:
    """p0's message reaches p2 or lies in its base, and all hear what p2 says."""
    heard = {ends[2].delivered for ends in explored("join").outcomes}
    assert heard == {0b10, 0b11}
    assert {(ends[0].delivered, ends[1].delivered) for ends in explored("join").outcomes} == {(0b11, 0b11)}


def test_a_newcomer_ends_linked_or_isolated() -> None:
    joined = {(ends[2].gone, "p2" in ends[0].links) for ends in explored("join").outcomes}
    assert joined == {(False, True)}
    lost = {(ends[2].gone, "p2" in ends[0].links) for ends in explored("join, drop").outcomes}
    assert lost == {(False, True), (True, False)}


def test_who_left_is_gone_and_the_others_are_told() -> None:
    for ends in explored("leave").outcomes:
        assert [end.gone for end in ends] == [False, False, True]
        assert (ends[0].links, ends[1].links) == (("p1",), ("p0",))


def test_who_is_wrongly_suspected_is_not_linked_by_force() -> None:
    links = {tuple(end.links for end in ends) for ends in explored("suspicion").outcomes}
    assert (("p1",), ("p0", "p2"), ("p1",)) in links


def test_spray_begins_and_exchanges() -> None:
    """Founders begin; where a period ends before all settle, arcs change hands and links with them.

    It takes four with two arcs each: of one arc half, rounded down, is none to give in return.
    """

    def links(firings: int) -> set[Any]:
        four = Scope(4, (0, 0, 0, 0), options=MESH, timer_firings_max=firings)
        return {tuple(end.links for end in ends) for ends in explore("prc_spray", four).outcomes}

    assert links(0) < links(1)


TEETH = {
    "AnyInstance": ("suspicion", "no_duplicate"),
    "NotedNowhere": ("leave", "no_duplicate"),
    "WelcomedWithMemory": ("join", "at rest p0 holds"),
    "SpeaksBeforeWelcome": ("join", "validity"),
    "TheNewLinkToo": ("join, open", "at rest p1 holds"),
    "NotBuffered": ("join, open", "no_duplicate"),
}
"""By mutant: the scope in which it dies, and of what."""


@pytest.mark.parametrize(
    "mutant", [m for m in PRC_MUTANTS if m.name in TEETH], ids=lambda mutant: mutant.name
)
def test_a_mutant_dies_by_a_shortest_schedule_that_replays(mutant: PrcMutant) -> None:
    name, broken = TEETH[mutant.name]
    entry, bounds = replace(CATALOG["prc"], make=lambda setup, _: mutant.build(setup)), SCOPES[name][1]
    found = explore(entry, bounds)
    assert found.violation is not None
    assert broken in " ".join(found.violation.sentences)
    report = found.violation.report
    again = check(replay(entry, bounds, found.violation.steps), report.required)
    assert again.to_dict() == report.to_dict()
