"""The rules of Spray, one function each, so that mutants can be held against them as well.

Processes are p (at hand), q (its partner) and single letters; a view "qxx" has one arc to q and two to x.
"""

from collections.abc import Callable
from typing import TypeAlias

from aforesaid.protocols.overlay.spray import (
    NEW,
    NEW_PERIODS,
    PERIOD,
    VIEW_MAX,
    Arc,
    Introduce,
    Reply,
    Request,
    Spray,
    Withdraw,
)
from support.spray_stage import EVERY, Overlay, Sink, peers, spray

Kind: TypeAlias = type[Spray]


def asking(kind: Kind, view: str | list[tuple[str, int]], sink: Sink | None = None) -> tuple[Spray, Request]:
    """A process that has just sent its request."""
    sink = sink or Sink()
    machine = spray(kind, view)
    machine.expire(PERIOD, 0, sink)
    ((_, request),) = sink.sent
    return machine, request


def the_newcomer_takes_its_contact(kind: Kind) -> None:
    newcomer, sink = kind("n", EVERY), Sink()
    newcomer.joined("c", 0, sink)
    assert newcomer.view == [Arc("c")]
    assert sink.connected == [("c", "c")]


def the_contact_introduces_the_newcomer_once_per_arc(kind: Kind) -> None:
    contact, sink = spray(kind, "axx"), Sink()
    contact.welcomed("n", 0, sink)
    assert sink.sent == [("a", Introduce("n")), ("x", Introduce("n")), ("x", Introduce("n"))]
    assert peers(contact.view) == ["a", "x", "x"]
    neighbour = spray(kind, "p", me="a")
    neighbour.receive("p", Introduce("n"), 0, sink)
    assert neighbour.view == [Arc("p"), Arc("n", NEW)]
    assert sink.connected == [("n", "p")]


def a_contact_without_arcs_takes_the_newcomer(kind: Kind) -> None:
    contact, sink = kind("p", EVERY), Sink()
    contact.welcomed("n", 0, sink)
    assert contact.view == [Arc("n", NEW)]
    assert sink.connected == [("n", "n")]


def neighbours_that_cannot_be_reached_are_stood_in_for(kind: Kind) -> None:
    """The arc to an earlier incarnation of the newcomer would become an arc to itself."""
    contact, sink = spray(kind, "abcn"), Sink(1, 0, unusable="c")
    contact.welcomed("n", 0, sink)
    assert [peer for peer, _ in sink.sent] == ["a", "b", "b", "a"]


def the_first_exchange_comes_anywhere_within_a_period(kind: Kind) -> None:
    deadlines = set()
    for phase in (0, EVERY - 1):
        machine, sink = kind("p", EVERY), Sink(phase)
        machine.begin(("q",), 10, sink)
        assert sink.asked == [("phase", EVERY)]
        deadlines.add(sink.timers[PERIOD])
    assert deadlines == {11, 10 + EVERY}


def the_oldest_is_asked_and_offered_half(kind: Kind) -> None:
    """floor(5/2) = 2: the arc to the oldest, turned round, and another with its age."""
    sink = Sink(3)
    machine, request = asking(kind, [("a", 1), ("q", 3), ("b", 2), ("c", 0), ("d", 3)], sink)
    assert sink.sent[0][0] == "q"
    assert request.sample == (Arc("p"), Arc("d", 4))
    assert sink.asked == [("arc", 4)]
    assert sink.timers == {PERIOD: EVERY}
    assert len(machine.view) == 5, "lent is not given yet"
    assert not sink.released


def the_partner_gives_half_of_its_own(kind: Kind) -> None:
    """floor(5/2) = 2, drawn before the offer is added, and not from arcs to the asker."""
    machine, sink = spray(kind, [("q", 5), ("a", 1), ("b", 0), ("c", 0), ("d", 0)]), Sink(0, 0)
    machine.receive("q", Request((0, 1), (Arc("q"), Arc("x", 7))), 0, sink)
    assert sink.asked == [("arc", 4), ("arc", 3)]
    assert sink.sent == [("q", Reply((0, 1), (Arc("a", 1), Arc("b"))))]
    assert machine.view == [Arc("q", 5), Arc("c"), Arc("d"), Arc("q"), Arc("x", 7)]
    assert sink.connected == [("q", "q"), ("x", "q")]
    assert sink.released == [("a", "q"), ("b", "q")]


