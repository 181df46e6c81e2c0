"""Runs: what is said at once to the same processes is one message of several parts (`hybrid_runs`).

The oracle's campaigns have runs in three of four worlds (`test_hybrid_random`, `test_adaptive_random`). Here
are every schedule of small scopes, the mutants, and what can be said by hand.
"""

from dataclasses import replace
from typing import Any

import pytest

from aforesaid.core import RUN_MAX, Busy, Misuse, Run
from aforesaid.explore import Scope, explore
from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg, Permit
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from oracle.adaptive_campaign import CRASHES, WORLDS
from oracle.adaptive_campaign import campaign as adaptive_campaign
from oracle.campaign import VARIANTS, campaign
from oracle.fates import ADAPTIVE_FATES, FATES, Fates
from oracle.kinds import ALL, MULTICAST
from oracle.run_mutants import RUN_MUTANTS
from oracle.stage import Stage
from oracle.watched import watched
from oracle.world import Plan, World, random_plan

NAMES = ("hybrid_basic", "hybrid_sps", "hybrid_in_order")
MANY = ("hybrid_multicast", "hybrid_multicast_sps", "hybrid_multicast_in_order")
IN_ORDER = ("hybrid_in_order", "hybrid_multicast_in_order")


def say_run(stage: Stage, i: int, targets: tuple[int, ...], payloads: list[Any]) -> Any:
    return stage.do(i, "send_run", [stage.names[j] for j in targets], payloads)


@pytest.mark.parametrize("kind", [*ALL, HybridAdaptive])
def test_a_run_is_one_frame_one_ack_and_as_many_deliveries(kind: Any) -> None:
    stage = Stage(kind, 2)
    assert stage.say(0, 1) == "p0#1"
    assert say_run(stage, 0, (1,), ["a", "b", "c"]).number == 4
    assert say_run(stage, 0, (1,), ["alone"]).number == 5
    messages = [frame.message for frame in stage.flying]
    assert [(message.number, message.previous) for message in messages] == [(1, 0), (4, 1), (5, 4)]
    assert [type(message.payload) is Run for message in messages] == [False, True, False]
    stage.carry_frame(stage.flying[1])
    assert stage.got[1] == [], "its predecessor is missing"
    stage.carry_frame(stage.flying[0])
    assert stage.got[1] == ["p0#1", "p0#2", "p0#3", "p0#4"]
    assert [payload for _, payload in stage.sinks[1].delivered] == [None, "a", "b", "c"]
    assert stage.of_kind(Ack, 1, 0)[-1].number == 4
    assert stage.machines[0].owed("p1") == 5
    stage.arrive(Ack, 1, 0)
    assert (stage.machines[0].owed("p1"), stage.machines[0].stable_below) == (1, 5)


@pytest.mark.parametrize("kind", ALL)
def test_a_lost_run_goes_again_as_it_was_and_a_repeated_one_is_delivered_once(kind: Any) -> None:
    stage = Stage(kind, 2, retransmit=True)
    say_run(stage, 0, (1,), ["a", "b"])
    first = stage.flying[0].message
    stage.lose_all()
    stage.expire(0)
    assert [frame.message for frame in stage.flying] == [first]
    stage.arrive(Msg, 0, 1)
    stage.hand(0, 1, first)
    assert stage.got[1] == ["p0#1", "p0#2"]


@pytest.mark.parametrize("kind", MULTICAST)
def test_a_run_to_several_gets_one_permit_for_all_of_it(kind: Any) -> None:
    stage = Stage(kind, 3)
    say_run(stage, 0, (1, 2), ["a", "b"])
    stage.arrive(Msg, 0, 1)
    stage.say(1, 2)
    assert stage.of_kind(Msg, 1, 2) == [], "p2 may lack what p1 has heard"
    stage.arrive(Msg, 0, 2)
    stage.arrive(Ack, 2, 0)
    assert stage.of_kind(Permit, 0, 1) == [Permit(2)]
    stage.arrive(Permit, 0, 1)
    assert len(stage.of_kind(Msg, 1, 2)) == 1


@pytest.mark.parametrize("kind", ALL)
def test_a_run_to_oneself_is_delivered_at_once_and_holds_nothing_up(kind: Any) -> None:
    stage = Stage(kind, 2)
    say_run(stage, 0, (0,), ["a", "b"])
    stage.say(0, 1)
    say_run(stage, 0, (0,), ["c", "d"])
    assert stage.got[0] == ["p0#1", "p0#2", "p0#4", "p0#5"]
    stage.arrive(Msg, 0, 1)
    stage.arrive(Ack, 1, 0)
    assert stage.machines[0].stable_below == 6


