"""The hybrid-buffering processes step by step: numbering, audiences, bounds, timers, duplicates, state."""

import pickle
import tracemalloc
from typing import Any

import pytest

from aforesaid.core import MILLISECOND, Busy, MessageId, Misuse, freeze, worded
from aforesaid.protocols.catalog import CATALOG, algorithm
from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg, Permit
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.protocols.repair import Resend
from oracle.kinds import ALL, MULTICAST, UNICAST
from oracle.stage import Stage
from support.recorder import Recorder
from support.stage import Frame

every = pytest.mark.parametrize("kind", ALL)


@every
def test_numbers_are_consecutive_over_all_sends(kind: Any) -> None:
    stage = Stage(kind, 3)
    audiences: list[tuple[int, ...]] = [(1,), (0,), (2,), (0,), (1,)]
    if kind in MULTICAST:
        audiences += [(), (1, 2), (0, 1), ()]
    labels = [stage.say(0, *targets) for targets in audiences]
    assert labels == [f"p0#{number}" for number in range(1, len(audiences) + 1)]
    stage.drain()
    assert stage.got[0] == [label for label, to in zip(labels, audiences, strict=True) if 0 in to]
    assert stage.got[1] == [label for label, to in zip(labels, audiences, strict=True) if 1 in to]
    assert not any(stage.machines[0].gauges().values())


@pytest.mark.parametrize("kind", UNICAST)
@pytest.mark.parametrize("targets", [(), ("p1", "p2")])
def test_unicast_takes_exactly_one_target(kind: Any, targets: tuple[str, ...]) -> None:
    stage = Stage(kind, 3)
    with pytest.raises(Misuse, match=f"exactly one target, not to {len(targets)}"):
        stage.do(0, "send", targets, None)
    assert stage.say(0, 1) == "p0#1", "a refused message takes no number"


@pytest.mark.parametrize("kind", MULTICAST)
def test_a_target_named_twice_is_one_receiver(kind: Any) -> None:
    stage = Stage(kind, 2)
    stage.say(0, 1, 1, 0, 0)
    stage.drain()
    assert stage.got == [["p0#1"], ["p0#1"]]


@every
def test_a_full_buffer_refuses_and_changes_nothing(kind: Any) -> None:
    stage = Stage(kind, 2, buffer_max=3)
    for _ in range(3):
        stage.say(0, 1)
    before = freeze(stage.machines[0])
    with pytest.raises(Busy, match="p0 holds 3 messages"):
        stage.say(0, 1)
    assert freeze(stage.machines[0]) == before
    stage.drain()
    assert stage.say(0, 1) == "p0#4"


@pytest.mark.parametrize("kind", [name for name in CATALOG if name.startswith("hybrid_")])
@pytest.mark.parametrize("name", ["resend_ms", "backoff_max", "in_flight", "buffer_max", "early_max"])
def test_a_bound_below_one_is_refused(kind: str, name: str) -> None:
    with pytest.raises(Misuse, match=f"{name} must be a .*, not 0"):
        algorithm(kind).validate({name: 0})


@every
def test_frames_of_any_age_may_come_again(kind: Any) -> None:
    """Everything ever sent arrives once more, oldest and youngest first: no delivery, no lasting change."""
    stage = Stage(kind, 3)
    seen: list[tuple[int, int, Any]] = []
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 0), (1, 0), (0, 1)):
        stage.say(i, j)
        seen += stage.flying
        stage.hand(*stage.flying.pop(0))
    while stage.flying:
        seen += stage.flying
        stage.hand(*stage.flying.pop(0))
    before = [freeze(machine) for machine in stage.machines.values()]
    got = [list(labels) for labels in stage.got]
    for i, j, frame in (*seen, *reversed(seen)):
        stage.hand(i, j, frame)
        stage.drain()
    assert stage.got == got
    assert [freeze(machine) for machine in stage.machines.values()] == before


@every
def test_a_burst_out_of_order_gets_one_ack(kind: Any) -> None:
    stage = Stage(kind, 2)
    for _ in range(5):
        stage.say(0, 1)
    frames = stage.of_kind(Msg, 0, 1)
    stage.lose_all()
    for frame in reversed(frames):
        stage.hand(0, 1, frame)
    assert stage.got[1] == [f"p0#{number}" for number in range(1, 6)]
    assert stage.flying == [(1, 0, Ack(5, 0))]


