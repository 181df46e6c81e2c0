"""Nodes that keep their history, scene by scene: who comes late, who was away, groups that fell apart."""

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from aforesaid import Config, HistoryLost, Misuse, Node
from aforesaid.world.plan import Fault, Plan, plan_of
from aforesaid.world.trial import run
from aforesaid.world.world import World
from world.node_stage import PORT, Stage, play, told

KEEPS = {"algorithm": "prc_spray", "transport": "tcp", "retention_bytes": 2**20, "heartbeat_s": 0.3}


def at(world: World, name: str) -> str:
    return f"{world.host(name)}:{PORT}"


async def founded(stage: Stage, *names: str, **facts: Any) -> None:
    """The first one founds, the others join through it."""
    for name in names:
        contact = {} if name == names[0] else {"contact": at(stage.world, names[0])}
        await stage.start(name, **KEEPS, **contact, **facts)
        await stage.until(partial(caught_up, stage, name), f"{name} is not inside")


def caught_up(stage: Stage, name: str) -> bool:
    return name in stage.nodes and bool(stage.nodes[name].status()["history"]["caught_up"])


async def say(stage: Stage, name: str, *numbers: int) -> None:
    for number in numbers:
        await stage.say(name, b"%d" % number)


def texts(numbers: range) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def test_a_newcomer_has_all_of_the_past_and_then_what_comes() -> None:
    async def scene(stage: Stage) -> None:
        await founded(stage, "alice", "bob")
        await say(stage, "alice", *range(100))
        await stage.until(lambda: len(stage.heard["bob"]) == 100, "bob lacks something")
        stage.history["carol"] = "all"
        await stage.start("carol", **KEEPS, contact=at(stage.world, "bob"))
        await say(stage, "alice", *range(100, 120))
        await stage.until(lambda: len(stage.heard["carol"]) >= 120, "carol lacks something")
        assert stage.heard["carol"] == texts(range(120))

    play(scene)


def test_a_newcomer_has_the_past_as_values_too() -> None:
    async def scene(stage: Stage) -> None:
        stage.payload = int
        await founded(stage, "alice", "bob")
        for number in range(50):
            await stage.say("alice", number)  # type: ignore[arg-type]
        stage.history["carol"] = "all"
        await stage.start("carol", **KEEPS, contact=at(stage.world, "alice"))
        await stage.until(lambda: len(stage.heard["carol"]) >= 50, "carol lacks something")
        assert [int(value) for value in stage.heard["carol"]] == list(range(50))

    play(scene)


def test_from_now_on_means_from_now_on_and_so_it_is_unless_something_else_is_said() -> None:
    async def scene(stage: Stage) -> None:
        await founded(stage, "alice", "bob")
        await say(stage, "alice", *range(10))
        await stage.until(lambda: len(stage.heard["bob"]) == 10, "bob lacks something")
        await stage.start("carol", **KEEPS, contact=at(stage.world, "bob"))
        await stage.until(lambda: caught_up(stage, "carol"), "carol is not inside")
        await say(stage, "alice", 10)
        await stage.until(lambda: bool(stage.heard["carol"]), "carol hears nothing")
        assert stage.heard["carol"] == [b"10"]

    play(scene)


def test_since_a_moment() -> None:
    async def scene(stage: Stage) -> None:
        await founded(stage, "alice", "bob")
        await say(stage, "alice", *range(10))
        await asyncio.sleep(5.0)
        moment = stage.machines["bob"].time_ns() - 10**9
        await say(stage, "alice", *range(10, 15))
        await stage.until(lambda: len(stage.heard["bob"]) == 15, "bob lacks something")
        stage.history["carol"] = datetime.fromtimestamp(moment / 1e9, UTC)
        await stage.start("carol", **KEEPS, contact=at(stage.world, "bob"))
        await stage.until(lambda: len(stage.heard["carol"]) >= 5, "carol hears nothing")
        assert stage.heard["carol"] == texts(range(10, 15))

    play(scene)


