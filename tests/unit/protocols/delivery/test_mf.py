"""MF step by step: one message at a time, loss, copies, a full queue, a peer that is down; its mutants."""

import pickle
from typing import Any

import pytest

from aforesaid.core import MILLISECOND, Busy, MessageId, Misbehaviour, Misuse, freeze
from aforesaid.protocols.catalog import algorithm
from aforesaid.protocols.delivery.mf import Ack, Data, Mf, Resend
from support.delivery_worlds import World, broken
from support.harness import Recorder

GROUP = ("a", "b", "c")


def data(node: str, said: int, number: int, payload: Any) -> Data:
    return Data(MessageId(node, 0, said), number, payload)


def test_one_message_at_a_time() -> None:
    """Section 3.2: "waiting for the acknowledgment ... before dequeuing and network-sending the next"."""
    node, out = Mf("a", GROUP), Recorder()
    for target, payload in (("b", 1), ("c", 2), ("b", 3)):
        node.send((target,), payload, 0, out)
    assert out.take_sent() == [("b", data("a", 1, 1, 1))]
    assert node.gauges() == {"queued": 2, "unacked": 1}
    node.receive("b", Ack(1), 0, out)
    assert out.take_sent() == [("c", data("a", 2, 1, 2))]
    node.receive("c", Ack(1), 0, out)
    assert out.take_sent() == [("b", data("a", 3, 2, 3))]
    node.receive("b", Ack(2), 0, out)
    assert node.gauges() == {"queued": 0, "unacked": 0}
    assert (out.sent, out.timers) == ([], {})


def test_what_comes_is_delivered_and_acknowledged_at_once() -> None:
    node, out = Mf("b", GROUP), Recorder()
    node.receive("a", data("a", 5, 1, "x"), 0, out)
    assert out.delivered == [(MessageId("a", 0, 5), "x")]
    assert out.take_sent() == [("a", Ack(1))]


def test_a_copy_is_acknowledged_and_not_delivered() -> None:
    """The first acknowledgment may be lost; a copy may come after the next message."""
    node, out = Mf("b", GROUP), Recorder()
    for number in (1, 1, 2, 1):
        node.receive("a", data("a", number, number, number), 0, out)
    assert out.payloads == [1, 2]
    assert out.take_sent() == [("a", Ack(number)) for number in (1, 1, 2, 1)]


def test_a_stray_ack_releases_nothing() -> None:
    node, out = Mf("a", GROUP), Recorder()
    node.receive("b", Ack(1), 0, out)
    node.send(("b",), 1, 0, out)
    node.send(("b",), 2, 0, out)
    node.receive("c", Ack(1), 0, out)
    node.receive("b", Ack(1), 0, out)
    node.receive("b", Ack(1), 0, out)
    assert [frame.payload for _, frame in out.sent] == [1, 2]
    assert node.gauges() == {"queued": 0, "unacked": 1}