@every
def test_frames_no_correct_peer_sends_change_nothing(kind: Any) -> None:
    stage = Stage(kind, 3)
    stage.say(0, 1)
    stage.lose_all()
    for frame in (Ack(2, 0), Ack(10**9, 0), Ack(0, 0), Ack(1, 10**9), Msg(0, 3, 3, True, None), "what?"):
        stage.hand(2, 0, frame)
    stage.hand(1, 0, Ack(7, 0))
    assert stage.flying == []
    assert stage.got[0] == []
    assert stage.machines[0].gauges()["unacked"] == 1


def pending_timers(stage: Stage) -> list[list[str]]:
    return [[timer.peer for timer in timers if isinstance(timer, Resend)] for timers in stage.timers]


@every
def test_one_timer_per_peer_and_none_at_rest(kind: Any) -> None:
    stage = Stage(kind, 3, retransmit=True)
    for _ in range(20):
        stage.say(0, 1)
        stage.say(0, 2)
    assert pending_timers(stage) == [["p1", "p2"], [], []]
    stage.drain()
    assert pending_timers(stage) == [[], [], []]


@every
def test_into_silence_goes_one_message_less_and_less_often(kind: Any) -> None:
    stage = Stage(kind, 2, retransmit=True, resend_after=10, backoff_max=8, in_flight=3)
    for _ in range(100):
        stage.say(0, 1)
    assert [frame.number for frame in stage.of_kind(Msg, 0, 1)] == [1, 2, 3]
    moments = []
    for _ in range(6):
        stage.lose_all()
        stage.expire(0)
        moments.append(stage.now)
        assert [frame.number for frame in stage.of_kind(Msg, 0, 1)] == [1], "the oldest"
    assert moments == [10, 30, 70, 150, 230, 310]
    stage.say(0, 1)
    stage.drain()
    assert stage.got[1] == [f"p0#{number}" for number in range(1, 102)], "an answer ends it"


@every
def test_what_came_early_tells_what_did_not_come(kind: Any) -> None:
    """Of ten, the second and the sixth are lost: these, and nothing else, leave again."""
    stage = Stage(kind, 2, retransmit=True)
    stage.say(0, 1)
    stage.now += 10
    stage.drain()
    for _ in range(10):
        stage.say(0, 1)
    stage.flying[:] = [frame for frame in stage.flying if frame.message.number not in (3, 7)]
    for wait in (10, 10):
        stage.now += wait
        for frame in list(stage.flying):
            stage.hand(*frame)
            stage.flying.remove(frame)
    assert stage.of_kind(Msg, 0, 1) == []
    stage.now = stage.timers[0][Resend("p1")]
    stage.do(0, "expire", Resend("p1"))
    assert [frame.number for frame in stage.of_kind(Msg, 0, 1)] == [3, 7]


@every
def test_a_lost_permit_is_asked_for_and_given_again(kind: Any) -> None:
    stage = Stage(kind, 3, retransmit=True)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(Msg, 0, 2)
    stage.say(2, 1)
    stage.arrive(Msg, 0, 1)
    stage.arrive(Ack, 1, 0)
    stage.arrive(Ack, 2, 0)
    stage.lose_all()
    assert not any(stage.machines[0].gauges().values()), "p0 has nothing left to send again"
    stage.expire(2)
    assert stage.flying == [(2, 0, Ack(2, 2))]
    stage.drain()
    assert stage.got[1] == ["p0#1", "p2#1"]


@every
def test_who_gives_permits_slowly_is_not_reminded_for_ever(kind: Any) -> None:
    """Permits that take longer than the first guess: how long is learnt, and then nobody is asked in vain."""
    stage = Stage(kind, 3, retransmit=True, resend_after=10)
    reminders = []
    for _ in range(10):
        stage.say(0, 1)
        stage.say(0, 2)
        stage.arrive(Msg, 0, 2)
        stage.arrive(Ack, 2, 0)
        began = stage.now
        while stage.timers[2] and min(stage.timers[2].values()) < began + 100:
            stage.expire(2)
        reminders.append(len(stage.of_kind(Ack, 2, 0)))
        stage.now = began + 100
        stage.drain()
        assert not stage.timers[2]
    assert reminders[0] > 0
    assert reminders[-5:] == [0] * 5


