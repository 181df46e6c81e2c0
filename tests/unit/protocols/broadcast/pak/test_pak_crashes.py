"""The PAK family when processes crash: the survivors agree on what the crashed have said, then go on."""

import random
from collections.abc import Callable

import pytest

from aforesaid.protocols.broadcast.pak import Data, Has, Pak, Relayed
from aforesaid.protocols.broadcast.pak.survivors import Survivors
from aforesaid.protocols.catalog import Setup
from support.pak_stage import Stage


def credit(count: int) -> Callable[[Setup], Pak]:
    return lambda setup: Pak(setup.me, setup.group, setup.incarnation, credit=count)


def half_told(credits: int = 1, messages: int = 1) -> Stage:
    """z has spoken, only a has heard it, and z is gone. The group is a, b, c, z."""
    stage = Stage("abcz", credit(credits))
    stage.say("z", messages)
    stage.lose("z>b", "z>c")
    stage.flow()
    stage.crash("z")
    return stage


def test_what_one_survivor_has_every_survivor_gets() -> None:
    stage = half_told(credits=3, messages=3)
    assert stage.log("a") == ["z1", "z2", "z3"]
    stage.down("z")
    stage.flow()
    assert stage.log("b") == stage.log("c") == ["z1", "z2", "z3"]
    assert stage.at_rest()


def test_nothing_is_relayed_to_those_who_have_it() -> None:
    stage = Stage("abcz")
    stage.say("z")
    stage.flow(held=("a>z", "b>z", "c>z"))
    stage.crash("z")
    stage.down("z")
    assert {type(frame.message) for frame in stage.flying if frame.target != "z"} == {Has}
    stage.flow()
    assert stage.at_rest()


def test_it_takes_no_more_than_what_flies_from_a_process_that_is_down() -> None:
    stage = half_told()
    stage.flying.clear()
    stage.down("z", "b")
    stage.do("b", "receive", "z", stage.machines["a"].survivors.kept[3][0])
    assert stage.log("b") == []
    stage.down("z", "a", "c")
    stage.flow()
    assert stage.log("b") == ["z1"]


def test_a_survivor_not_told_yet_takes_what_is_relayed_as_if_from_its_origin() -> None:
    stage = half_told()
    stage.down("z", "a", "b")
    stage.flow()
    assert stage.log("b") == ["z1"]
    assert stage.log("c") == [], "c has not reported, so nobody knows what it lacks"
    stage.do("c", "receive", "a", Relayed("z", stage.machines["a"].survivors.kept[3][0]))
    assert stage.log("c") == ["z1"]
    stage.down("z", "c")
    stage.flow()
    assert stage.at_rest()


def test_a_crashed_process_is_waited_for_until_all_survivors_have_reported() -> None:
    stage = Stage("abcz")
    stage.crash("z")
    stage.say("a", 2)
    stage.flow()
    assert stage.stable("a") == []
    stage.down("z", "a", "b")
    stage.flow()
    assert stage.stable("a") == [], "c may have something of z that others depend on"
    stage.down("z", "c")
    stage.flow()
    assert stage.stable("a") == [1, 2]
    assert stage.at_rest()


def test_a_crashed_process_is_waited_for_until_all_it_said_is_accepted() -> None:
    stage = half_told()
    stage.say("b")
    stage.flow()
    stage.down("z")
    stage.flow(held=("a>b",), kind=Relayed)
    assert stage.stable("b") == [], "b knows that a has a message of z, and has not got it"
    stage.flow()
    assert stage.stable("b") == [1]
    assert stage.log("b") == ["b1", "z1"]
    assert stage.at_rest()


@pytest.mark.parametrize("seed", range(20))
def test_reports_and_relays_that_get_lost_are_given_again(seed: int) -> None:
    chance = random.Random(seed)
    stage = half_told(credits=2, messages=2)
    stage.flying.clear()
    stage.down("z")
    lost = 0
    for _ in range(2_000):
        if stage.at_rest():
            break
        if not stage.flying:
            stage.tick()
        elif chance.random() < 0.6:
            stage.flying.pop(0)
            lost += 1
        else:
            frame = stage.flying[chance.randrange(len(stage.flying))]
            stage.arrive(f"{frame.source}>{frame.target}")
    assert stage.log("b") == stage.log("c") == ["z1", "z2"]
    assert stage.at_rest()
    assert lost > 5


def test_the_relayer_may_crash_too() -> None:
    stage = half_told()
    stage.down("z", "a", "b")
    stage.arrive("b>a", Has)
    stage.arrive("a>b", Relayed)
    stage.crash("a")
    stage.flying.clear()
    stage.down("z", "c")
    stage.down("a")
    stage.flow()
    assert stage.log("c") == stage.log("b") == ["z1"]
    assert stage.at_rest()