@pytest.mark.parametrize("kind", ALL)
def test_each_message_of_a_run_is_explained(kind: Any) -> None:
    stage = Stage(kind, 2)
    say_run(stage, 0, (1,), ["a", "b", "c"])
    last = say_run(stage, 0, (1,), ["d", "e"])
    ids = [last._replace(number=number) for number in range(1, 6)]
    kinds = [{reason.kind for reason in stage.machines[0].reasons(each)} for each in ids]
    assert all("missing ack" in each for each in kinds)
    other = stage.machines[1]
    stage.carry_frame(stage.flying[1])
    assert [other.reasons(each)[0].kind for each in ids] == ["not arrived"] * 3 + ["missing on channel"] * 2
    assert other.reasons(ids[4])[0].cause == ids[2]


def test_a_run_is_neither_empty_nor_too_long_and_fits_or_is_refused_whole() -> None:
    stage = Stage(HybridInOrder, 2, buffer_max=4)
    for payloads in ([], [None] * (RUN_MAX + 1)):
        with pytest.raises(Misuse, match="a run has 1 to"):
            say_run(stage, 0, (1,), payloads)
    say_run(stage, 0, (1,), ["a", "b"])
    assert stage.machines[0].room == 2
    with pytest.raises(Busy):
        say_run(stage, 0, (1,), ["c", "d", "e"])
    assert say_run(stage, 0, (1,), ["c", "d"]).number == stage.machines[0].next_number - 1 == 4


def test_an_ack_of_a_part_is_nobodys_ack() -> None:
    stage = Stage(HybridSps, 2)
    say_run(stage, 0, (1,), ["a", "b"])
    stage.hand(1, 0, Ack(1, 0))
    assert stage.machines[0].owed("p1") == 2


@pytest.mark.parametrize(
    ("name", "facts"),
    [(name, {"messages": (2, 1, 0)}) for name in NAMES]
    + [(name, {"audiences": (((1, 2), (1,)), ((0, 2),), ())}) for name in MANY]
    + [(name, {"messages": (1, 1, 0), "drops_max": 1, "timer_firings_max": 1}) for name in IN_ORDER]
    + [(name, {"messages": (1, 1, 0), "crashes_max": 1}) for name in IN_ORDER],
)
def test_every_schedule_of_messages_that_are_pairs(name: str, facts: dict[str, Any]) -> None:
    """As many states as with single messages: to the algorithms a run is one."""
    found = [explore(watched(name, parts=parts), Scope(processes=3, **facts)) for parts in (1, 2)]
    assert [each.verdict for each in found] == ["kept", "kept"], str(found[1])
    assert found[0].states == found[1].states
    assert found[0].ends == found[1].ends


@pytest.mark.parametrize("name", RUN_MUTANTS)
def test_every_mutant_of_runs_dies(name: str) -> None:
    build, optimal, multicast, crash = RUN_MUTANTS[name]
    for seed in range(300):
        try:
            World(build, mutants_plan(seed, multicast, crash), optimal, peek=False).run()
        except (AssertionError, IndexError, KeyError):
            return
    pytest.fail(f"{name} survived")


def mutants_plan(seed: int, multicast: bool, crash: str) -> Plan:
    return replace(random_plan(seed, multicast, crash), runs=4)


@pytest.mark.parametrize("name", VARIANTS)
def test_who_is_no_mutant_lives_in_the_worlds_of_the_mutants(name: str) -> None:
    build, optimal, multicast = VARIANTS[name]
    for crash in {crash for *_, crash in RUN_MUTANTS.values()}:
        for seed in range(40):
            World(build, mutants_plan(seed, multicast, crash), optimal, peek=False).run()


def test_everything_befalls_runs_in_random_worlds() -> None:
    """What `test_hybrid_random` and `test_adaptive_random` play, and less than they do."""
    fates = Fates()
    for name in VARIANTS:
        for crash in CRASHES:
            fates.update(sum((world.fates for world in campaign(name, crash, range(20))), Fates()))
    assert all(fates[fate] > 20 for fate in FATES), fates


def test_everything_befalls_runs_in_random_worlds_of_the_adaptive_algorithm() -> None:
    fates = Fates()
    for world in WORLDS:
        for crash in CRASHES:
            played = adaptive_campaign(world, 1, True, crash, range(40))
            fates.update(sum((world.fates for world in played), Fates()))
    assert all(fates[fate] > 20 for fate in (*FATES, *ADAPTIVE_FATES)), fates


@pytest.mark.parametrize("name", VARIANTS)
def test_who_speaks_in_runs_comes_to_rest_under_loss(name: str) -> None:
    build, optimal, multicast = VARIANTS[name]
    for seed in range(4):
        plan = replace(random_plan(seed, multicast), runs=8, messages=40, loss=0.4, repeat=0.3)
        World(build, plan, optimal).run()