def what_was_sent_is_removed_and_nothing_else(kind: Kind) -> None:
    """Of three arcs to x, one was offered and one goes, whatever their ages have become."""
    machine, request = asking(kind, [("q", 3), ("x", 0), ("x", 1), ("x", 0)])
    assert request.sample == (Arc("p"), Arc("x", 1))
    sink = Sink()
    machine.expire(PERIOD, EVERY, sink)
    machine.receive("q", Reply(request.exchange, (Arc("y"), Arc("x"))), EVERY, sink)
    assert peers(machine.view) == ["x", "x", "x", "y"]
    assert sink.connected == [("y", "q"), ("x", "q")]
    assert sink.released == [("q", "q"), ("x", "q")]


def every_arc_to_its_receiver_is_turned_round(kind: Kind) -> None:
    machine, request = asking(kind, "qqqq")
    assert request.sample == (Arc("p"), Arc("p"))
    partner, sink = spray(kind, "pp", me="q"), Sink()
    partner.receive("p", request, 0, sink)
    assert sink.sent == [("p", Reply(request.exchange, ()))]
    assert peers(partner.view) == ["p", "p", "p", "p"]
    machine.receive("q", sink.sent[0][1], 0, Sink())
    assert peers(machine.view) == ["q", "q"]


def only_usable_arcs_are_given_and_only_usable_partners_asked(kind: Kind) -> None:
    sink = Sink(unusable="ab")
    _, request = asking(kind, [("a", 9), ("q", 3), ("b", 2), ("c", 0)], sink)
    assert (sink.sent[0][0], request.sample) == ("q", (Arc("p"),)), "half of two, not of four"
    machine, sink = spray(kind, "ab"), Sink(unusable="ab")
    machine.receive("q", Request((0, 1), (Arc("q"),)), 0, sink)
    assert sink.sent == [("q", Reply((0, 1), ()))]
    assert peers(machine.view) == ["a", "b", "q"]


def without_a_usable_arc_the_period_passes(kind: Kind) -> None:
    machine, sink = spray(kind, "ab"), Sink(unusable="ab")
    machine.expire(PERIOD, 0, sink)
    assert not sink.sent
    assert machine.view == [Arc("a", 1), Arc("b", 1)]
    assert sink.timers == {PERIOD: EVERY}


def what_is_lent_is_given_to_nobody_else(kind: Kind) -> None:
    machine, _ = asking(kind, "qabc")
    assert peers(machine.lent) == ["a", "q"]
    sink = Sink()
    machine.receive("z", Request((0, 1), (Arc("z"),)), 0, sink)
    assert sink.sent == [("z", Reply((0, 1), (Arc("b", 1),)))]
    machine.receive("y", Request((0, 1), (Arc("y"),)), 0, Sink(unusable="z"))
    assert peers(machine.view) == ["a", "c", "q", "y", "z"]


def two_that_ask_each_other_both_succeed(kind: Kind) -> None:
    one, first = asking(kind, "q")
    other, second = asking(kind, "p")
    other.me = "q"
    second = second._replace(sample=(Arc("q"),))
    to_one, to_other = Sink(), Sink()
    one.receive("q", second, 0, to_one)
    other.receive("p", first, 0, to_other)
    one.receive("q", to_other.sent[0][1], 0, Sink())
    other.receive("p", to_one.sent[0][1], 0, Sink())
    assert (one.view, other.view) == ([Arc("q")], [Arc("p")])


def an_unanswered_request_is_sent_again_and_no_other(kind: Kind) -> None:
    machine, request = asking(kind, "qabcdef")
    sink = Sink()
    machine.expire(PERIOD, EVERY, sink)
    assert sink.sent == [("q", request)]
    assert sink.timers == {PERIOD: 2 * EVERY}
    assert len(machine.view) == 7


def a_request_that_comes_again_is_answered_as_before(kind: Kind) -> None:
    machine, sink = spray(kind, "abcd"), Sink()
    request = Request((0, 1), (Arc("q"), Arc("x")))
    machine.receive("q", request, 0, sink)
    view = machine.view
    machine.expire(PERIOD, 0, Sink(unusable="abcdx"))
    machine.receive("q", request, 0, sink)
    assert sink.sent[0] == sink.sent[-1]
    assert peers(machine.view) == peers(view)


