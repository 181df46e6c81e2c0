"""Adaptive hybrid buffering step by step: what is named, what waits for it, what is told and what kept."""

import tracemalloc
from functools import partial
from typing import Any

import pytest

from aforesaid.core import MessageId, Misuse, worded
from aforesaid.protocols.catalog import Setup, algorithm
from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Flush, Flushed, Holds, Name, Told, Wait
from aforesaid.protocols.delivery.hybrid_constraints import FACTS_MAX, LOOK_MAX
from aforesaid.protocols.delivery.hybrid_frames import Ack, Early, Notice, Remind
from oracle.adaptive import at_rest
from oracle.stage import Stage
from support.recorder import Recorder

Machine = HybridAdaptive


def stage_of(n: int, constraints: int = 1, **settings: Any) -> Stage:
    group = [f"p{i}" for i in range(n)]
    return Stage(partial(Machine, group=group, constraints=constraints), n, **settings)


def relay(stage: Stage) -> None:
    """0 says something to 2 that does not arrive, and to 1, who says something to 2 that does."""
    stage.say(0, 2)
    stage.say(0, 1)
    stage.arrive(Told, 0, 1)
    stage.say(1, 2)
    stage.arrive(Told, 1, 2)


def why(stage: Stage, i: int, origin: int, number: int) -> list[str]:
    reasons = stage.machines[i].reasons(MessageId(f"p{origin}", 0, number))
    return [worded(reason) for reason in reasons]


def test_a_message_names_what_its_receiver_might_overtake() -> None:
    """0 tells 2 something, and then 1, who tells 2: that waits at 2, and nowhere else."""
    stage = stage_of(3)
    stage.say(0, 2)
    stage.say(0, 1)
    assert stage.between(0, 1) == [Told((), 0, 2, 0, (), (Name("p2", "p0", 1),), False, None)]
    stage.arrive(Told, 0, 1)
    stage.say(1, 2)
    assert stage.of_kind(Told, 1, 2) == [Told((), 0, 1, 0, (Wait("p0", 1),), (), False, None)]
    stage.arrive(Told, 1, 2)
    assert stage.got[2] == []
    assert stage.between(2, 1) == []
    assert why(stage, 2, 1, 1) == ["p1#1 is held at p2 for p0#1, which p1 named."]
    stage.arrive(Told, 0, 2)
    assert stage.got[2] == ["p0#1", "p1#1"]
    stage.drain()
    for machine in stage.machines.values():
        at_rest(machine)


def test_where_acks_are_lost_what_is_held_is_told_to_have_come() -> None:
    stage = stage_of(3, retransmit=True)
    relay(stage)
    assert stage.between(2, 1) == [Early(0, 1)]
    stage.arrive(Early, 2, 1)
    stage.arrive(Told, 0, 2)
    stage.lose_all()
    while any(stage.timers):
        stage.expire(next(i for i, timers in enumerate(stage.timers) if timers))
        stage.drain()
    assert not stage.machines[1].gauges()["unacked"], "its ack was lost, and asked for again"


def test_who_asked_while_something_flew_asks_again_when_that_has_come() -> None:
    """Its second message flies when the timer rings, so that it does not ask; then both wait at 2, which
    delivers them, and the ack is lost (world 5610 of durable groups)."""
    stage = stage_of(3, retransmit=True)
    relay(stage)
    stage.arrive(Early, 2, 1)
    stage.say(1, 2)
    asker = stage.machines[1].channels["p2"]
    assert asker.polls
    stage.fire(1, Remind("p2"))
    stage.arrive(Told, 1, 2)
    stage.arrive(Early, 2, 1)
    assert not asker.flight.sent
    assert asker.unacked
    stage.arrive(Told, 0, 2)
    stage.lose_all()
    while any(stage.timers):
        stage.expire(next(i for i, timers in enumerate(stage.timers) if timers))
        stage.drain()
    assert not stage.machines[1].gauges()["unacked"]


def test_ping_pong_with_side_messages_waits_for_nothing() -> None:
    """R14: SPS lets side messages wait for ever, SPS in order the ball for a round trip."""
    stage = stage_of(4)
    player, third = {0: 1, 1: 0}, {0: 2, 1: 3}
    stage.say(0, 1)
    for hit in range(1, 40):
        me = hit % 2
        stage.arrive(Told, player[me], me)
        stage.say(me, third[me])
        stage.say(me, player[me])
        assert stage.machines[me].gauges()["unsent"] == 0
    balls = [frame.message for frame in stage.sent if {frame.source, frame.target} == {0, 1}]
    assert not any(ball.opaque for ball in balls if type(ball) is Told)