def test_a_report_from_before_the_second_crash_is_not_enough() -> None:
    """Else c would leave z out while b has got z's message from a, which c was never told of."""
    stage = half_told()
    stage.say("c")
    stage.flow()
    stage.down("z")
    stage.flow(held=("a>b", "a>c", "b>a"))
    stage.arrive("b>a", Has)
    stage.arrive("a>b", Has)
    stage.arrive("a>b", Relayed)
    stage.crash("a")
    stage.lose("a>c", "b>c")
    stage.down("a", "c")
    assert stage.stable("c") == [], "b's old report says nothing about what a has told it since"
    stage.down("a", "b")
    stage.flow()
    assert stage.stable("c") == [1]
    assert stage.log("c") == ["c1", "z1"]
    assert stage.at_rest()


def test_what_depends_on_a_message_nobody_has_is_dropped() -> None:
    stage = Stage("abyz", credit(2))
    stage.say("z")
    stage.arrive("z>y")
    stage.say("y", 2)
    stage.crash("z")
    stage.crash("y")
    stage.lose("z>a", "z>b")
    stage.arrive("y>a")
    stage.arrive("y>a")
    stage.arrive("y>b")
    assert stage.held()["pending"] == 3
    stage.flying.clear()
    stage.down("z")
    stage.flow()
    stage.down("y")
    stage.flow()
    assert stage.log("a") == stage.log("b") == []
    assert stage.at_rest()
    stage.say("a")
    stage.flow()
    assert stage.log("b") == ["a1"]


def test_a_chain_of_such_messages_is_dropped_whole() -> None:
    stage = Stage("abxyz")
    stage.say("z")
    stage.arrive("z>y")
    stage.arrive("z>x")
    stage.say("y")
    stage.arrive("y>x")
    stage.say("x")
    stage.lose("z>a", "z>b")
    for name in "xyz":
        stage.crash(name)
    stage.flow()
    assert stage.held()["pending"] == 4, "y1 and x1, at a and at b"
    for name in "xyz":
        stage.down(name)
    stage.flow()
    assert stage.log("a") == stage.log("b") == []
    assert stage.at_rest()


def test_it_is_dropped_also_when_that_shows_only_later() -> None:
    """At agreement something of z still waits, for b1; when it is delivered, nothing more of z can come."""
    stage = Stage("abyz", credit(2))
    stage.say("b")
    stage.arrive("b>z")
    stage.say("z", 2)
    for _ in range(2):
        stage.arrive("z>y", Data)
    stage.arrive("b>y")
    stage.say("y")
    stage.arrive("z>a", Data)
    stage.arrive("y>a", Data)
    for name in "yz":
        stage.crash(name)
        stage.lose(*(f"{name}>{other}" for other in "abyz"))
        stage.down(name)
    stage.flow(held=("b>a",), kind=Data)
    assert stage.log("a") == []
    stage.flow()
    assert stage.log("a") == ["b1", "z1"]
    assert stage.log("b") == ["b1", "z1"]
    assert stage.at_rest()


def test_what_came_too_early_from_a_crashed_process_is_forgotten() -> None:
    stage = Stage("abz", credit(2))
    stage.say("z", 2)
    stage.lose("z>b")
    stage.flying.pop(0)
    stage.arrive("z>a")
    assert stage.held()["pending"] == 1, "z2 without z1"
    stage.crash("z")
    stage.down("z")
    stage.flow()
    assert stage.log("a") == stage.log("b") == []
    assert stage.at_rest()


def test_what_was_relayed_too_early_by_one_who_crashed_is_forgotten() -> None:
    stage = half_told(credits=2, messages=2)
    stage.flying.clear()
    stage.down("z")
    stage.arrive("b>a", Has)
    relayed = [frame for frame in stage.flying if type(frame.message) is Relayed]
    stage.flying = [frame for frame in stage.flying if frame.source != "a" or frame is relayed[1]]
    stage.arrive("a>b", Relayed)
    assert stage.held()["pending"] == 1, "z2 without z1"
    stage.crash("a")
    stage.down("a")
    stage.flow()
    assert stage.log("b") == stage.log("c") == []
    assert stage.at_rest()


def test_the_last_survivor_goes_on_alone() -> None:
    stage = Stage("abc", credit(2))
    stage.say("a", 5)
    for name in "bc":
        stage.crash(name)
        stage.down(name)
    assert stage.stable("a") == [1, 2, 3, 4, 5]
    stage.flying.clear()
    assert stage.at_rest()


def test_being_told_twice_is_being_told_once() -> None:
    stage = Stage("abc")
    stage.crash("c")
    stage.down("c")
    stage.flow()
    stage.down("c")
    assert not stage.flying
    stage.do("a", "peer_up", "c")
    stage.do("a", "peer_down", "a")
    stage.say("a")
    stage.flow()
    assert stage.stable("a") == [1]


def test_of_a_survivors_reports_the_newest_counts_in_whatever_order_they_come() -> None:
    survivors = Survivors()
    survivors.lose(3)
    assert survivors.heard(1, {3: 2})
    assert not survivors.heard(1, {3: 1})
    assert survivors.heard(1, {2: 0, 3: 2})
    assert not survivors.heard(1, {3: 2})
    assert survivors.reports == {1: {2: 0, 3: 2}}
    assert not survivors.agree((1,), accepted=(0, 0, 0, 1))
    assert survivors.agree((1,), accepted=(0, 0, 0, 2))
    assert survivors.everywhere