def an_older_request_that_comes_late_is_not_answered(kind: Kind) -> None:
    machine, sink = spray(kind, "abcd"), Sink()
    machine.receive("q", Request((0, 2), (Arc("q"),)), 0, sink)
    machine.receive("q", Request((0, 1), (Arc("q"),)), 0, sink)
    assert len(sink.sent) == 1
    assert len(machine.view) == 3


def a_new_incarnation_does_not_ask_again_but_anew(kind: Kind) -> None:
    machine, sink = spray(kind, "abcd"), Sink()
    for incarnation in (0, 1):
        asker = kind("q", EVERY, incarnation)
        asker.begin(("p",), 0, Sink())
        out = Sink()
        asker.expire(PERIOD, 0, out)
        machine.receive("q", out.sent[0][1], 0, sink)
    assert len(sink.sent) == 2
    assert sink.sent[0] != sink.sent[1]


def answers_are_forgotten_with_their_links(kind: Kind) -> None:
    machine, sink = spray(kind, "abcd"), Sink()
    for asker in "qrs":
        machine.receive(asker, Request((0, 1), (Arc(asker),)), 0, sink)
    machine.expire(PERIOD, 0, Sink(unusable="qs"))
    assert list(machine.answers) == ["r"]


def a_request_over_no_usable_link_is_not_answered(kind: Kind) -> None:
    """The late word of a crashed process would bring arcs to it."""
    machine, sink = spray(kind, "ab"), Sink(unusable="q")
    machine.receive("q", Request((0, 1), (Arc("q"),)), 0, sink)
    assert not sink.sent
    assert peers(machine.view) == ["a", "b"]


def the_offer_to_a_lost_partner_is_taken_back(kind: Kind) -> None:
    for event in ("peer_down", "arc_down"):
        machine, request = asking(kind, "qabq")
        assert peers(machine.lent) == ["a", "q"]
        getattr(machine, event)("q", 0, Sink(1, 0, 1, 0))
        assert machine.gauges() == {"exchanges": 0}
        assert len(machine.view) == 4
        assert not machine.wants("q")
        machine.receive("q", Reply(request.exchange, (Arc("x"),)), 0, Sink())
        assert not machine.wants("x"), "the late answer is ignored"


def arcs_of_a_crashed_peer_are_replaced_but_for_one_in_a_viewful(kind: Kind) -> None:
    """Two of five: two draws, each of 5, and 0 means that the arc is not replaced."""
    for draws, size in (((0, 0), 3), ((0, 4, 2), 4), ((4, 2, 1, 0), 5)):
        machine, sink = spray(kind, "xaxbc"), Sink(*draws)
        machine.peer_down("x", 0, sink)
        assert not machine.wants("x")
        assert len(machine.view) == size
        assert [count for label, count in sink.asked if label == "shrink"] == [5, 5]
        assert not sink.released


def arcs_that_go_down_are_all_replaced(kind: Kind) -> None:
    machine, sink = spray(kind, "xaxbc"), Sink(1, 0)
    machine.arc_down("x", 0, sink)
    assert machine.view == [Arc("a"), Arc("b"), Arc("c"), Arc("b"), Arc("a")]
    assert sink.asked == [("duplicate", 3), ("duplicate", 4)]
    assert sink.connected == [("b", "b"), ("a", "a")]
    assert not sink.released


def the_last_arc_has_no_replacement(kind: Kind) -> None:
    for event in ("peer_down", "arc_down"):
        machine, sink = spray(kind, "x"), Sink(1)
        getattr(machine, event)("x", 0, sink)
        assert not machine.view
        assert not sink.connected


def a_lent_arc_that_goes_down_is_replaced_by_its_taker_only(kind: Kind) -> None:
    machine, request = asking(kind, "qxab")
    partner, sink = spray(kind, "cd", me="q"), Sink()
    partner.receive("p", request, 0, sink)
    machine.arc_down("x", 0, Sink())
    partner.arc_down("x", 0, Sink())
    machine.receive("q", sink.sent[0][1], 0, Sink())
    assert len(machine.view) + len(partner.view) == 6
    assert not machine.wants("x")
    assert not partner.wants("x")