def test_what_is_not_acknowledged_is_sent_again_ever_more_slowly() -> None:
    node, out = Mf("a", GROUP, resend_after=10 * MILLISECOND, backoff_max=4), Recorder()
    node.send(("b",), "x", 0, out)
    waits, now = [], 0
    for _ in range(5):
        waits.append((out.timers[Resend()] - now) // MILLISECOND)
        now = out.timers.pop(Resend())
        node.expire(Resend(), now, out)
    assert waits == [10, 20, 40, 40, 40]
    assert out.take_sent() == [("b", data("a", 1, 1, "x"))] * 6
    node.receive("b", Ack(1), now, out)
    assert out.timers == {}
    node.expire(Resend(), now, out)
    assert (out.sent, out.timers) == ([], {})
    node.send(("b",), "y", now, out)
    assert out.timers == {Resend(): now + 10 * MILLISECOND}


def test_to_oneself_is_delivered_at_once_and_not_queued() -> None:
    node, out = Mf("a", GROUP, send_queue_max=0), Recorder()
    assert node.send(("b", "a"), 1, 0, out) == MessageId("a", 0, 1)
    assert node.send(("a",), 2, 0, out) == MessageId("a", 0, 2)
    assert node.send((), 3, 0, out) == MessageId("a", 0, 3)
    assert out.payloads == [1, 2]
    assert out.take_sent() == [("b", data("a", 1, 1, 1))]


def test_a_full_queue_refuses_and_changes_nothing() -> None:
    node, out = Mf("a", GROUP, send_queue_max=2), Recorder()
    for number in range(3):
        node.send(("b",), number, 0, out)
    before = freeze(node)
    with pytest.raises(Busy, match="2 messages waiting"):
        node.send(("a", "c"), "more", 0, out)
    assert freeze(node) == before
    assert out.delivered == []
    node.receive("b", Ack(1), 0, out)
    assert node.send(("c",), "now", 0, out) == MessageId("a", 0, 4)


def test_what_is_owed_to_a_peer_that_is_down_is_given_up() -> None:
    node, out = Mf("a", GROUP), Recorder()
    for target, payload in (("b", 1), ("b", 2), ("c", 3), ("b", 4)):
        node.send((target,), payload, 0, out)
    node.peer_down("b", 0, out)
    node.receive("c", Ack(1), 0, out)
    assert [frame.payload for _, frame in out.sent] == [1, 3]
    assert node.gauges() == {"queued": 0, "unacked": 0}
    assert out.timers == {}
    node.peer_up("b", 0, out)
    node.send(("b",), 5, 0, out)
    assert [frame.payload for _, frame in out.sent] == [1, 3, 5]


def test_misuse_and_misbehaviour_are_refused() -> None:
    node, out = Mf("a", GROUP), Recorder()
    with pytest.raises(Misuse, match="x is not in its own group: a, b, c"):
        Mf("x", GROUP)
    for option, value in (
        ("resend_ms", 0),
        ("backoff_max", 0),
        ("send_queue_max", -1),
        ("backoff_max", 1.5),
    ):
        with pytest.raises(Misuse, match=option):
            algorithm("mf").validate({option: value})
    with pytest.raises(Misuse, match="MF is unicast: one target besides a, not c, b"):
        node.send(("c", "a", "b"), 1, 0, out)
    with pytest.raises(Misuse, match="x is not in the group"):
        node.send(("x",), 1, 0, out)
    with pytest.raises(Misbehaviour, match="x is not in the group"):
        node.receive("x", Ack(1), 0, out)
    with pytest.raises(Misbehaviour, match="int, which is no frame"):
        node.receive("b", 7, 0, out)
    assert freeze(node) == freeze(Mf("a", GROUP))
    assert (out.sent, out.delivered) == ([], [])


def test_state_is_plain_and_messages_are_values() -> None:
    node, out = Mf("a", GROUP, 3), Recorder()
    node.send(("b",), "x", 0, out)
    node.send(("c",), "y", 0, out)
    ((_, frame),) = out.take_sent()
    assert frame.message_id == MessageId("a", 3, 1)
    assert hash(frame) == hash(pickle.loads(pickle.dumps(frame)))
    copy = pickle.loads(pickle.dumps(node))
    assert freeze(copy) == freeze(node)
    copy.receive("b", Ack(1), 0, out)
    assert freeze(copy) != freeze(node)


class Impatient(Mf):
    """Does not wait for the acknowledgment: each message is sent at once."""

    def _release(self, now: int, out: Any) -> None:
        self.unacked = None
        super()._release(now, out)


class Forgetful(Mf):
    """Does not number what it delivers: a copy is as good as the message."""

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        if type(message) is Data:
            self.delivered[source] = message.number - 1
        super().receive(source, message, now, out)


class Untimed(Mf):
    """Sends nothing again."""

    def expire(self, timer: Any, now: int, out: Any) -> None: ...


def test_mutant_impatient_breaks_causal_order() -> None:
    verdicts = broken(Impatient, World(processes=3), seeds=20)
    assert len(verdicts) > 10


def test_mutant_forgetful_delivers_twice() -> None:
    verdicts = broken(Forgetful, World(copies=0.2), seeds=20)
    assert all("twice" in faults[0] for faults in verdicts)
    assert len(verdicts) == 20


def test_mutant_untimed_loses_messages() -> None:
    """With its timer MF tolerates loss (table 1, network failures "any"); without, it stands still."""
    verdicts = broken(Untimed, World(losses=0.2), seeds=20)
    assert all("never delivered" in fault for faults in verdicts for fault in faults)
    assert len(verdicts) == 20