@pytest.mark.parametrize("resumes", [True, False])
def test_a_killed_member_comes_back_to_what_it_missed_and_has_nothing_twice(resumes: bool) -> None:
    async def scene(stage: Stage) -> None:
        await founded(stage, "alice", "bob", "carol")
        await say(stage, "alice", *range(20))
        await stage.until(lambda: len(stage.heard["bob"]) == 20, "bob lacks something")
        await asyncio.sleep(0.1)
        before = stage.heard["bob"]
        stage.machines["bob"].kill()
        await say(stage, "alice", *range(20, 40))
        if resumes:
            stage.resume_from["bob"] = 15
        await stage.again("bob")
        await stage.until(lambda: b"39" in stage.heard["bob"], "bob lacks something")
        # It has acknowledged what it took before it asked for the next one.
        assert stage.heard["bob"] == texts(range(15 if resumes else 20, 40))
        assert before == texts(range(20))

    play(scene)


def test_what_is_said_is_in_the_log_when_the_call_returns() -> None:
    """Else who is killed then has said it, as far as it knows, and nobody ever hears it."""

    async def scene(stage: Stage) -> None:
        await founded(stage, "alice")
        for number in range(1, 4):
            await stage.nodes["alice"].broadcast(b"1")
            assert stage.nodes["alice"].status()["history"]["last"] == number
        await stage.nodes["alice"].broadcast_many([b"2", b"3"])
        assert stage.nodes["alice"].status()["history"]["last"] == 5

    play(scene)


def test_who_says_it_has_more_than_the_log_is_refused() -> None:
    async def scene(stage: Stage) -> None:
        await founded(stage, "alice")
        await say(stage, "alice", 1, 2)
        stage.machines["alice"].kill()
        stage.resume_from["alice"] = 7
        stage.begin("alice", **KEEPS)
        await stage.until(lambda: "alice" in stage.errors, "alice has started")
        assert "cannot resume after delivery 7" in str(stage.errors["alice"])

    play(scene)


def test_two_parts_that_meet_again_have_what_either_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "aforesaid.node")

    async def scene(stage: Stage) -> None:
        parts = ("alice", "bob"), ("carol", "dave")
        names = [*parts[0], *parts[1]]
        await founded(stage, *names)
        cut = [(a, b) for a in parts[0] for b in parts[1]]
        for a, b in cut:
            stage.world.network.cut(a, b)
            stage.world.network.cut(b, a)
        await asyncio.sleep(20.0)
        await say(stage, "bob", *range(100, 110))
        await say(stage, "dave", *range(200, 210))
        await asyncio.sleep(20.0)
        stage.world.network.heal()
        whole = {*texts(range(100, 110)), *texts(range(200, 210))}
        await stage.until(
            lambda: all(whole <= set(stage.heard[name]) for name in names), "they lack something", 300.0
        )
        for name in names:
            heard = stage.heard[name]
            assert len(heard) == len(set(heard)), name
            assert [each for each in heard if each.startswith(b"1")] == texts(range(100, 110))
            assert [each for each in heard if each.startswith(b"2")] == texts(range(200, 210))

    play(scene)
    assert told(caplog, "said again")


SMALL = {**KEEPS, "retention_bytes": 64 * 1024}


def test_what_is_beyond_retention_is_said_in_its_place() -> None:
    async def scene(stage: Stage) -> None:
        await stage.start("alice", **SMALL)
        for number in range(100):
            await stage.say("alice", b"%d" % number + bytes(2000))
        stage.history["bob"] = "all"
        await stage.start("bob", **SMALL, contact=at(stage.world, "alice"))
        await stage.until(lambda: "bob" in stage.errors, "bob is told nothing")
        error = stage.errors["bob"]
        assert isinstance(error, HistoryLost)
        ((author, (first, last)),) = error.spans.items()
        assert error.member == author[0] == "alice"
        assert first == 1
        assert 60 < last < 99
        assert stage.heard["bob"] == []

    play(scene)


