"""The PAK family's rules one by one: credit, acks, acceptance, stability, the queue, the timer, memory."""

import pickle
from typing import Any

import pytest

from aforesaid.core import MILLISECOND, Busy, MessageId, Misbehaviour, Misuse, freeze
from aforesaid.protocols.broadcast.pak import RESEND, Ack, Data, ModularVectors, Pak, Settled
from aforesaid.protocols.broadcast.pak.protocol import REMIND_TICKS
from support.harness import Recorder
from support.pak_stage import Stage

GROUP = ("a", "b", "c")


def alone(**options: Any) -> tuple[Pak, Recorder]:
    """Process a of a, b, c, without the others."""
    return Pak("a", GROUP, **options), Recorder()


def data(number: int, vector: tuple[int, int, int] = (0, 0, 0), k: int = 3, ack_wanted: bool = True) -> Data:
    return Data(number, ModularVectors(3, k).pack(vector), f"m{number}", ack_wanted)


def sent(out: Recorder, kind: type) -> list[tuple[str, Any]]:
    return [(target, message) for target, message in out.take_sent() if type(message) is kind]


# What is refused.


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"credit": 0}, "credit must be a whole number from 1 on, not 0"),
        ({"credit": 2.0}, r"credit must be a whole number from 1 on, not 2\.0"),
        ({"credit": True}, "credit must be a whole number"),
        (
            {"k": 2},
            r"k must be at least 2 \* credit \+ 1 = 3, not 2: an entry of a vector time may lie 1 above",
        ),
        ({"credit": 3, "k": 6}, r"k must be at least 2 \* credit \+ 1 = 7, not 6"),
        ({"credit": 3, "receiver_credit": 4}, "receiver_credit must be at most the credit, 3, not 4"),
        ({"receiver_credit": 0}, "receiver_credit must be a whole number from 1 on"),
        ({"resend_after": 0}, "resend_after must be"),
        ({"send_queue_max": -1}, "send_queue_max must be"),
        ({"burst_max": 0}, "burst_max must be"),
        ({"backoff_max": 0}, "backoff_max must be"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_reason(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        alone(**options)


def test_one_must_be_in_ones_own_group() -> None:
    with pytest.raises(Misuse, match="x is not in its own group: a, b, c"):
        Pak("x", GROUP)


def test_k_is_2ct_plus_1_unless_told() -> None:
    assert alone(credit=3)[0].queues.vectors.k == 7
    assert alone(credit=3, k=11)[0].queues.vectors.k == 11


@pytest.mark.parametrize(
    ("source", "frame", "reason"),
    [
        ("x", Ack(1, 0), "x is not in the group"),
        ("b", "hello", "b sent a str"),
        ("b", Ack(1, 0), "b acknowledges message 1, which was not sent yet"),
        ("b", data(1)._replace(vector=b"\xff"), "a vector time"),
    ],
)
def test_frames_no_correct_peer_sends_are_refused_and_change_nothing(
    source: str, frame: Any, reason: str
) -> None:
    pak, out = alone()
    before = freeze(pak)
    with pytest.raises(Misbehaviour, match=reason):
        pak.receive(source, frame, 0, out)
    assert freeze(pak) == before
    assert not out.sent


def test_the_host_is_told_of_its_mistakes() -> None:
    pak, out = alone()
    with pytest.raises(Misuse, match="no timer 'tea'"):
        pak.expire("tea", 0, out)
    with pytest.raises(Misuse, match="x is not in the group"):
        pak.peer_down("x", 0, out)


# Credit.


def test_pak_releases_one_message_at_a_time() -> None:
    stage = Stage("abc")
    stage.say("a", 3)
    assert stage.held() == {"queued": 2, "unacked": 1, "pending": 0, "kept": 0}
    assert stage.log("a") == ["a1"]
    stage.flow()
    assert stage.log("a") == stage.log("b") == stage.log("c") == ["a1", "a2", "a3"]
    assert stage.at_rest()


def test_with_credit_so_many_are_under_way_and_each_full_ack_lets_one_more_go() -> None:
    stage = Stage("abc", credit=3)
    stage.say("a", 5)
    assert stage.log("a") == ["a1", "a2", "a3"]
    stage.arrive("a>b")
    stage.arrive("a>c")
    stage.arrive("b>a", Ack)
    assert stage.log("a") == ["a1", "a2", "a3"], "c has not acknowledged a1 yet"
    stage.arrive("c>a", Ack)
    assert stage.log("a") == ["a1", "a2", "a3", "a4"]


def test_with_nak_only_every_ct_th_message_asks_for_an_ack_and_the_next_batch_waits_for_it() -> None:
    stage = Stage("abc", credit=3, nak=True)
    stage.say("a", 7)
    batch = [frame.message for frame in stage.flying if frame.target == "b"]
    assert [(frame.number, frame.ack_wanted) for frame in batch] == [(1, False), (2, False), (3, True)]
    for _ in range(2):
        stage.arrive("a>b")
        assert not [frame for frame in stage.flying if frame.source == "b"], "only the third is acked"
    stage.arrive("a>b")
    assert stage.arrive("b>a") == Ack(3, 0)
    assert stage.log("a") == ["a1", "a2", "a3"], "c has not acknowledged the batch yet"
    stage.flow(held=("b>a",), kind=Ack)
    assert stage.log("a") == [f"a{number}" for number in range(1, 7)], "b has not acknowledged a6 yet"
    stage.flow()
    assert stage.log("c") == [f"a{number}" for number in range(1, 8)]


def test_a_message_is_numbered_at_broadcast_and_stamped_at_release() -> None:
    pak, out = alone()
    assert [pak.broadcast(text, 0, out).number for text in "xyz"] == [1, 2, 3]
    pak.receive("b", data(1), 0, out)
    out.take_sent()
    pak.receive("b", Ack(1, 1), 0, out)
    pak.receive("c", Ack(1, 0), 0, out)
    (_, released), _ = sent(out, Data)
    assert released.number == 2
    assert ModularVectors(3, 3).unpack(released.vector) == (1, 1, 0), "b's message came between, and before"
    assert out.payloads == ["x", "m1", "y"]


def test_a_full_queue_is_busy_and_nothing_changes() -> None:
    pak, out = alone(send_queue_max=2)
    for text in "xyz":
        pak.broadcast(text, 0, out)
    before = freeze(pak)
    with pytest.raises(Busy, match="a has 2 messages waiting"):
        pak.broadcast("w", 0, out)
    assert freeze(pak) == before
    pak.receive("b", Ack(1, 0), 0, out)
    pak.receive("c", Ack(1, 0), 0, out)
    assert pak.broadcast("w", 0, out) == MessageId("a", 0, 4)


def test_without_a_queue_one_may_still_speak_within_credit() -> None:
    pak, out = alone(send_queue_max=0)
    pak.broadcast("x", 0, out)
    with pytest.raises(Busy):
        pak.broadcast("y", 0, out)


def test_alone_in_the_group_everything_is_stable_at_once() -> None:
    pak, out = Pak("a", ("a",), credit=2, nak=True), Recorder()
    for text in "xyz":
        pak.broadcast(text, 0, out)
    assert [message_id.number for message_id in out.stabilised] == [1, 2, 3]
    assert out.payloads == ["x", "y", "z"]
    assert not out.sent
    assert not out.timers
    assert not any(pak.gauges().values())


# Acknowledgments and stability.


def test_an_ack_takes_effect_only_when_what_it_vouches_for_is_accepted() -> None:
    pak, out = alone()
    pak.broadcast("x", 0, out)
    pak.receive("c", Ack(1, 0), 0, out)
    pak.receive("b", Ack(1, 2), 0, out)
    assert not out.stabilised, "b had released two messages before"
    pak.receive("b", data(1), 0, out)
    assert not out.stabilised
    pak.receive("b", data(2, (0, 1, 0)), 0, out)
    assert out.stabilised == [MessageId("a", 0, 1)]


@pytest.mark.parametrize("counts", [(1, 5), (5, 1)])
def test_of_two_acks_of_the_same_message_the_one_that_vouches_for_less_counts(
    counts: tuple[int, int],
) -> None:
    pak, out = alone()
    pak.broadcast("x", 0, out)
    pak.receive("c", Ack(1, 0), 0, out)
    for own_count in counts:
        pak.receive("b", Ack(1, own_count), 0, out)
    pak.receive("b", data(1), 0, out)
    assert out.stabilised == [MessageId("a", 0, 1)]


def test_messages_become_stable_once_each_and_in_order() -> None:
    pak, out = alone(credit=4)
    for text in "wxyz":
        pak.broadcast(text, 0, out)
    pak.receive("b", Ack(3, 0), 0, out)
    pak.receive("c", Ack(1, 0), 0, out)
    assert [stable.number for stable in out.stabilised] == [1]
    pak.receive("c", Ack(4, 0), 0, out)
    pak.receive("c", Ack(2, 0), 0, out)
    assert [stable.number for stable in out.stabilised] == [1, 2, 3]
    pak.receive("b", Ack(4, 0), 0, out)
    pak.receive("b", Ack(4, 0), 0, out)
    assert [stable.number for stable in out.stabilised] == [1, 2, 3, 4]


def test_acks_of_one_step_are_one_ack() -> None:
    pak, out = alone(credit=2)
    pak.receive("b", data(1, (0, 0, 1), k=5), 0, out)
    pak.receive("b", data(2, (0, 1, 1), k=5), 0, out)
    assert not out.sent, "both wait for c's first"
    pak.receive("c", data(1, k=5), 0, out)
    assert out.payloads == ["m1", "m1", "m2"]
    assert out.sent == [("c", Ack(1, 0)), ("b", Ack(2, 0))]


# Acceptance.


def test_a_message_that_comes_too_early_waits_for_those_before_it() -> None:
    pak, out = alone(credit=3)
    for number in (3, 2):
        pak.receive("b", data(number, (0, number - 1, 0), k=7), 0, out)
    assert not out.sent
    assert not out.payloads
    assert pak.gauges() == {"queued": 0, "unacked": 0, "pending": 2, "kept": 0}
    assert pak.queues.accepted == [0, 0, 0], "for acks that carry counts it is as if still on its way"
    pak.receive("b", data(1, k=7), 0, out)
    assert out.payloads == ["m1", "m2", "m3"]
    assert pak.gauges()["pending"] == 0


def test_of_two_early_copies_the_one_that_asks_for_an_ack_counts() -> None:
    for copies in ((True, False), (False, True)):
        pak, out = alone(credit=2, nak=True)
        for ack_wanted in copies:
            pak.receive("b", data(2, (0, 1, 0), k=5, ack_wanted=ack_wanted), 0, out)
        pak.receive("b", data(1, k=5, ack_wanted=False), 0, out)
        assert out.sent == [("b", Ack(2, 0))]


def test_what_no_peer_can_have_packed_is_refused_also_when_it_comes_early() -> None:
    pak, out = alone(credit=2)
    with pytest.raises(Misbehaviour, match="a vector time"):
        pak.receive("b", data(2, k=5)._replace(vector=b""), 0, out)
    assert pak.gauges()["pending"] == 0


def test_beyond_the_receiver_credit_it_is_discarded_silently() -> None:
    pak, out = alone(credit=3, receiver_credit=2)
    pak.receive("b", data(3, k=7), 0, out)
    assert not out.sent
    assert not any(pak.gauges().values())
    assert freeze(pak) == freeze(Pak("a", GROUP, credit=3, receiver_credit=2))


@pytest.mark.parametrize(("receiver_credit", "accepted"), [(1, 1), (2, 2), (None, 3)])
def test_no_more_than_the_receiver_credit_waits_for_delivery(receiver_credit: Any, accepted: int) -> None:
    pak, out = alone(credit=3, receiver_credit=receiver_credit)
    for number in (1, 2, 3):
        pak.receive("b", data(number, (0, number - 1, 1), k=7), 0, out)
    assert pak.gauges()["pending"] == accepted
    pak.receive("c", data(1, k=7), 0, out)
    assert len(out.payloads) == accepted + 1


def test_a_duplicate_is_acked_again_but_not_delivered_again() -> None:
    pak, out = alone()
    pak.receive("b", data(1), 0, out)
    out.take_sent()
    pak.receive("b", data(1), 0, out)
    assert out.sent == [("b", Ack(1, 0))]
    assert out.payloads == ["m1"]


def test_a_duplicate_that_asks_for_no_ack_gets_none() -> None:
    pak, out = alone(credit=2, nak=True)
    for _ in range(2):
        pak.receive("b", data(1, k=5, ack_wanted=False), 0, out)
    assert not out.sent


def test_what_came_without_asking_and_waits_is_acked_on_delivery_if_it_comes_again_and_asks() -> None:
    pak, out = alone(credit=2, nak=True)
    pak.receive("b", data(1, (0, 0, 1), k=5, ack_wanted=False), 0, out)
    pak.receive("b", data(1, (0, 0, 1), k=5, ack_wanted=True), 0, out)
    assert not out.sent
    pak.receive("c", data(1, k=5, ack_wanted=False), 0, out)
    assert out.sent == [("b", Ack(1, 0))]


def test_an_arrival_looks_only_at_the_heads_it_may_set_free() -> None:
    group = tuple(f"p{number:02}" for number in range(20))
    pak, out = Pak("p00", group, credit=1), Recorder()
    looked: list[int] = []
    first_missing = pak.queues.first_missing
    pak.queues.first_missing = lambda sender, vector: looked.append(sender) or first_missing(sender, vector)  # type: ignore[func-returns-value,method-assign]
    vectors = ModularVectors(20, 3)
    # Eight wait for p18's first message, nine for p19's.
    for sender in range(1, 18):
        waits_for = 18 if sender % 2 == 0 else 19
        vector = vectors.pack([int(entry == waits_for) for entry in range(20)])
        pak.receive(group[sender], Data(1, vector, sender, True), 0, out)
    looked.clear()
    pak.receive("p18", Data(1, vectors.pack([0] * 20), 18, True), 0, out)
    assert looked == [18, 2, 4, 6, 8, 10, 12, 14, 16]
    assert out.payloads == looked


# The timer.


def test_the_timer_is_armed_while_something_is_unacked_and_no_longer() -> None:
    stage = Stage("abc")
    stage.say("a")
    assert set(stage.sinks["a"].timers) == {RESEND}
    stage.flow()
    assert stage.at_rest()


def test_what_a_peer_has_not_acked_is_sent_again_to_that_peer() -> None:
    stage = Stage("abc")
    stage.say("a")
    stage.lose("a>c")
    stage.flow()
    stage.tick("a")
    assert [(frame.target, frame.message.number) for frame in stage.flying] == [("c", 1)]
    stage.flow()
    assert stage.log("c") == ["a1"]
    assert stage.at_rest()


def test_a_lost_ack_is_given_again() -> None:
    stage = Stage("ab")
    stage.say("a")
    stage.arrive("a>b")
    assert stage.lose("b>a") == 1
    stage.tick("a")
    stage.flow()
    assert stage.stable("a") == [1]
    assert stage.at_rest()


def test_what_waits_for_its_own_ack_only_is_not_sent_again() -> None:
    pak, out = alone()
    pak.broadcast("x", 0, out)
    pak.receive("c", Ack(1, 0), 0, out)
    pak.receive("b", Ack(1, 1), 0, out)
    out.take_sent()
    pak.expire(RESEND, 10**9, out)
    assert not out.sent, "b has delivered it; what is missing is b's own first message"


def test_no_more_than_a_burst_is_sent_again_oldest_first() -> None:
    pak, out = alone(credit=8, burst_max=3)
    for text in "vwxyz":
        pak.broadcast(text, 0, out)
    pak.expire(RESEND, 0, out)
    out.take_sent()
    pak.expire(RESEND, 0, out)
    assert [message.number for target, message in out.take_sent() if target == "b"] == [1, 2, 3]


def test_only_what_has_waited_a_whole_period_is_sent_again() -> None:
    pak, out = alone(credit=2)
    pak.broadcast("x", 0, out)
    pak.broadcast("y", 9, out)
    out.take_sent()
    pak.expire(RESEND, 10, out)
    assert [message.number for target, message in out.take_sent() if target == "b"] == [1]
    pak.expire(RESEND, 20, out)
    assert [message.number for target, message in out.take_sent() if target == "b"] == [1, 2]


def test_the_timer_backs_off_until_something_is_heard() -> None:
    pak, out = alone(resend_after=50 * MILLISECOND, backoff_max=8)
    pak.broadcast("x", 0, out)
    waits = [out.timers[RESEND] // MILLISECOND]
    now = 0
    for _ in range(5):
        now = out.timers.pop(RESEND)
        pak.expire(RESEND, now, out)
        waits.append((out.timers[RESEND] - now) // MILLISECOND)
    assert waits == [50, 100, 200, 400, 400, 400]
    pak.receive("b", Ack(1, 0), now + 7, out)
    assert out.timers[RESEND] == now + 7 + 50 * MILLISECOND, "c may be quick as well"


def test_an_unfinished_nak_batch_becomes_stable_by_the_timer() -> None:
    stage = Stage("abc", credit=3, nak=True)
    stage.say("a", 2)
    stage.flow()
    assert stage.log("c") == ["a1", "a2"]
    assert stage.stable("a") == []
    stage.tick("a")
    stage.flow()
    assert stage.stable("a") == [1, 2]
    assert stage.at_rest()
    stage.say("a", 2)
    assert stage.log("a") == ["a1", "a2", "a3"], "a4 is of the next batch"


# Memory.


def test_what_is_kept_is_forgotten_when_a_later_message_or_settled_tells_that_it_is_everywhere() -> None:
    pak, out = alone(credit=2)
    for number in (1, 2):
        pak.receive("b", data(number, k=5), 0, out)
    assert pak.gauges()["kept"] == 2
    pak.receive("b", data(3, k=5), 0, out)
    assert pak.gauges()["kept"] == 2, "the third was released when the first was stable"
    pak.receive("b", Settled(2), 0, out)
    assert pak.gauges()["kept"] == 1
    assert out.timers
    pak.receive("b", Settled(3), 0, out)
    assert not any(pak.gauges().values())
    assert not out.timers


def test_of_a_nak_sender_the_earlier_batches_are_known_to_be_everywhere() -> None:
    pak, out = alone(credit=2, nak=True)
    for number in (1, 2, 3):
        pak.receive("b", data(number, k=5), 0, out)
    assert pak.gauges()["kept"] == 1


def test_a_lost_settled_is_asked_for_by_acking_again() -> None:
    stage = Stage("abc")
    stage.say("a")
    stage.flow(held=("a>c",), kind=Settled)
    assert stage.lose("a>c") == 1
    for _ in range(REMIND_TICKS - 1):
        stage.tick()
        assert not stage.flying, "patience: it may be under way"
    stage.tick()
    assert stage.arrive("c>a") == Ack(1, 0)
    assert stage.arrive("a>c") == Settled(1)
    assert stage.at_rest()


def test_a_copy_made_by_pickle_goes_on_as_the_original() -> None:
    stage = Stage("abc", credit=2)
    stage.say("a", 3)
    stage.say("b", 2)
    stage.arrive("b>a")
    original = stage.machines["a"]
    copy = pickle.loads(pickle.dumps(original))
    assert freeze(copy) == freeze(original)
    sinks = Recorder(), Recorder()
    for machine, out in zip((original, copy), sinks, strict=True):
        machine.receive("b", data(2, (0, 1, 0), k=5), 5, out)
        machine.receive("b", Ack(2, 2), 6, out)
        machine.receive("c", Ack(1, 0), 7, out)
        machine.expire(RESEND, 8, out)
    assert sinks[0].sent == sinks[1].sent
    assert sinks[0].delivered == sinks[1].delivered
    assert freeze(copy) == freeze(original)
