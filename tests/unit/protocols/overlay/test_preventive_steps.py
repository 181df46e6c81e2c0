"""Preventive broadcast one step at a time: opening, closing, losing links; joining and being isolated.

The rules that its printed version lacks are in tests/paper/test_prc_broadcast_static.py.
"""

import pickle

import pytest

from aforesaid.core import MessageId, Misuse, freeze
from aforesaid.protocols.catalog import CATALOG
from aforesaid.protocols.overlay.frames import Ack, Agree, Close, Copy, Fin, Flood, Join, Keep, Lid, Reset
from aforesaid.protocols.overlay.preventive import Preventive
from aforesaid.protocols.overlay.preventive_frames import Flush, Ping, Pong, Welcome
from support.harness import Recorder
from support.preventive_stage import GROUP, PATIENCE, Circle, founding, frames, kinds, member

# -------------------------------------------------------------------------------------------------- opening


def test_a_link_with_a_mediator_costs_two_hops_and_a_pong() -> None:
    circle = Circle()
    circle.machines["a"].open("c", ("b",), 0, circle.outs["a"])
    assert kinds(circle.carry()) == ["Ping", "Ping", "Pong", "Flush", "Ack"]
    assert circle.neighbours("a") == ["b", "c"]
    assert circle.outs["a"].timers == {}
    circle.machines["a"].broadcast("x", 0, circle.outs["a"])
    assert kinds(circle.carry()) == ["Copy"] * 5
    assert [circle.outs[name].payloads for name in GROUP] == [["x"]] * 4


def test_without_a_route_the_ping_is_flooded_and_nobody_is_told() -> None:
    circle = Circle(degree=2)
    circle.machines["a"].open("d", None, 0, circle.outs["a"])
    carried = kinds(circle.carry())
    assert carried.count("Flood") == 4 * 2
    assert carried.count("Pong") == 1
    assert circle.neighbours("a") == ["b", "c", "d"]
    assert not any(out.payloads for out in circle.outs.values())


def test_a_route_that_leads_nowhere_is_given_up_for_a_flood() -> None:
    a, b, out = member("a"), member("b"), Recorder()
    a.open("d", ("b",), 0, out)
    [ping] = frames(out)
    b.receive("a", ping, 0, out)
    assert frames(out) == []
    a.expire(ping.opening, PATIENCE, out)
    [flood] = frames(out)
    assert isinstance(flood, Flood)
    assert flood.body.number == ping.opening.number + 1
    # A route whose first process is no neighbour is none.
    a.open("c", ("d",), 0, out)
    assert kinds(frames(out)) == ["Flood"]


def test_after_so_many_tries_there_is_no_link() -> None:
    a, out = member("a", tries=3), Recorder()
    a.open("c", None, 0, out)
    for _ in range(3):
        [lid] = out.timers
        del out.timers[lid]
        a.expire(lid, 0, out)
    assert (out.timers, a.gauges()["opening"]) == ({}, 0)
    assert kinds(frames(out)) == ["Flood"] * 3


def test_openings_that_overflow_together_begin_again_each_once() -> None:
    """The second ping of one link is flooded, and must not count as an overflow of the other's new buffer."""
    a, out = member("a", buffer_max=1, tries=2), Recorder()
    for peer in ("c", "d"):
        a.open(peer, ("b",), 0, out)
    a.broadcast("x", 0, out)
    assert (a.gauges()["opening"], a.gauges()["buffered"]) == (2, 2)
    a.broadcast("y", 0, out)
    assert a.gauges()["opening"] == 2
    assert {opening.tries for opening in a.opening.values()} == {2}


def test_what_makes_no_sense_is_not_opened() -> None:
    a, out = member("a"), Recorder()
    a.open("a", None, 0, out)
    a.open("b", None, 0, out)
    assert out.sent == []
    a.open("c", ("b",), 0, out)
    a.open("c", ("b",), 0, out)
    assert kinds(frames(out)) == ["Ping"]


def test_a_pong_for_a_link_that_is_no_longer_wanted_does_nothing() -> None:
    a, out = member("a"), Recorder()
    a.open("c", ("b",), 0, out)
    [ping] = frames(out)
    a.close("c", 0, out)
    a.receive("c", Pong(ping.opening, 0), 0, out)
    assert (out.sent, out.timers, a.links()) == ([], {}, [("b", founding("a", "b"))])


# -------------------------------------------------------------------------------------------------- closing