def test_who_is_told_that_messages_are_lost_may_go_on_without_them() -> None:
    async def scene(stage: Stage) -> None:
        await stage.start("alice", **SMALL)
        for number in range(100):
            await stage.say("alice", b"%d" % number + bytes(2000))
        stage.history["bob"] = "all"
        stage.goes_on.add("bob")
        await stage.start("bob", **SMALL, contact=at(stage.world, "alice"))
        await stage.until(lambda: len(stage.heard["bob"]) > 0, "bob has nothing")
        await stage.say("alice", b"last")
        await stage.until(lambda: b"last" in stage.heard["bob"], "bob hears no more")
        numbers = [int(each.rstrip(b"\0")) for each in stage.heard["bob"][:-1]]
        ((_, last),) = stage.lost["bob"].spans.values()
        assert numbers == list(range(last, 100))

    play(scene)


SIX = ("p0", "p1", "p2", "p3", "p4", "p5")


def test_what_is_found_to_be_lost_while_somebody_catches_up_is_lost_there_too() -> None:
    """Seed 710, made smaller: who joins has no other word of what is lost than what stands in its contact's
    log, which learnt of it meanwhile. Several seeds: a change of the node moves which of them show it."""
    plan = Plan(
        seed=75,
        group="keeping",
        algorithm="prc_spray",
        transport="tcp",
        names=SIX,
        seconds=4.617,
        rate=1.39,
        faults=(Fault(2.769, "part", ("p2", "p4", "p5"), 1.848, 0.558),),
        delay_s=0.02,
        jitter_s=0.02,
        loss=0.2,
        huge=0.01,
        replies=0.0,
        heartbeat_s=0.3,
        segment_bytes=16384,
        resumes=True,
        retention_bytes=65536,
    )
    outcomes = [run(replace(plan, seed=seed)) for seed in (7, 22, 71, 75, 87, 107)]
    assert sum(outcome.did["told: history lost"] > 0 for outcome in outcomes) > 1
    assert not [complaint for outcome in outcomes for complaint in outcome.complaints]


def test_a_world_is_not_at_rest_before_what_was_said_again_is_everywhere() -> None:
    """Seed 1161, made smaller: three say the same messages again, over sockets that take little. Everyone has
    them from the first; to close then is to close in the middle of the others' words. Several seeds again."""
    plan = Plan(
        seed=2,
        group="keeping",
        algorithm="prc_spray",
        transport="tcp",
        names=SIX,
        seconds=8.3,
        rate=1.0,
        faults=(Fault(3.908, "part", ("p0", "p2", "p3"), 3.047, 0.459),),
        delay_s=0.1,
        jitter_s=0.001,
        loss=0.05,
        large=0.2,
        replies=0.0,
        heartbeat_s=0.3,
        segment_bytes=16384,
        socket_bytes=1500,
        resumes=True,
        retention_bytes=2**30,
    )
    outcomes = [run(replace(plan, seed=seed)) for seed in (2, 16, 18, 49, 61, 64, 83)]
    assert sum(outcome.did["told: said again"] > 2 for outcome in outcomes) > 1
    assert not [complaint for outcome in outcomes for complaint in outcome.complaints]


def test_who_closes_last_and_founds_the_group_anew_is_owed_nothing_of_the_old_one() -> None:
    """Seed 9547: all close at once, p0 last, which finds itself alone and founds before it closes."""
    outcome = run(plan_of(9547, "keeping"))
    assert outcome.did["told: rejoining"]
    assert not outcome.complaints


