"""Cykas rule by rule (Almeida (2026), section 4.3), and what breaks without one of them."""

import pickle
from typing import Any

import pytest

from aforesaid.core import Busy, MessageId, Misbehaviour, Misuse, freeze
from aforesaid.protocols.catalog import algorithm
from aforesaid.protocols.delivery.cykas import Ack, Cykas, Data, YouCanTell
from support.delivery_worlds import World, broken
from support.harness import Recorder

GROUP = ("a", "b", "c", "d")


def frames(out: Recorder) -> list[tuple[str, Any]]:
    """What was sent since the last call, in short: a Data as its payload, with * if it is eager."""
    return [
        (target, f"{frame.payload}{'*' * frame.eager}" if type(frame) is Data else type(frame).__name__)
        for target, frame in out.take_sent()
    ]


def secret(number: int = 1) -> Data:
    return Data(MessageId("d", 0, number), True, f"secret {number}")


def test_what_comes_is_delivered_and_acknowledged_at_once() -> None:
    """Rule 1: "no receive-buffer"."""
    node, out = Cykas("a", GROUP), Recorder()
    node.receive("d", secret(), 0, out)
    assert out.delivered == [(MessageId("d", 0, 1), "secret 1")]
    assert frames(out) == [("d", "Ack")]


def test_one_message_per_target_on_its_way_and_the_queue_blocks_at_its_head() -> None:
    """Rules 1 and 2: c's message waits behind b's second, though nothing is on its way to c."""
    node, out = Cykas("a", GROUP), Recorder()
    for target, payload in (("b", 1), ("b", 2), ("c", 3)):
        node.send((target,), payload, 0, out)
    assert frames(out) == [("b", "1")]
    node.receive("b", Ack(), 0, out)
    assert frames(out) == [("b", "2"), ("c", "3*")]
    assert node.gauges() == {"queued": 0, "window": 2, "secrets": 0}


def test_a_message_is_eager_while_an_earlier_one_is_unacknowledged() -> None:
    """Rules 3 and 7: YCT follows "when all messages it sent before m have been acked", m itself or not."""
    node, out = Cykas("a", GROUP), Recorder()
    for target in "bcd":
        node.send((target,), target, 0, out)
    assert frames(out) == [("b", "b"), ("c", "c*"), ("d", "d*")]
    node.receive("c", Ack(), 0, out)
    assert frames(out) == []
    node.receive("b", Ack(), 0, out)
    assert frames(out) == [("c", "YouCanTell"), ("d", "YouCanTell")]
    node.send(("b",), "b", 0, out)
    assert frames(out) == [("b", "b*")]
    node.receive("d", Ack(), 0, out)
    assert frames(out) == [("b", "YouCanTell")]
    node.receive("b", Ack(), 0, out)
    node.send(("b",), "b", 0, out)
    assert frames(out) == [("b", "b")]


def test_a_secret_keeps_the_queue_shut() -> None:
    """Rules 4, 5, 6 and 8."""
    node, out = Cykas("a", GROUP), Recorder()
    node.receive("d", secret(1), 0, out)
    node.send(("b",), 1, 0, out)
    node.receive("c", secret(2), 0, out)
    node.receive("d", YouCanTell(), 0, out)
    assert node.gauges() == {"queued": 1, "window": 0, "secrets": 1}
    assert frames(out) == [("d", "Ack"), ("c", "Ack")]
    node.receive("c", YouCanTell(), 0, out)
    assert frames(out) == [("b", "1")]


def test_a_normal_message_is_no_secret() -> None:
    node, out = Cykas("a", GROUP), Recorder()
    node.receive("d", secret()._replace(eager=False), 0, out)
    node.send(("b",), 1, 0, out)
    assert frames(out) == [("d", "Ack"), ("b", "1")]


def test_to_oneself_is_delivered_at_once_even_with_a_secret() -> None:
    node, out = Cykas("a", GROUP), Recorder()
    node.receive("d", secret(), 0, out)
    assert node.send(("a",), "note", 0, out) == MessageId("a", 0, 1)
    assert node.send(("b", "a"), "both", 0, out) == MessageId("a", 0, 2)
    assert node.send((), "nobody", 0, out) == MessageId("a", 0, 3)
    assert out.payloads == ["secret 1", "note", "both"]
    assert node.gauges()["queued"] == 1