def test_a_link_is_closed_when_neither_end_needs_it() -> None:
    circle = Circle(degree=2)
    circle.machines["a"].close("c", 0, circle.outs["a"])
    assert circle.neighbours("a") == ["b"]
    assert kinds(circle.carry()) == ["Close", "Agree"]
    assert founding("a", "c") not in circle.machines["c"].in_view
    assert circle.outs["a"].timers == {}
    # Neither end of the one that is left.
    circle.machines["a"].close("b", 0, circle.outs["a"])
    assert circle.carry() == []


def test_a_receivers_last_link_is_kept() -> None:
    a, b, out = member("a"), member("b"), Recorder()
    a.open("c", ("b",), 0, out)
    [ping] = frames(out)
    a.receive("c", Pong(ping.opening, 0), 0, out)
    out.take_sent()
    a.close("b", 0, out)
    assert out.sent == [], "the link to c is not confirmed yet"
    a.receive("c", Ack(ping.opening), 0, out)
    a.close("b", 0, out)
    [close] = frames(out)
    b.receive("a", close, 0, out)
    assert out.sent == [("a", Keep(founding("a", "b")))]
    a.receive("b", frames(out)[0], 0, out)
    assert [peer for peer, _ in a.links()] == ["b", "c"]
    assert out.timers == {}


def test_closing_is_asked_again_and_then_done_alone() -> None:
    a, out = member("a", degree=2, tries=2), Recorder()
    lid = founding("a", "b")
    a.close("b", 0, out)
    a.expire(lid, PATIENCE, out)
    assert frames(out) == [Close(lid), Close(lid)]
    assert a.gauges()["closing"] == 1
    a.expire(lid, 2 * PATIENCE, out)
    assert (frames(out), a.gauges()["closing"], len(a.links())) == ([Fin(lid)], 0, 1)
    assert out.timers == {}


def test_a_link_may_be_opened_again_while_the_old_one_is_being_closed() -> None:
    circle = Circle(degree=2)
    a, out = circle.machines["a"], circle.outs["a"]
    a.close("c", 0, out)
    a.open("c", ("b",), 0, out)
    circle.carry()
    assert a.links() == [("b", founding("a", "b")), ("c", Lid("a", "c", 0, 3))]
    a.broadcast("x", 0, out)
    circle.carry()
    assert circle.outs["c"].payloads == ["x"]


def test_a_frame_of_an_unknown_link_is_refused_and_ends_it() -> None:
    a, b, out = member("a", degree=2), member("b", degree=2), Recorder()
    link = founding("a", "b")
    b.link_down(link, 0, out)
    b.receive("a", Copy(link, MessageId("a", 0, 1), "x"), 0, out)
    assert (out.payloads, out.sent) == ([], [("a", Reset(link))])
    a.receive("b", Reset(link), 0, out)
    assert [peer for peer, _ in a.links()] == ["c"]


# ------------------------------------------------------------------------------------ losing and isolation


def test_a_suspected_peer_is_told() -> None:
    a, out = member("a", degree=2), Recorder()
    a.peer_down("c", 0, out)
    assert out.sent == [("c", Fin(founding("a", "c"))), ("c", Fin(founding("c", "a")))]
    assert out.isolations == 0
    a.peer_down("c", 0, out)
    assert len(out.sent) == 2


@pytest.mark.parametrize("lost", [("a", "b"), ("d", "a")])
def test_without_its_last_link_one_way_it_is_isolated_once(lost: tuple[str, str]) -> None:
    a, out = member("a"), Recorder()
    a.open("c", ("b",), 0, out)
    out.take_sent()
    a.link_down(founding(*lost), 0, out)
    assert out.isolations == 1
    # The link the other way is of no use, and its other end learns it.
    [(_, frame)] = out.sent
    assert isinstance(frame, Fin)
    assert (a.links(), a.in_view, a.opening, out.timers) == ([], {}, {}, {})
    a.link_down(founding(*lost), 0, out)
    a.peer_down("b", 0, out)
    assert out.isolations == 1


def test_who_leaves_ends_its_links() -> None:
    circle = Circle(degree=2)
    circle.machines["a"].broadcast("x", 0, circle.outs["a"])
    circle.machines["a"].leave(0, circle.outs["a"])
    for target, frame in circle.outs["a"].take_sent():
        circle.machines[target].receive("a", frame, 0, circle.outs[target])
    # What it said before it left still counts.
    assert circle.outs["b"].payloads == circle.outs["c"].payloads == ["x"]
    assert [circle.neighbours(name) for name in "bcd"] == [["c", "d"], ["d"], ["b"]]
    assert [lid.opener for lid in circle.machines["c"].in_view] == ["b"]


# -------------------------------------------------------------------------------------------------- joining


