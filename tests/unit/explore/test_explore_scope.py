"""Scopes: what is refused, and how messages are numbered."""

import json
from typing import Any

import pytest

from aforesaid.core import MessageId, Misuse
from aforesaid.explore import Scope, explore
from aforesaid.explore.scope import CAUSAL, Cast, subject
from aforesaid.protocols.catalog import Setup, algorithm
from aforesaid.protocols.links.perfect import PerfectLinks


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({"processes": 0}, "processes must be 1 to 8, not 0"),
        ({"processes": 9}, "processes must be 1 to 8, not 9"),
        ({"processes": 2, "messages": (1, 1, 1)}, "messages has 3 numbers for 2 processes"),
        ({"messages": (1, -1, 1)}, "messages must be 0 or more each"),
        ({"messages": 21}, "62 at most in all"),
        ({"duplicates_max": -1}, "duplicates_max must be 0 to 1000, not -1"),
        ({"drops_max": 1001}, "drops_max must be 0 to 1000, not 1001"),
        ({"timer_firings_max": -2}, "timer_firings_max must be 0 to 1000, not -2"),
        ({"crashes_max": 4}, "crashes_max is 4, but there are 3 processes"),
        ({"disconnections_max": -1}, "disconnections_max must be 0 to 1000, not -1"),
        (
            {"fifo": True, "links": [("p0", "open", "p2", ("p4",))]},
            "links names p4, but there are p0, p1, p2",
        ),
        ({"fifo": True, "links": [("p0", "mend", "p2")]}, "opens or closes .*: not p0, mend, p2"),
        ({"fifo": True, "links": [("p0", "open", "p0")]}, "or leaves: not p0, open, p0"),
        ({"links": [("p0", "leave", "p1")]}, "or leaves: not p0, leave, p1"),
        ({"links": [("p0", "open", "p1"), ("p0", "join", "p2")]}, "p0 joins before all else, once"),
        ({"links": [("p0", "leave"), ("p0", "open", "p1")]}, "and leaves after it"),
        ({"processes": 2, "links": [("p0", "join", "p1"), ("p1", "join", "p0")]}, "somebody must be there"),
        ({"fifo": False, "links": [("p0", "open", "p2")]}, "where frames keep their order"),
        ({"disconnections_max": 1, "fifo": True, "perfect_links": True}, "without perfect_links"),
    ],
)
def test_a_scope_that_cannot_be_is_refused_in_one_line(bounds: dict[str, Any], text: str) -> None:
    with pytest.raises(Misuse, match=text) as refused:
        Scope(**bounds)
    assert "\n" not in str(refused.value)


def test_a_scope_goes_through_a_file() -> None:
    scope = Scope(processes=2, messages=(2, 1), fifo=True, crashes_max=1)
    values = scope.to_dict()
    values["messages"] = list(values["messages"])
    assert Scope.from_dict(values) == scope
    assert hash(Scope.from_dict(values)) == hash(scope)
    calls: Any = (("p0", "open", "p1", ()), ("p1", "close", "p0"))
    options: Any = {"tries": 2, "degree": 1}  # A mapping will do.
    scope = Scope(2, fifo=True, links=calls, options=options)
    assert Scope.from_dict(json.loads(json.dumps(scope.to_dict()))) == scope
    with pytest.raises(Misuse, match="a scope has no colour"):
        Scope.from_dict({"colour": "red"})


def test_messages_are_numbered_and_sets_of_them_are_integers() -> None:
    cast = Cast(Scope(processes=3, messages=(2, 0, 1)))
    assert cast.message_ids == (MessageId("p0", 0, 1), MessageId("p0", 0, 2), MessageId("p2", 0, 1))
    assert cast.origins == (0, 0, 2)
    assert cast.own_masks == (0b011, 0, 0b100)
    assert cast.said == {"p0#1": 0, "p0#2": 1, "p2#1": 2}


def build(setup: Setup) -> Any:
    return algorithm("waiting").build(setup)