def test_what_cannot_be_named_makes_the_receiver_silent_but_for_an_answer() -> None:
    stage = stage_of(4)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.say(0, 3)
    assert [told.opaque for told in stage.of_kind(Told, 0, 3)] == [True]
    assert why(stage, 0, 0, 3)[-1] == "p3 has no permit for p0#3: the ack from p1 for p0#1 is missing."
    stage.arrive(Told, 0, 3)
    stage.say(3, 0)
    stage.say(3, 1)
    assert stage.of_kind(Told, 3, 0)
    assert not stage.of_kind(Told, 3, 1), "it would overtake"
    assert why(stage, 3, 3, 2) == [
        "p3#2 is not sent to p1: the permit from p0 for its message 3 is missing.",
    ]
    stage.arrive(Told, 0, 1)
    stage.arrive(Ack, 1, 0)
    assert stage.of_kind(Holds, 0, 3) == [Holds((), 3, 0)], "what it named, to 2, may be undelivered"
    stage.arrive(Holds, 0, 3)
    assert stage.of_kind(Told, 3, 1)
    stage.drain()
    assert stage.got[1] == ["p0#1", "p3#2"]


def test_what_holds_by_the_time_it_is_said_is_not_named() -> None:
    stage = stage_of(3)
    stage.say(0, 2)
    stage.drain()
    stage.say(0, 1)
    (told,) = stage.of_kind(Told, 0, 1)
    assert told.names == ()
    assert not told.opaque


def test_a_message_that_would_have_to_name_too_much_waits() -> None:
    """Two others said something to 3 and then to 2, who may name one of the two."""
    stage = stage_of(4)
    for i in (0, 1):
        stage.say(i, 3)
        stage.say(i, 2)
        stage.arrive(Told, i, 2)
    stage.say(2, 3)
    assert not stage.of_kind(Told, 2, 3)
    (reason,) = why(stage, 2, 2, 1)
    assert reason.startswith("p2#1 is not sent to p3: it would have to name 2 messages")
    stage.say(2, 0)
    assert why(stage, 2, 2, 2) == ["p2#2 is not sent to p0: p2#1, said before it, is not sent yet."]
    stage.drain()
    assert sorted(stage.got[3][:2]) == ["p0#1", "p1#1"]
    assert stage.got[3][2] == "p2#1"


def test_a_message_knows_what_was_known_when_it_was_said() -> None:
    """2 holds a message back; what it hears meanwhile does not make that one wait at its receiver."""
    stage = stage_of(5)
    stage.say(0, 1)
    stage.say(0, 4)
    stage.say(0, 2)
    stage.arrive(Told, 0, 2)
    stage.say(2, 3)
    assert not stage.of_kind(Told, 2, 3), "opaque"
    stage.say(1, 3)
    stage.say(1, 2)
    stage.arrive(Told, 1, 2)
    stage.say(2, 3)
    for j in (1, 4):
        stage.arrive(Told, 0, j)
        stage.arrive(Ack, j, 0)
    stage.arrive(Holds, 0, 2)
    first, second = stage.of_kind(Told, 2, 3)
    assert first.waits == ()
    assert second.waits == (Wait("p1", 1),)


def test_a_transparent_message_tells_what_it_does_not_name() -> None:
    """1 learns of 0's message to 2; then 0 has its ack, and says something to 1 that does not name it."""
    stage = stage_of(4)
    stage.say(0, 2)
    stage.say(0, 1)
    stage.arrive(Told, 0, 1)
    stage.say(1, 3)
    assert stage.machines[1].gauges()["constraints"] == 2
    stage.arrive(Told, 0, 2)
    stage.arrive(Ack, 2, 0)
    stage.lose_all(Holds)
    stage.say(0, 1)
    stage.arrive(Told, 0, 1)
    assert list(stage.machines[1].constraints.candidates) == [("p3", "p1")]


def test_what_is_known_to_hold_is_not_learnt_again() -> None:
    stage = stage_of(4)
    machine, sink = stage.machines[1], stage.sinks[1]
    machine.receive("p0", Told((), 0, 1, 0, (), (Name("p2", "p0", 7),), False, None), 0, sink)
    machine.receive("p0", Holds((), 0, 1), 0, sink)
    machine.receive("p3", Told((), 0, 1, 0, (), (Name("p2", "p0", 7),), False, None), 0, sink)
    machine.send(("p0",), None, 0, sink)
    assert sink.sent[-1][1].names == ()


def test_where_looking_ends_something_may_be_unnamed() -> None:
    """Of its own the message names the youngest; the other lies behind much that its receiver told."""
    stage = stage_of(4)
    stage.say(1, 2)
    machine, sink = stage.machines[1], stage.sinks[1]
    for k in range(1, 3 * LOOK_MAX):
        machine.receive("p0", Told((), 0, k, k - 1, (), (Name(f"x{k}", "p0", k),), False, None), 0, sink)
    stage.say(1, 3)
    stage.say(1, 0)
    told = stage.of_kind(Told, 1, 0)[-1]
    assert told.names == (Name("p3", "p1", 2),)
    assert told.opaque


def test_facts_have_a_bound() -> None:
    machine = Machine("p0", constraints=1)
    for number in range(FACTS_MAX + 10):
        machine.constraints.hold([Name(f"x{number}", "s", 1)])
    assert len(machine.constraints.facts) == FACTS_MAX