def test_a_newcomer_begins_with_what_its_contact_received() -> None:
    circle = Circle()
    circle.machines["a"].broadcast("before", 0, circle.outs["a"])
    circle.carry()
    newcomer = circle.add("e", "b")
    assert not newcomer.inside
    newcomer.broadcast("hello", 0, circle.outs["e"])
    newcomer.open("c", None, 0, circle.outs["e"])
    assert newcomer.gauges()["outside"] == 1
    assert kinds(circle.carry())[:2] == ["Join", "Welcome"]
    assert newcomer.inside
    assert circle.outs["b"].admitted == ["e"]
    assert circle.outs["e"].timers == {}
    circle.machines["d"].broadcast("after", 0, circle.outs["d"])
    circle.carry()
    assert circle.outs["e"].payloads == ["hello", "after"]
    assert circle.outs["d"].payloads == ["before", "hello", "after"]


def test_each_direction_of_a_first_link_is_closed_by_itself() -> None:
    circle = Circle()
    newcomer = circle.add("e", "b")
    circle.carry()
    newcomer.open("c", ("b",), 0, circle.outs["e"])
    circle.carry()
    newcomer.close("b", 0, circle.outs["e"])
    # What is on its way when b agrees is refused, and not at the cost of the other direction.
    newcomer.broadcast("x", 0, circle.outs["e"])
    assert Agree(Lid("e", "b", 0, 1)) in circle.carry()
    assert circle.neighbours("e") == ["c"]
    assert circle.neighbours("b") == ["c", "e"]
    circle.machines["a"].broadcast("y", 0, circle.outs["a"])
    circle.carry()
    assert circle.outs["e"].payloads == ["x", "y"]
    assert circle.outs["b"].payloads == ["x", "y"]


@pytest.mark.parametrize("crashed", [False, True], ids=["no answer", "contact down"])
def test_a_join_that_fails_ends_the_incarnation(crashed: bool) -> None:
    e, out = Preventive("e", ("e",), patience=PATIENCE), Recorder()
    e.join("b", 0, out)
    [join] = frames(out)
    if crashed:
        e.peer_down("b", 0, out)
    else:
        e.expire(join.lid, PATIENCE, out)
    assert (out.isolations, out.timers) == (1, {})
    # Its welcome comes too late, and its contact hears of it.
    e.receive("b", Welcome(join.lid, ()), 0, out)
    assert not e.inside
    e.receive("b", Copy(join.lid, MessageId("b", 0, 1), "x"), 0, out)
    assert frames(out) == [Reset(join.lid), Reset(join.lid)]


def test_who_lets_a_newcomer_in_counts_on_it_once_it_answers() -> None:
    circle = Circle()
    newcomer = circle.add("e", "b")
    assert kinds(circle.carry()) == ["Join", "Welcome", "Ack"]
    assert newcomer.inside
    circle.machines["b"].receive("e", Join(Lid("e", "b", 0, 1)), 0, circle.outs["b"])
    assert circle.outs["b"].sent == [], "it is inside already"
    circle.machines["b"].receive("a", Close(founding("a", "b")), 0, circle.outs["b"])
    assert frames(circle.outs["b"]) == [Agree(founding("a", "b"))]


def test_a_process_that_comes_back_has_no_other_links_with_its_contact() -> None:
    b, out = member("b"), Recorder()
    again = Lid("a", "b", 1, 1)
    b.receive("a", Join(again), 0, out)
    b.receive("a", Ack(again), 0, out)
    assert list(b.in_view) == [again]
    assert [peer for peer, _ in b.links()] == ["c", "a"]
    assert out.isolations == 0


def test_an_outsider_lets_nobody_in_and_hears_nobody() -> None:
    e, out = Preventive("e", ("e",), patience=PATIENCE), Recorder()
    e.join("b", 0, out)
    out.take_sent()
    e.receive("f", Join(Lid("f", "e", 0, 1)), 0, out)
    link = Lid("a", "e", 0, 1)
    e.receive("a", Flush(link, 0, ()), 0, out)
    e.receive("a", Ping(link, link, ()), 0, out)
    assert frames(out) == [Reset(link), Reset(link)]
    assert out.admitted == []


def test_its_state_is_plain_data_and_its_options_are_checked() -> None:
    a = member("a")
    a.open("c", ("b",), 0, Recorder())
    assert freeze(pickle.loads(pickle.dumps(a))) == freeze(a)
    for option, value in (("degree", 0), ("tries", 1.5), ("buffer_max", "many"), ("handshake_ms", 0)):
        with pytest.raises(Misuse, match=option):
            CATALOG["preventive"].validate({option: value})