def test_what_is_explored_has_a_name_and_promises() -> None:
    assert subject("reliable", Scope(), None).promises == algorithm("reliable").promises
    assert subject(build, Scope(), None).name == "build"
    assert subject(build, Scope(), None).promises == CAUSAL
    assert subject(build, Scope(), ("fifo",)).promises == ("fifo",)
    assert subject(build, Scope(), ()).promises == ()
    with pytest.raises(Misuse, match="unknown algorithm 'nothing'"):
        subject("nothing", Scope(), None)
    with pytest.raises(Misuse, match="nothing can promise 'luck'"):
        subject("waiting", Scope(), ("luck",))
    with pytest.raises(Misuse, match="waiting broadcasts: its messages have no audiences"):
        subject("waiting", Scope(audiences=(((1,),), (), ())), None)


def test_what_is_left_of_the_promises_after_a_crash() -> None:
    assert subject("hybrid_sps", Scope(), None).promises == algorithm("hybrid_sps").promises
    assert "causal_unless_lost" in subject("hybrid_sps", Scope(crashes_max=1), None).promises
    assert subject("waiting", Scope(crashes_max=1), None).promises == algorithm("waiting").promises


def audiences(name: str, scope: Scope) -> list[list[tuple[str, ...] | None]]:
    cast = subject(name, scope, None).cast(scope)
    return [[cast.named(audience) for audience in tried] for tried in cast.audiences]


def test_every_audience_is_tried_that_leaves_the_sender_out() -> None:
    assert audiences("waiting", Scope(3, (1, 0, 1))) == [[None], [None]]
    assert audiences("mf", Scope(3, (0, 1, 0))) == [[("p0",), ("p2",)]]
    assert audiences("rst", Scope(3, (0, 1, 0))) == [[("p0",), ("p2",), ("p0", "p2")]]
    with pytest.raises(Misuse, match="rst says its messages to others: explore 2 processes or more"):
        audiences("rst", Scope(1, 1))


def test_a_script_tells_audiences_and_how_many_messages_there_are() -> None:
    scope = Scope.from_dict({"processes": 3, "audiences": [[[1], [2, 0]], [], [[]]]})
    assert scope.counts == (2, 0, 1)
    assert hash(scope) == hash(Scope(3, audiences=(((1,), (2, 0)), (), ((),))))
    assert audiences("rst", scope) == [[("p1",)], [("p0", "p2")], [()]]
    with pytest.raises(Misuse, match="audiences names process 3, but there are 3"):
        Scope(3, audiences=(((3,),), (), ()))
    with pytest.raises(Misuse, match="messages has 2 numbers for 3 processes"):
        Scope(3, audiences=((), ()))


def test_perfect_links_are_put_under_what_is_explored() -> None:
    machine = subject(build, Scope(perfect_links=True), None).build(Setup("p0", ("p0", "p1")))
    assert isinstance(machine, PerfectLinks)


def test_each_process_does_what_is_wanted_of_its_own_links() -> None:
    calls: Any = (("p0", "open", "p2", ("p1",)), ("p1", "close", "p2"), ("p0", "close", "p1"))
    scope = Scope(3, fifo=True, links=calls)
    cast = subject("prc", scope, None).cast(scope)
    assert cast.calls == ((calls[0], (*calls[2], None)), ((*calls[1], None),), ())
    assert [str(call) for call in cast.calls[0]] == [
        "p0 opens a link to p2 by way of p1",
        "p0 closes its link to p1",
    ]
    with pytest.raises(Misuse, match="waiting has no links that open, close and break"):
        subject("waiting", scope, None)


def test_liveness_is_promised_where_links_end_connected() -> None:
    explored = subject("prc", Scope(fifo=True, disconnections_max=1), None)
    assert explored.promised(connected=True) == algorithm("prc").promises
    assert explored.promised(connected=False) == ("no_duplicate", "no_creation", "fifo", "causal")


def test_options_reach_every_process_or_are_refused() -> None:
    for degree, peers in ((1, ("p1",)), (2, ("p1", "p2"))):
        options: Any = {"degree": degree, "both_ways": False}
        found = explore("prc", Scope(3, 0, fifo=True, options=options))
        assert {ends[0].links for ends in found.outcomes} == {peers}
    with pytest.raises(Misuse, match=r"options\.colour: prc has no such option"):
        subject("prc", Scope(options=(("colour", "red"),)), None)