def who_crashes_soon_after_joining_takes_away_what_it_brought(kind: Kind) -> None:
    """Whoever has the arcs by then; two periods later they are like others."""
    for event in ("peer_down", "arc_down"):
        for periods in range(NEW_PERIODS + 1):
            machine, sink = spray(kind, "abcd"), Sink(*4 * (1,), unusable="abcdn")
            machine.receive("a", Introduce("n"), 0, sink)
            machine.receive("b", Introduce("n"), 0, sink)
            for _ in range(periods):
                machine.expire(PERIOD, 0, sink)
            taker = spray(kind, "efghij", me="q")
            taker.receive("p", Request((0, 1), tuple(machine.view[-2:])), 0, Sink())
            for one in (machine, taker):
                before = len(one.view)
                getattr(one, event)("n", 0, Sink(*4 * (1,)))
                assert before - len(one.view) == (2 if periods < NEW_PERIODS else 0)
                assert not one.wants("n")


def the_mark_of_a_new_arc_is_no_age(kind: Kind) -> None:
    machine, _ = asking(kind, [("n", NEW), ("q", 1)])
    assert machine.pending is not None
    assert machine.pending.partner == "q"


def who_has_few_arcs_loses_none_by_a_crash(kind: Kind) -> None:
    for view, size in (("xxabc", 3), ("xxab", 3), ("xxa", 3), ("xa", 2), ("ab", 2), ("x", 0)):
        machine = spray(kind, view)
        machine.peer_down("x", 0, Sink())
        assert len(machine.view) == size


def who_leaves_takes_away_what_it_brought(kind: Kind) -> None:
    """Two arcs to x of six: each is replaced (arcs of x - 1)/6 times on average."""
    for arcs, draws, size in ((0, (), 4), (1, (), 4), (3, (2, 2), 4), (3, (1, 0, 2), 5), (7, (0, 0), 6)):
        machine, sink = spray(kind, "xaxbcd"), Sink(*draws)
        machine.left("x", arcs, 0, sink)
        assert not machine.wants("x")
        assert len(machine.view) == size
        assert not sink.released
    machine = spray(kind, "xa")
    machine.left("x", 6, 0, Sink(1, 0, 0))
    assert peers(machine.view) == ["a", "a", "a"], "2.5 times: twice, and with a chance of a half once more"
    assert spray(kind, "xa").weight() == 2


def who_has_few_arcs_loses_none_by_a_leave(kind: Kind) -> None:
    for view, size in (("xxabc", 3), ("xxab", 3), ("xxa", 3), ("xa", 2), ("ab", 2), ("x", 0)):
        machine = spray(kind, view)
        machine.left("x", 1, 0, Sink())
        assert len(machine.view) == size


def who_was_introduced_to_a_newcomer_hears_that_it_left(kind: Kind) -> None:
    """It may have no link to it yet, and then nobody else would tell."""
    contact, sink = spray(kind, "ab"), Sink()
    contact.welcomed("n", 0, sink)
    sink.sent.clear()
    contact.left("n", 1, 0, sink)
    assert sink.sent == [("a", Withdraw("n", 1)), ("b", Withdraw("n", 1))]
    neighbour = spray(kind, "pqrn", me="a")
    neighbour.receive("p", Withdraw("n", 1), 0, sink)
    assert peers(neighbour.view) == ["p", "q", "r"]
    assert sink.released == [("n", None)], "the link that it has not come to yet"
    contact.welcomed("m", 0, sink)
    contact.expire(PERIOD, 0, Sink(unusable="m"))
    assert contact.introduced == {}, "forgotten with the link"


def an_heir_takes_the_place_of_a_second_arc(kind: Kind) -> None:
    """Handing over makes links where they are few, and arcs only where each has a link of its own already."""
    for view, expected in (("xlaa", "alnx"), ("xlla", "allnx"), ("xla", "alnx")):
        machine, sink = spray(kind, view), Sink()
        machine.inherit("n", "l", 0, sink)
        assert peers(machine.view) == list(expected)
        assert sink.connected == [("n", "l")]
        assert not sink.released