def test_a_peer_that_names_and_never_tells_is_not_listened_to() -> None:
    stage = stage_of(2, early_max=3, retransmit=True)
    machine, sink = stage.machines[1], stage.sinks[1]
    for k in range(1, 10):
        machine.receive("p0", Told((), 0, k, k - 1, (), (Name("x", "p0", k),), False, None), 0, sink)
    assert machine.gauges()["tellings"] == 3
    assert len(sink.delivered) == 3
    assert machine.gauges()["out_of_order"] == 3
    told = "which has named more than p1 keeps, tells that some of it is delivered."
    assert why(stage, 1, 0, 5) == [f"p0#5 arrived, and waits until p0, {told}"]
    machine.receive("p0", Holds((), 0, 3), 0, sink)
    assert len(sink.delivered) == 6, "it goes on where it was"


def test_a_message_that_comes_again_and_again_waits_for_one_thing_at_a_time() -> None:
    stage = stage_of(3, retransmit=True)
    machine, sink = stage.machines[1], stage.sinks[1]
    for k in range(1, 100):
        machine.receive("p0", Told((), 0, 1, 0, (Wait("p2", k),), (), False, None), 0, sink)
    assert machine.watch == {"p2": {99: ["p0"]}}
    stage.evict(1, 2)
    assert [str(message_id) for message_id, _ in sink.delivered] == ["p0#1"]
    assert machine.watch == {}


def test_who_is_gone_is_not_waited_for() -> None:
    """1's message waits at 2 for one of 0, who is gone."""
    stage = stage_of(3)
    relay(stage)
    stage.evict(2, 0)
    assert stage.got[2] == ["p1#1"]
    stage.arrive(Told, 0, 2)
    assert stage.got[2] == ["p1#1"], "what came after it would be in the wrong order"


def test_who_owes_an_ack_is_told_who_is_gone() -> None:
    """It may be holding the message for one of them, and have evicted nobody."""
    stage = stage_of(3)
    relay(stage)
    stage.evict(1, 0)
    stage.arrive(Notice, 1, 2)
    assert stage.got[2] == ["p1#1"]


def test_a_permit_that_rests_on_an_eviction_tells_of_it() -> None:
    stage = stage_of(4)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.say(0, 3)
    stage.arrive(Told, 0, 3)
    stage.evict(0, 1)
    assert stage.of_kind(Holds, 0, 3) == [Holds(("p1",), 3, 0)]
    stage.arrive(Holds, 0, 3)
    assert list(stage.machines[3].evicted) == ["p1"]


def test_what_one_who_is_gone_told_is_asked_of_all() -> None:
    """0 says something to 3, and then to 1, who tells 2 of it, and is gone: only 0 knows when it holds."""
    stage = stage_of(4)
    stage.say(0, 3)
    stage.say(0, 1)
    stage.arrive(Told, 0, 1)
    stage.say(1, 2)
    stage.arrive(Told, 1, 2)
    stage.evict(2, 1)
    assert stage.of_kind(Flush, 2, 0)
    assert stage.of_kind(Flush, 2, 3)
    stage.arrive(Flush, 2, 3)
    stage.arrive(Flushed, 3, 2)
    stage.arrive(Flush, 2, 0)
    assert not stage.of_kind(Flushed, 0, 2), "3 has not delivered it yet"
    stage.say(2, 3)
    (told,) = stage.of_kind(Told, 2, 3)
    assert told.waits == (Wait("p0", 1),)
    assert told.gone == ("p1",)
    stage.arrive(Told, 0, 3)
    stage.arrive(Ack, 3, 0)
    stage.arrive(Flushed, 0, 2)
    stage.drain()
    at_rest(stage.machines[2])


def test_a_peer_at_rest_costs_little() -> None:
    """After messages each way that name something and are opaque; tables that were full are counted, too."""
    names = [f"peer{i}" for i in range(1_000)]
    hub, out = Machine("hub"), Recorder()
    tracemalloc.start()
    for k, name in enumerate(names, 1):
        hub.receive(name, Told((), 0, 1_000, 0, (), (Name("x", "y", k),), True, None), 0, out)
        hub.receive(name, Holds((), 1_000, 1_000), 0, out)
        hub.send((name,), None, 0, out)
    assert hub.channels["peer900"].named
    for k, name in enumerate(names, 1):
        hub.receive(name, Ack(k, 0), 0, out)
        out.sent.clear()
        out.delivered.clear()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not any(hub.gauges().values())
    assert size / len(names) < 1_000


@pytest.mark.parametrize("bound", [-1, 65, "many"])
def test_the_bound_is_checked(bound: Any) -> None:
    with pytest.raises(Misuse, match="constraints"):
        algorithm("hybrid_adaptive").build(Setup("p0", ("p0", "p1"), 0, {"constraints": bound}))
