"""Opening, routing, closing and losing links in PRC-broadcast, step by step."""

from collections import Counter
from itertools import pairwise

import pytest

from aforesaid.core import declaration_of
from aforesaid.protocols.overlay.frames import (
    ALPHA,
    BETA,
    PI,
    RHO,
    Agree,
    Buffer,
    Close,
    Fin,
    Flood,
    Keep,
    Lid,
    Reset,
)
from aforesaid.protocols.overlay.prc.links import CONFIRMED, SAFE, Down, Failed, Up
from support.prc_rules import exactly_once, handshake, opened
from support.prc_stage import PATIENCE, Stage, process, star


def test_alpha_may_take_the_new_connection() -> None:
    stage = star("A", "BC", alpha_direct=True)
    stage.do("B", "open", "C", ("A",))
    assert stage.carry("B", "C").kind == ALPHA
    assert [frame.kind for frame in stage.between("C", "A")] == [BETA]
    stage.drain()
    assert stage.outgoing("B", "C").state == CONFIRMED


def test_a_known_link_back_is_shorter_than_the_mediator() -> None:
    stage = star("A", "BC")
    stage.link("C", "B")
    stage.do("B", "open", "C", ("A",))
    stage.carry("B", "A")
    stage.carry("A", "C")
    assert [frame.kind for frame in stage.between("C", "B")] == [BETA]
    assert stage.between("C", "A") == []


def test_without_a_route_control_is_flooded_and_not_told_to_the_application() -> None:
    stage = star("A", "BC")
    stage.do("B", "open", "C", None)
    assert isinstance(stage.between("B", "A")[0], Flood)
    stage.drain()
    assert stage.outgoing("B", "C").state == CONFIRMED
    assert [stage.heard(name) for name in "ABC"] == ["", "", ""]
    assert stage.held() == 0


@pytest.mark.parametrize("both_ways", [False, True], ids=["one way, D is gone", "both ways, D is not linked"])
def test_a_route_that_fails_is_given_up_for_flooding_in_the_later_tries(both_ways: bool) -> None:
    """From A to D it leads, from D to C it does not: it fails twice, then control is flooded."""
    stage = star("A", "BCD", tries=4, both_ways=both_ways)
    if not both_ways:
        stage.crash("D")
    stage.do("B", "open", "C", ("A", "D"))
    for _ in range(2):
        stage.drain()
        assert stage.outgoing("B", "C").state < SAFE
        stage.expire("B", "handshake")
    stage.drain()
    assert stage.outgoing("B", "C").state == CONFIRMED
    assert stage.now == 2 * PATIENCE


def test_one_way_a_mediator_whose_link_is_missing_floods_from_where_it_is() -> None:
    """A's link to D exists, D's to C does not; and there is but one try."""
    stage = star("A", "BCD", tries=1)
    stage.do("B", "open", "C", ("A", "D"))
    stage.drain()
    assert stage.outgoing("B", "C").state == CONFIRMED
    assert stage.now == 0
    assert stage.held() == 0


def ring(*names: str, **settings: object) -> Stage:
    """One way, each linked to the next."""
    stage = Stage((name, process(name, **settings)) for name in names)
    for one, other in pairwise((*names, names[0])):
        stage.link(one, other)
    return stage


def test_one_way_a_route_need_not_lead_back() -> None:
    """A to B to C: β and ρ cannot pass B, which has no link to A, and are flooded; α and π take the route."""
    stage = ring(*"ABCDE", tries=1)
    stage.link("C", "B")
    stage.do("A", "open", "C", ("B",))
    stage.drain()
    assert stage.outgoing("A", "C").state == CONFIRMED
    kinds = Counter(stage.control())
    assert kinds[ALPHA] == kinds[PI] == 2, "the way there is known, and used"
    assert kinds[BETA] == kinds[RHO] == 1 + 6, "one hop, then once on each link"
    assert stage.held() == 0