def views_are_bounded(kind: Kind) -> None:
    machine, sink = spray(kind, "a" * (VIEW_MAX - 1)), Sink()
    for _ in range(3):
        machine.receive("a", Introduce("n"), 0, sink)
    machine.left("a", 2**40, 0, Sink())
    assert len(machine.view) == VIEW_MAX
    assert sink.connected == [("n", "a")]


def removing_arcs_takes_a_look_at_each(kind: Kind) -> None:
    """How often names are compared, with a thousand arcs: about once for each, not for each pair."""
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    machine = spray(kind, [(Name(f"p{number}"), 0) for number in range(1000)])
    machine._remove(machine.free[::-2])
    assert len(machine.free) == 500
    assert compared < 2_000


def settled_processes_begin_nothing_and_finish_what_they_began(kind: Kind) -> None:
    machine, sink = spray(kind, "ab"), Sink()
    machine.settle()
    machine.expire(PERIOD, 0, sink)
    assert not sink.sent
    assert not sink.timers
    machine, request = asking(kind, "qab")
    machine.settle()
    machine.expire(PERIOD, EVERY, sink)
    assert sink.sent == [("q", request)]
    machine.receive("q", Reply(request.exchange, ()), EVERY, sink)
    again = Sink()
    machine.expire(PERIOD, 2 * EVERY, again)
    newcomer = kind("n", EVERY)
    newcomer.settle()
    newcomer.joined("p", 0, again)
    assert not again.sent
    assert not again.timers


def exchanges_neither_make_nor_lose_arcs(kind: Kind) -> None:
    """With a third of the messages lost, reordered, and links that take their time."""
    names = "abcdefgh"
    graph = {name: "".join(names[(i + k) % 8] for k in (1, 2, 3, 3)) for i, name in enumerate(names)}
    overlay = Overlay(kind, seed=1, latency=(0, EVERY // 2), handshake=EVERY // 4, loss=0.3)
    overlay.begin(graph)
    overlay.run(40 * EVERY)
    overlay.rest()
    assert overlay.arcs() == 32
    assert not any(machine.pending or machine.lent for machine in overlay.machines.values())


RULES: tuple[Callable[[Kind], None], ...] = (
    the_newcomer_takes_its_contact,
    the_contact_introduces_the_newcomer_once_per_arc,
    a_contact_without_arcs_takes_the_newcomer,
    neighbours_that_cannot_be_reached_are_stood_in_for,
    the_first_exchange_comes_anywhere_within_a_period,
    the_oldest_is_asked_and_offered_half,
    the_partner_gives_half_of_its_own,
    what_was_sent_is_removed_and_nothing_else,
    every_arc_to_its_receiver_is_turned_round,
    only_usable_arcs_are_given_and_only_usable_partners_asked,
    without_a_usable_arc_the_period_passes,
    what_is_lent_is_given_to_nobody_else,
    two_that_ask_each_other_both_succeed,
    an_unanswered_request_is_sent_again_and_no_other,
    a_request_that_comes_again_is_answered_as_before,
    an_older_request_that_comes_late_is_not_answered,
    a_new_incarnation_does_not_ask_again_but_anew,
    answers_are_forgotten_with_their_links,
    a_request_over_no_usable_link_is_not_answered,
    the_offer_to_a_lost_partner_is_taken_back,
    arcs_of_a_crashed_peer_are_replaced_but_for_one_in_a_viewful,
    arcs_that_go_down_are_all_replaced,
    the_last_arc_has_no_replacement,
    a_lent_arc_that_goes_down_is_replaced_by_its_taker_only,
    who_crashes_soon_after_joining_takes_away_what_it_brought,
    the_mark_of_a_new_arc_is_no_age,
    who_has_few_arcs_loses_none_by_a_crash,
    who_leaves_takes_away_what_it_brought,
    who_has_few_arcs_loses_none_by_a_leave,
    who_was_introduced_to_a_newcomer_hears_that_it_left,
    an_heir_takes_the_place_of_a_second_arc,
    views_are_bounded,
    removing_arcs_takes_a_look_at_each,
    settled_processes_begin_nothing_and_finish_what_they_began,
    exchanges_neither_make_nor_lose_arcs,
)