def test_a_snapshot_of_the_application_stands_for_what_is_not_kept() -> None:
    """Of the messages that alice's application has not seen when it gives its state, none is lost."""

    async def scene(stage: Stage) -> None:
        taken: list[bytes] = []
        stage.snapshots["alice"] = (lambda: (b"state of 90", 90), None)
        stage.snapshots["bob"] = (None, taken.append)
        await stage.start("alice", **SMALL)
        for number in range(100):
            await stage.say("alice", b"%d" % number + bytes(2000))
        stage.history["bob"] = "all"
        await stage.start("bob", **SMALL, contact=at(stage.world, "alice"))
        await stage.say("alice", b"last")
        await stage.until(lambda: b"last" in stage.heard["bob"], "bob hears no more")
        assert taken == [b"state of 90"]
        assert [each.rstrip(b"\0") for each in stage.heard["bob"]] == [*texts(range(90, 100)), b"last"]

    play(scene)


@pytest.mark.parametrize("algorithm", ["waiting", "hybrid_multicast_in_order"])
def test_senders_go_on_while_a_member_that_survives_is_away_until_retention_is_full(
    algorithm: str, caplog: pytest.LogCaptureFixture
) -> None:
    facts = {
        "algorithm": algorithm,
        "durability": "batch",
        "evict_after_s": 0,
        "heartbeat_s": 0.3,
        "retention_bytes": 300_000,
        "queues": {"out_messages": 8},
    }

    async def scene(stage: Stage) -> None:
        await stage.group("alice", "bob", **facts)
        await stage.say("alice", b"met")
        await stage.until(lambda: stage.heard["bob"] == [b"met"], "bob hears nothing")
        stage.machines["bob"].kill()
        said: list[int] = []

        async def talk() -> None:
            for number in range(400):
                await stage.say("alice", b"%d" % number + bytes(1000))
                said.append(number)

        talking = asyncio.ensure_future(talk())
        await stage.until(lambda: bool(told(caplog, "retention is full")), "nobody is told")
        assert 290 < len(said) <= 300
        assert stage.nodes["alice"].status()["waits_for"] == ["bob"]
        await stage.again("bob")
        await stage.until(lambda: len(stage.heard["bob"]) >= 400, "bob lacks something")
        assert [each.rstrip(b"\0") for each in stage.heard["bob"][-400:]] == texts(range(400))
        assert stage.nodes["alice"].status()["waits_for"] == []
        await talking

    play(scene)
    ((words),) = told(caplog, "retention is full")
    assert words["waits_for"] == "bob"


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"retention_s": 5.0}, "nothing is kept; set retention_bytes"),
        ({"retention_bytes": 10}, "at least"),
        ({"retention_bytes": 2**20, "algorithm": "waiting"}, 'set durability = "batch"'),
        ({"retention_bytes": 2**20, "options": {"frontier": True}}, "choose it or options.frontier"),
    ],
)
def test_what_does_not_go_together_is_refused(facts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Misuse, match=complaint):
        Config.of({"name": "alice", "algorithm": "prc_spray", "transport": "tcp", **facts})


def test_history_is_for_groups_that_keep_it() -> None:
    with pytest.raises(Misuse, match="set retention_bytes"):
        Node(Config(name="alice", algorithm="prc_spray", transport="tcp"), history="all")
    with pytest.raises(Misuse, match="a datetime with a time zone"):
        Node(Config.of({"name": "alice", **KEEPS}), history="yesterday")  # type: ignore[call-overload]


def test_another_version_goes_on_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which a journal does not allow: its snapshot is of one version."""

    async def scene(stage: Stage) -> None:
        await founded(stage, "alice", "bob", "carol")
        await say(stage, "alice", 1)
        await stage.until(lambda: stage.heard["bob"] == [b"1"], "bob hears nothing")
        stage.machines["bob"].kill()
        monkeypatch.setattr("aforesaid.node.building.__version__", "99.0")
        await say(stage, "alice", 2)
        stage.resume_from["bob"] = 1
        await stage.again("bob")
        await stage.until(lambda: stage.heard["bob"] == [b"2"], "bob does not go on")

    play(scene)
