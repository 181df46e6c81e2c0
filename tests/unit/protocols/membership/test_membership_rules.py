"""The rules of membership one by one."""

from typing import NamedTuple

import pytest

from aforesaid.core import Process, Refused
from aforesaid.protocols.membership.acquaintances import BOOK_MAX, Acquaintances
from aforesaid.protocols.membership.elders import REACH_BEATS, Word
from aforesaid.protocols.membership.epochs import (
    CALLS_MAX,
    CROSSED,
    CROSSINGS_MAX,
    NEWCOMER,
    OUTSIDE,
    Epochs,
    Line,
    Patience,
    Restarted,
)
from aforesaid.protocols.membership.member import Member
from aforesaid.protocols.membership.rejoining import Rejoining, Search, is_the_whole_group


class Known(NamedTuple):
    name: Process
    incarnation: int
    address: str = "somewhere"


def first(label: str, count: int) -> int:
    return 0


def last(label: str, count: int) -> int:
    return count - 1


def reason(epochs: Epochs[Line], name: Process, incarnation: int, epoch: int = 0, inside: bool = True) -> str:
    """Why a call is not taken."""
    with pytest.raises(Refused) as refused:
        epochs.called(name, incarnation, epoch, inside)
    return refused.value.reason


def test_a_fixed_group_keeps_the_first_incarnation_and_says_that_it_was_restarted() -> None:
    epochs = Epochs("a", ["b"], Line)
    line, epoch = epochs.called("b", 5, 0, True)
    assert (line.name, epoch) == ("b", 1)
    assert line.meet(5)
    assert not line.meet(5)
    line.stand("a stream", epoch)
    for incarnation in (4, 6):
        assert reason(epochs, "b", incarnation, epoch) == "incarnation"
    with pytest.raises(Restarted) as restarted:
        epochs.answered("b", 6, 9, "")
    assert restarted.value.name == "b"
    assert reason(epochs, "c", 1) == "stranger"
    assert reason(epochs, "a", 1) == "claimed"


@pytest.mark.parametrize("fixed", [True, False])
def test_who_is_evicted_does_not_come_back_but_for_a_later_one_in_a_changing_group(fixed: bool) -> None:
    epochs = Epochs("a", ["b"] if fixed else None, Line)
    line, _ = epochs.called("b", 5, 0, True)
    line.meet(5)
    assert epochs.evict("b") is line
    assert reason(epochs, "b", 5) == "evicted"
    if fixed:
        assert reason(epochs, "b", 6) == "evicted"
    else:
        assert epochs.called("b", 6, 0, True)[1] == 1


def test_who_has_a_stream_does_not_call() -> None:
    epochs = Epochs("a", None, Line)
    line, epoch = epochs.called("b", 1, 0, True)
    assert epochs.hail(line) == 0
    epochs.hail_over(line)
    line.stand("a stream", epoch)
    with pytest.raises(Refused, match=CROSSED):
        epochs.hail(line)
    assert not line.lose("another stream")
    assert line.lose("a stream")
    assert epochs.hail(line) == 1


def test_a_peer_of_a_changing_group_is_given_up_after_some_calls_and_one_that_calls_itself_much_later() -> (
    None
):
    patience = Patience(endless=False)
    assert [patience.spent(crossed=True) for _ in range(CROSSINGS_MAX - 1)] == [False] * (CROSSINGS_MAX - 1)
    assert [patience.spent(crossed=False) for _ in range(CALLS_MAX)] == [False] * (CALLS_MAX - 1) + [True]
    assert patience.spent(crossed=True)
    endless = Patience(endless=True)
    assert not any(endless.spent(crossed=False) for _ in range(10 * CALLS_MAX))


def test_who_left_a_younger_part_calls_the_older_one_first_and_founds_nothing_for_it() -> None:
    rejoining = Rejoining("a", founder=True, elsewhere="there")
    assert rejoining.places(["x", "y"]) == ["there"]
    assert not rejoining.unreached(Search())
    assert rejoining.places(["x", "y"]) == ["x", "y"]
    assert rejoining.unreached(Search()), "the founder, of whom nobody has heard"
    assert rejoining.places(["x", "y"]) == []


def test_who_was_not_let_in_asks_there_last() -> None:
    rejoining: Rejoining[str] = Rejoining("a", founder=False, elsewhere=None)
    for places in (["x", "y", "z"], ["y", "z", "x"], ["z", "x", "y"], ["x", "y", "z"]):
        assert rejoining.places(["x", "y", "z"]) == places
        rejoining.not_let_in()
    assert not rejoining.unreached(Search())


