"""How processes come, end and are cut off in PRC-broadcast, step by step."""

import pytest

from aforesaid.core import Misuse
from aforesaid.protocols.overlay.frames import Ack, Copy, Fin, Join, Reset, Welcome
from aforesaid.protocols.overlay.prc.links import CONFIRMED, OPEN, SAFE
from support.prc_stage import PATIENCE, Stage, process, star


def joining() -> Stage:
    """N asks A to be let in."""
    stage = star("A", "BC")
    stage.add("N", process("N"))
    stage.do("N", "join", "A")
    return stage


def test_a_newcomer_is_linked_both_ways_in_one_step() -> None:
    stage = joining()
    assert isinstance(stage.carry("N", "A"), Join)
    assert stage.sinks["A"].admitted == ["N"]
    assert (stage.outgoing("A", "N").state, stage.incoming("A", "N").state) == (SAFE, OPEN)
    assert isinstance(stage.carry("A", "N"), Welcome)
    assert (stage.outgoing("N", "A").state, stage.incoming("N", "A").state) == (CONFIRMED, OPEN)
    assert isinstance(stage.carry("N", "A"), Ack)
    assert stage.outgoing("A", "N").state == CONFIRMED
    assert stage.sinks["A"].timers == stage.sinks["N"].timers == {}


def test_what_a_newcomer_says_before_it_is_welcomed_waits_in_order() -> None:
    stage = joining()
    stage.say("N", "n1", "n2")
    assert stage.machines["N"].gauges()["unsaid"] == 2
    assert stage.between("N", "A") == [Join(stage.machines["N"].prc.joining)]
    stage.drain()
    assert stage.heard("B") == stage.heard("N") == "n1 n2"
    assert stage.held() == 0


def test_a_newcomer_is_owed_what_its_contact_delivers_from_then_on() -> None:
    stage = joining()
    stage.say("A", "before")
    stage.carry("N", "A")
    stage.say("A", "after")
    stage.drain()
    assert stage.heard("N") == "after"


def test_a_join_without_an_answer_ends_the_incarnation() -> None:
    """It is not asked again under the same name: what counts is one admission, whose answer may yet come."""
    stage = joining()
    stage.carry("N", "A")
    stage.lose("A", "N")
    stage.expire("N", "join")
    assert stage.now == PATIENCE
    assert stage.sinks["N"].isolations == 1
    assert stage.between("N", "A") == []


def test_a_late_welcome_is_refused_and_the_contact_forgets() -> None:
    stage = joining()
    stage.carry("N", "A")
    stage.expire("N", "join")
    stage.carry("A", "N")
    assert isinstance(stage.carry("N", "A"), Reset)
    assert stage.machines["A"].prc.state.with_peer("N") == []


def test_a_contact_gives_up_a_newcomer_that_does_not_answer() -> None:
    stage = joining()
    stage.carry("N", "A")
    stage.lose("A", "N")
    stage.say("A", "a1")
    stage.expire("A", "handshake")
    assert stage.machines["A"].prc.state.with_peer("N") == []


def test_a_contact_that_is_itself_outside_welcomes_nobody() -> None:
    stage = joining()
    stage.add("M", process("M"))
    stage.do("M", "join", "N")
    stage.carry("M", "N")
    assert stage.between("N", "M") == []


def test_the_next_incarnations_join_ends_the_links_of_the_last() -> None:
    stage = joining()
    stage.drain()
    stage.machines["N"] = process("N", incarnation=1)
    stage.do("N", "join", "A")
    stage.drain()
    (lid,) = stage.machines["A"].prc.state.with_peer("N")
    assert lid.incarnation == 1


def test_a_newcomer_whose_contact_is_gone_ends() -> None:
    stage = joining()
    stage.do("N", "peer_down", "A")
    assert stage.sinks["N"].isolations == 1


def test_who_leaves_ends_each_link_after_what_it_said() -> None:
    stage = star("A", "BC")
    stage.say("B", "b1")
    stage.do("B", "leave")
    assert [type(frame) for frame in stage.between("B", "A")] == [Copy, Fin, Fin]
    stage.drain()
    assert stage.heard("A") == stage.heard("C") == "b1"
    assert stage.machines["A"].prc.state.with_peer("B") == []


def test_isolation_is_told_once_and_leaves_nothing_behind() -> None:
    stage = star("A", "BC")
    stage.say("B", "b1")
    stage.do("B", "peer_down", "A")
    stage.do("B", "peer_down", "A")
    assert stage.sinks["B"].isolations == 1
    assert stage.machines["B"].prc.state.outgoing == stage.machines["B"].prc.state.incoming == {}
    stage.drain()
    assert stage.heard("C") == "b1"
    assert stage.held() == 0


def test_who_had_no_link_yet_is_not_isolated() -> None:
    stage = Stage([("A", process("A"))])
    stage.say("A", "a1")
    stage.do("A", "peer_down", "B")
    assert stage.sinks["A"].isolations == 0


def test_nobody_opens_a_link_to_itself() -> None:
    with pytest.raises(Misuse, match="itself"):
        star("A", "BC").do("A", "open", "A", None)