def test_after_its_last_try_an_opening_fails() -> None:
    stage = star("A", "BC", tries=2)
    prc = stage.machines["B"].prc
    prc.open("C", ("A",), 0, stage.sinks["B"])
    for _ in range(2):
        timer = next(iter(stage.sinks["B"].timers))
        prc.expire(timer, stage.now, stage.sinks["B"])
    assert prc.take_notices() == [Failed("C")]
    assert stage.sinks["B"].timers == {}
    assert prc.state.with_peer("C") == []


def test_the_other_end_of_an_attempt_that_stalls_forgets_it_and_says_so() -> None:
    stage = star("A", "BC")
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    prc = stage.machines["C"].prc
    (timer,) = stage.sinks["C"].timers
    prc.expire(timer, 2 * PATIENCE, stage.sinks["C"])
    assert prc.take_notices() == [Failed("B")]
    assert stage.sinks["C"].take_sent() == [("B", Reset(timer[1]))]


def test_opening_what_is_open_or_being_opened_does_nothing() -> None:
    stage = star("A", "BC")
    stage.do("B", "open", "C", ("A",))
    frames = len(stage.sent)
    stage.do("B", "open", "C", ("A",))
    stage.do("B", "open", "A", None)
    assert len(stage.sent) == frames


def test_closing_an_attempt_abandons_it() -> None:
    stage = star("A", "BC")
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA)
    stage.say("B", "b1")
    stage.do("B", "close", "C")
    stage.drain()
    assert stage.machines["B"].prc.state.with_peer("C") == stage.machines["C"].prc.state.with_peer("B") == []
    assert stage.sinks["B"].timers == stage.sinks["C"].timers == {}
    exactly_once(stage, "b1")


def test_a_sender_closes_after_the_receiver_agrees_and_what_it_sent_arrives() -> None:
    stage = opened(process)
    stage.say("B", "b1")
    stage.do("B", "close", "C")
    stage.carry("B", "C")
    assert isinstance(stage.carry("B", "C"), Close)
    assert isinstance(stage.carry("C", "B"), Agree)
    assert isinstance(stage.carry("B", "C"), Fin)
    assert stage.machines["C"].prc.state.with_peer("B") == []
    stage.drain()
    exactly_once(stage, "b1")


def test_both_ways_each_end_sends_fin_last() -> None:
    stage = star("A", "BC", both_ways=True)
    stage.link("B", "C", both_ways=True)
    stage.do("B", "close", "C")
    stage.carry("B", "C")
    assert [type(frame) for frame in stage.between("C", "B")] == [Fin]
    stage.say("B", "b1")
    stage.carry("C", "B")
    assert isinstance(stage.between("B", "C")[-1], Fin)
    stage.drain()
    exactly_once(stage, "b1")


def test_a_close_is_asked_again_and_then_done_alone() -> None:
    stage = opened(process, tries=2)
    stage.do("B", "close", "C")
    for _ in range(2):
        assert isinstance(stage.lose("B", "C"), Close)
        stage.expire("B", "close")
    assert isinstance(stage.carry("B", "C"), Fin)
    assert stage.machines["B"].prc.state.with_peer("C") == stage.machines["C"].prc.state.with_peer("B") == []


def test_a_link_that_the_other_end_needs_is_kept() -> None:
    """C hears only A: A may not close that link, though A itself has others."""
    stage = star("A", "BC")
    stage.do("A", "close", "C")
    assert {type(frame) for frame in stage.carry_all("A", "C")} == {Close}
    assert {type(frame) for frame in stage.carry_all("C", "A")} == {Keep}
    assert stage.machines["A"].prc.state.closing == {}
    assert stage.sinks["A"].timers == {}