def test_a_full_queue_refuses_and_changes_nothing() -> None:
    node, out = Cykas("a", GROUP, send_queue_max=1), Recorder()
    node.send(("b",), 1, 0, out)
    node.send(("b",), 2, 0, out)
    before = freeze(node)
    with pytest.raises(Busy, match="1 messages waiting"):
        node.send(("a", "c"), 3, 0, out)
    assert freeze(node) == before
    assert out.delivered == []
    node.receive("b", Ack(), 0, out)
    assert node.send(("c",), 3, 0, out) == MessageId("a", 0, 3)


def test_misuse_and_misbehaviour_are_refused() -> None:
    node, out = Cykas("a", GROUP), Recorder()
    with pytest.raises(Misuse, match="x is not in its own group: a, b, c, d"):
        Cykas("x", GROUP)
    with pytest.raises(Misuse, match="send_queue_max"):
        algorithm("cykas").validate({"send_queue_max": 0})
    with pytest.raises(Misuse, match="Cykas is unicast: one target besides a, not c, b"):
        node.send(("c", "a", "b"), 1, 0, out)
    with pytest.raises(Misuse, match="x is not in the group"):
        node.send(("x",), 1, 0, out)
    with pytest.raises(Misuse, match="no timers"):
        node.expire("late", 0, out)
    with pytest.raises(Misbehaviour, match="x is not in the group"):
        node.receive("x", Ack(), 0, out)
    with pytest.raises(Misbehaviour, match="none is on its way"):
        node.receive("b", Ack(), 0, out)
    with pytest.raises(Misbehaviour, match="int, which is no frame"):
        node.receive("b", 7, 0, out)
    node.peer_up("b", 0, out)
    node.peer_down("b", 0, out)
    assert freeze(node) == freeze(Cykas("a", GROUP))
    assert (out.sent, out.delivered) == ([], [])


def test_state_is_plain_and_messages_are_values() -> None:
    node, out = Cykas("a", GROUP, 3), Recorder()
    for target in "bcb":
        node.send((target,), target, 0, out)
    (_, frame), _ = out.take_sent()
    assert frame.message_id == MessageId("a", 3, 1)
    assert hash(frame) == hash(pickle.loads(pickle.dumps(frame)))
    copy = pickle.loads(pickle.dumps(node))
    assert freeze(copy) == freeze(node)
    copy.receive("c", Ack(), 0, out)
    assert freeze(copy) != freeze(node)


class Passing(Cykas):
    """A message that rule 2 holds up is passed by those behind it: another reading of rules 1 and 2."""

    def _release(self, out: Any) -> None:
        blocked: list[Any] = []
        while self.queue and self.mode <= 0:
            super()._release(out)
            if self.queue:
                blocked.append(self.queue.popleft())
                # Those to one target keep their order.
                passed = [item for item in self.queue if item.target == blocked[-1].target]
                blocked += passed
                for item in passed:
                    self.queue.remove(item)
        self.queue.extendleft(reversed(blocked))


class Telling(Cykas):
    """Keeps no secrets: rule 6 is left out."""

    def _release(self, out: Any) -> None:
        secrets, self.mode = self.mode, 0
        super()._release(out)
        self.mode = secrets


@pytest.mark.parametrize("mutant", [Passing, Telling])
def test_mutants_break_causal_order(mutant: Any) -> None:
    """Algorithms, section 7: "other readings deadlock or break causal order"; rule 6."""
    verdicts = broken(mutant, World(fifo=True, processes=5, messages=60))
    assert len(verdicts) > 10
    assert all("was said before it" in faults[0] for faults in verdicts)


def test_without_fifo_links_causal_order_breaks() -> None:
    """Table 1 says order "any"; but MODE cannot tell which message's YCT came (docs/corrections.md, B2)."""
    assert broken(Cykas, World(fifo=True, processes=8, messages=60), seeds=120) == []
    verdicts = broken(Cykas, World(processes=8, messages=60), seeds=120)
    assert len(verdicts) > 8
    assert all("was said before it" in faults[0] for faults in verdicts)