def test_the_oldest_missing_permit_is_asked_for() -> None:
    """Asking for the youngest alone would wait for ever: it cannot be given before the oldest came."""
    stage = Stage(HybridSps, 4, retransmit=True)
    stage.say(1, 3)
    stage.say(1, 0)
    stage.arrive(Msg, 1, 0)
    stage.say(0, 2)
    stage.say(0, 1)
    stage.arrive(Msg, 1, 3)
    stage.arrive(Ack, 3, 1)
    assert stage.of_kind(Permit, 1, 0) == [Permit(2)]
    stage.flying.remove(Frame(1, 0, Permit(2)))
    stage.arrive(Msg, 0, 1)
    stage.say(1, 2)
    stage.say(1, 0)
    stage.arrive(Msg, 1, 0)
    stage.drain()
    assert tuple(map(worded, stage.machines[0].reasons(MessageId("p0", 0, 1)))) == (
        "p0#1 is not sent to p2: the permit from p1 for its message 2 is missing.",
    )
    while any(stage.timers):
        stage.expire(next(i for i, timers in enumerate(stage.timers) if timers))
        stage.drain()
    assert stage.got[2] == ["p0#1", "p1#3"]
    assert not any(any(machine.gauges().values()) for machine in stage.machines.values())


@every
def test_a_message_sent_again_is_unflagged_once_permitted(kind: Any) -> None:
    stage = Stage(kind, 3, retransmit=True)
    stage.say(0, 1)
    stage.say(0, 2)
    assert stage.of_kind(Msg, 0, 2)[0].flagged
    stage.arrive(Msg, 0, 1)
    stage.arrive(Ack, 1, 0)
    stage.lose_all()
    stage.expire(0)
    assert [frame.flagged for frame in stage.of_kind(Msg, 0, 2)] == [False]


@every
def test_early_messages_are_bounded(kind: Any) -> None:
    stage = Stage(kind, 2, retransmit=True, early_max=2)
    for number in (3, 4, 5, 6):
        stage.hand(0, 1, Msg(0, number, number - 1, False, None))
    assert stage.machines[1].gauges()["out_of_order"] == 2


@every
def test_the_state_is_plain_data(kind: Any) -> None:
    stage = Stage(kind, 3)
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 1), (1, 0)):
        stage.say(i, j)
        stage.hand(*stage.flying.pop())
    for machine in stage.machines.values():
        copy = pickle.loads(pickle.dumps(machine))
        assert freeze(copy) == freeze(machine)
        hash(freeze(machine))


@pytest.mark.parametrize("kind", ALL)
def test_a_peer_at_rest_costs_little(kind: Any) -> None:
    """After a message each way, its ack and its permit: 600 bytes, the names not counted."""
    names = [f"peer{i}" for i in range(1_000)]
    # The interpreter keeps some of what is freed, once per process: of another hub, not of this one.
    _talk(kind("other"), names)
    hub = kind("hub")
    tracemalloc.start()
    _talk(hub, names)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not any(hub.gauges().values())
    assert hub.channels["peer0"].flight.smoothed == 2 * MILLISECOND
    assert hub.channels["peer0"].permits.smoothed == 3 * MILLISECOND
    assert size / len(names) < 600


def _talk(hub: Any, names: list[str]) -> None:
    """A message each way with each of them, its ack and its permit."""
    out = Recorder()
    for k, name in enumerate(names, 1):
        hub.receive(name, Msg(0, 1_000, 0, True, None), k * MILLISECOND, out)
        hub.receive(name, Permit(1_000), (k + 3) * MILLISECOND, out)
        hub.send((name,), None, k * MILLISECOND, out)
        hub.receive(name, Ack(k, 0), (k + 2) * MILLISECOND, out)
        out.sent.clear()
        out.delivered.clear()