def agreed_too_late() -> tuple[Stage, Lid]:
    """B asks C twice; C, which had no other link at first, agrees the second time, after its Keep."""
    stage = star("A", "BC")
    lid = stage.link("B", "C")
    from_a = next(lid for lid in stage.machines["C"].prc.state.incoming if lid.opener == "A")
    stage.do("C", "link_down", from_a)
    stage.do("B", "close", "C")
    stage.carry("B", "C", Close)
    stage.machines["C"].prc.state.establish(from_a, None, receives=True)
    stage.expire("B", "close")
    stage.carry("B", "C", Close)
    assert [type(frame) for frame in stage.between("C", "B")] == [Keep, Agree]
    stage.carry("C", "B", Keep)
    return stage, lid


@pytest.mark.parametrize("lost", [False, True], ids=["Agree comes", "Agree is lost"])
def test_who_agreed_to_a_close_that_was_given_up_asks_in_its_turn(lost: bool) -> None:
    stage, lid = agreed_too_late()
    (stage.lose if lost else stage.carry)("C", "B", Agree)
    assert stage.machines["C"].gauges()["closing"] == 1
    stage.expire("C", "close")
    stage.drain()
    assert not any(machine.prc.state.known(lid) for machine in stage.machines.values())
    assert stage.held() == 0
    assert stage.sinks["C"].timers == {}


def test_an_agreement_is_void_once_the_other_end_keeps_the_link() -> None:
    """By the time C asks, the link is B's last: it stays, and C counts on it again."""
    stage, lid = agreed_too_late()
    stage.carry("C", "B", Agree)
    stage.do("B", "close", "A")
    stage.drain()
    stage.expire("C", "close")
    stage.drain()
    assert all(stage.machines[name].prc.state.known(lid) for name in "BC")
    assert stage.held() == 0


@pytest.mark.parametrize("leaver", ["B", "C"])
def test_no_half_of_a_link_is_left_whatever_may_be_lost_is_lost(leaver: str) -> None:
    """One way, who only receives ends by Fin too: Reset may be lost, and no copy might follow."""
    stage = opened(process)
    stage.do(leaver, "peer_down", "C" if leaver == "B" else "B")
    stage.flying = [frame for frame in stage.flying if not declaration_of(type(frame.message)).droppable]
    stage.drain()
    for one, other in ("BC", "CB"):
        assert stage.machines[one].prc.state.with_peer(other) == []


def test_a_link_that_is_being_closed_stands_in_for_no_other() -> None:
    stage = opened(process)
    stage.do("C", "close", "B")
    stage.do("C", "close", "A")
    closing = stage.machines["C"].prc.state.closing
    assert [lid.opener for lid in closing] == ["B"]


@pytest.mark.parametrize("sides", ["BC", "CB"])
def test_a_lost_connection_takes_the_link_at_each_end_when_it_is_told(sides: str) -> None:
    stage = opened(process)
    (lid,) = [lid for lid in stage.machines["B"].prc.state.outgoing if lid.other == "C"]
    stage.do(sides[0], "link_down", lid)
    assert not stage.machines[sides[0]].prc.state.known(lid)
    stage.say("A", "a1")
    stage.drain()
    stage.do(sides[1], "link_down", lid)
    stage.drain()
    exactly_once(stage, "a1")


def test_an_attempt_whose_connection_is_lost_is_made_again() -> None:
    stage = star("A", "BC")
    stage.do("B", "open", "C", ("A",))
    (lid,) = [lid for lid in stage.machines["B"].prc.state.outgoing if lid.other == "C"]
    stage.do("B", "link_down", lid)
    stage.drain()
    assert stage.outgoing("B", "C").state == CONFIRMED


def test_what_becomes_of_links_is_told_in_notices() -> None:
    stage = star("A", "BC")
    sinks, prc = stage.sinks, stage.machines["B"].prc
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA, "π", "ρ")
    stage.carry("B", "C", Buffer)
    prc.receive("C", stage.between("C", "B")[0], 0, sinks["B"])
    (lid,) = [lid for lid in prc.state.outgoing if lid.other == "C"]
    assert prc.take_notices() == [Up(lid)]
    prc.peer_down("C", 0, sinks["B"])
    assert prc.take_notices() == [Down(lid, agreed=False)]
    assert prc.take_notices() == []
