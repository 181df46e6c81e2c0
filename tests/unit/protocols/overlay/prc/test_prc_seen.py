"""A message does not go back whole to whom it came from first."""

from aforesaid.core import MessageId, declaration_of
from aforesaid.protocols.overlay.frames import Copy, Lid, Reset, Seen
from support.prc_stage import process, star


def test_its_id_is_enough_and_nothing_is_expected_any_more() -> None:
    stage = star("A", "BC", both_ways=True)
    stage.say("B", "b1")
    stage.carry("B", "A", Copy)
    (back,), (on,) = stage.between("A", "B"), stage.between("A", "C")
    assert isinstance(back, Seen)
    assert isinstance(on, Copy)
    assert stage.machines["B"].gauges()["expected"] == 1
    stage.carry("A", "B")
    assert stage.machines["B"].gauges()["expected"] == 0
    stage.drain()
    assert stage.heard("A") == stage.heard("B") == stage.heard("C") == "b1"
    assert stage.held() == 0


def test_copies_that_cross_are_whole() -> None:
    """Either end may be the one that the other hears it from first: neither knows."""
    stage = star("A", "BC", both_ways=True)
    stage.link("B", "C", both_ways=True)
    stage.say("A", "a1")
    stage.carry("A", "B")
    stage.carry("A", "C")
    assert [type(frame) for frame in stage.between("B", "C")] == [Copy]
    assert [type(frame) for frame in stage.between("C", "B")] == [Copy]
    stage.drain()
    assert stage.heard("B") == stage.heard("C") == "a1"
    assert stage.held() == 0


def test_what_goes_one_way_only_is_whole_everywhere() -> None:
    stage = star("A", "BC")
    stage.say("B", "b1")
    stage.drain()
    assert {type(frame) for _, _, frame in stage.sent} == {Copy}
    assert stage.held() == 0


def test_of_a_link_that_is_not_here_it_is_refused_and_twice_it_changes_nothing() -> None:
    stage = star("A", "B", both_ways=True)
    stage.say("A", "a1", "a2")
    stage.carry("A", "B")
    seen = stage.carry("B", "A", Seen)
    stage.do("A", "receive", "B", seen)
    assert stage.machines["A"].gauges()["expected"] == 1
    stage.do("A", "receive", "B", Seen(Lid("B", "A", 0, 9), MessageId("A", 0, 1)))
    assert stage.between("A", "B")[-1] == Reset(Lid("B", "A", 0, 9))
    assert stage.heard("A") == "a1 a2"


def test_hosts_may_let_it_wait() -> None:
    assert declaration_of(Seen).patient
    assert declaration_of(Copy).flooding
    assert not declaration_of(Copy).patient
    assert process("A").links() == []