def test_who_despairs_founds_unless_somebody_else_is_to_found_or_may_be_a_member() -> None:
    assert not Rejoining[str]("b", founder=False, elsewhere=None).unreached(Search())
    assert Rejoining[str]("b", founder=False, elsewhere=None).unreached(Search(), despairs=True)
    assert not Rejoining("b", founder=False, elsewhere="there").unreached(Search(), despairs=True)
    looking, called = Search(), Search()
    looking.outsiders.add("a")
    called.called_by("c")
    for search in (looking, called):
        assert not Rejoining[str]("b", founder=False, elsewhere=None).unreached(search, despairs=True)


def test_nobody_waits_for_newcomers_to_found_or_to_say_whether_they_are_members() -> None:
    search = Search()
    search.refused("a", NEWCOMER)
    search.called_by("a", newcomer=True)
    search.refused("c", OUTSIDE)
    assert Rejoining[str]("b", founder=False, elsewhere=None).unreached(search)
    search.called_by("d")
    assert not Rejoining[str]("b", founder=False, elsewhere=None).unreached(search), "d may be a member"
    search.refused("d", NEWCOMER)
    assert Rejoining[str]("b", founder=False, elsewhere=None).unreached(search)


def test_only_who_knows_of_nobody_is_the_whole_group() -> None:
    assert is_the_whole_group([])
    assert not is_the_whole_group(["x"])


def test_the_book_is_bounded_and_the_doubted_leave_first() -> None:
    book = Acquaintances[Known]()
    book.learn(Known(f"p{number}", 1) for number in range(BOOK_MAX))
    book.doubt("p7")
    book.learn([Known("late", 1)])
    assert book.entry("p7") is None
    assert book.entry("p0") is not None
    assert next(book.likeliest(but="late")).name == f"p{BOOK_MAX - 1}"


def test_a_member_tells_somebody_by_chance_and_asks_again_whom_it_doubts() -> None:
    book = Acquaintances[Known]()
    book.learn([Known("me", 9), Known("near", 1), Known("far", 1), Known("left", 1)])
    book.forget("left", 1)
    member = Member("me", 9, book)
    assert member.beat({"near"}, last).stranger is None, "not at every heartbeat"
    assert member.beat({"near"}, first).stranger == "far"
    assert member.heard("far", Word(1, "far", 7), {"near"}) is None
    for _ in range(REACH_BEATS):
        assert member.beat({"near"}, last).stranger is None
    assert member.beat({"near"}, last).stranger == "far", "nobody near has heard of it"
    member.heard("far", Word(1, "far", 7), {"near"})
    assert member.beat({"near"}, last).elsewhere is None, "it has not counted on"
    member.heard("far", Word(1, "far", 8), {"near"})
    assert member.beat({"near"}, last).elsewhere == "far"


def test_anyone_is_one_of_those_who_are_there_just_now() -> None:
    book = Acquaintances[Known]()
    book.learn(Known(f"p{number}", 1) for number in range(5))
    near = {"p0"}

    def all_others() -> list[str | None]:
        counts: list[int] = []
        assert book.anyone(set(near), lambda label, count: counts.append(count) or 0) is not None  # type: ignore[func-returns-value]
        return [book.anyone(set(near), lambda label, count, at=at: at) for at in range(counts[0])]  # type: ignore[misc]

    assert all_others() == all_others() == ["p1", "p2", "p3", "p4"]
    near.add("p3")
    assert all_others() == ["p1", "p2", "p4"]
    book.forget("p4", 1)
    assert all_others() == ["p1", "p2"]
    book.learn([Known("p4", 2), Known("p5", 1)])
    assert all_others() == ["p1", "p2", "p4", "p5"]
    book.reached("p1")
    assert all_others() == ["p2", "p4", "p5", "p1"]
    book.doubt("p5")
    assert all_others() == ["p5", "p2", "p4", "p1"]


def test_a_stranger_that_knows_a_younger_elder_is_answered_and_a_neighbour_is_not() -> None:
    member = Member("me", 3, Acquaintances[Known]())
    member.beat(set(), last)
    younger = Word(4, "other", 1)
    assert member.heard("other", younger, set()) == Word(3, "me", 1)
    assert member.heard("other", younger, {"other"}) is None
