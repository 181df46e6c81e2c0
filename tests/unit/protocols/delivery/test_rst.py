"""RST step by step, its cost, and what breaks when one of its rules is changed."""

import pickle
from typing import Any

import pytest

from aforesaid.core import MessageId, Misbehaviour, Misuse, freeze
from aforesaid.protocols.delivery.rst import Rst, Stamped
from support.delivery_worlds import World, broken
from support.harness import Recorder

GROUP = ("a", "b", "c")


def said(node: Rst, targets: str, payload: Any = None) -> Stamped:
    """What a process sends; one frame for the whole audience."""
    out = Recorder()
    node.send(tuple(targets), payload or targets, 0, out)
    assert [target for target, _ in out.sent] == sorted(targets)
    (message,) = {message for _, message in out.sent}
    assert isinstance(message, Stamped)
    return message


def test_the_matrix_is_attached_before_the_message_is_counted() -> None:
    """Algorithms, section 7: "attach SENT before counting m"."""
    node = Rst("b", GROUP)
    assert said(node, "c") == Stamped(MessageId("b", 0, 1), (2,), (0,) * 9, "c")
    assert said(node, "ac").matrix == (0, 0, 0, 0, 0, 1, 0, 0, 0)
    assert node.sent == [0, 0, 0, 1, 0, 2, 0, 0, 0]


def test_a_message_waits_for_its_past() -> None:
    a, b, c, out = Rst("a", GROUP), Rst("b", GROUP), Rst("c", GROUP), Recorder()
    first, second = said(a, "c", "first"), said(a, "b", "second")
    b.receive("a", second, 0, Recorder())
    third = said(b, "c", "third")
    c.receive("b", third, 0, out)
    assert out.payloads == []
    assert c.gauges() == {"pending": 1}
    c.receive("a", first, 0, out)
    assert out.payloads == ["first", "third"]
    assert c.gauges() == {"pending": 0}


def test_a_link_is_put_in_order() -> None:
    a, b, out = Rst("a", GROUP), Rst("b", GROUP), Recorder()
    messages = [said(a, "b", number) for number in range(1, 6)]
    for message in reversed(messages):
        b.receive("a", message, 0, out)
    assert out.payloads == [1, 2, 3, 4, 5]


def test_duplicates_are_dropped_whether_they_wait_or_were_delivered() -> None:
    a, b, out = Rst("a", GROUP), Rst("b", GROUP), Recorder()
    first, second = said(a, "b", 1), said(a, "b", 2)
    for message in (second, second, first, first, second):
        b.receive("a", message, 0, out)
    assert out.payloads == [1, 2]
    assert b.gauges() == {"pending": 0}


def test_to_oneself_is_delivered_at_once_and_not_counted() -> None:
    node, out = Rst("a", GROUP), Recorder()
    assert node.send(("a",), "note", 0, out) == MessageId("a", 0, 1)
    assert node.send(("b", "a", "b"), "both", 0, out) == MessageId("a", 0, 2)
    assert node.send((), "nobody", 0, out) == MessageId("a", 0, 3)
    assert out.payloads == ["note", "both"]
    assert [target for target, _ in out.sent] == ["b"]
    assert sum(node.sent) == 1


def test_what_waits_is_looked_at_only_when_what_it_misses_comes() -> None:
    """One pass over its column per message in all, however many arrive meanwhile."""
    looks: list[int] = []

    class Counting(Rst):
        def _first_missing(self, matrix: tuple[int, ...], row: int) -> tuple[int, int]:
            looks.append(row)
            return super()._first_missing(matrix, row)

    a, b, c, d, out = (*(Rst(name, "abcd") for name in "abc"), Counting("d", "abcd"), Recorder())
    lost = said(a, "d", "lost")
    b.receive("a", said(a, "b"), 0, Recorder())
    for number in range(1, 101):
        d.receive("b", said(b, "d", number), 0, out)
    for number in range(1, 101):
        d.receive("c", said(c, "d", number), 0, out)
    assert len(looks) == 200
    assert len(out.payloads) == 100
    d.receive("a", lost, 0, out)
    assert out.payloads[100:] == ["lost", *range(1, 101)]
    assert len(looks) == 200 + 1 + 100


def test_misuse_and_misbehaviour_are_refused() -> None:
    node, out = Rst("a", GROUP), Recorder()
    with pytest.raises(Misuse, match="x is not in its own group: a, b, c"):
        Rst("x", GROUP)
    with pytest.raises(Misuse, match="x is not in the group"):
        node.send(("b", "x"), 1, 0, out)
    with pytest.raises(Misuse, match="no timers"):
        node.expire("late", 0, out)
    with pytest.raises(Misbehaviour, match="x is not in the group"):
        node.receive("x", Stamped(MessageId("x", 0, 1), (0,), (0,) * 9, 1), 0, out)
    for audience, size in (((0,), 4), ((1,), 9), ((0, 3), 9), ((-1, 0), 9)):
        with pytest.raises(Misbehaviour, match="no process of a group of 3"):
            node.receive("b", Stamped(MessageId("b", 0, 1), audience, (0,) * size, 1), 0, out)
    for message in ("hello", Stamped(MessageId("b", 0, 1), (0,), (-1,) * 9, 1)):
        with pytest.raises(Misbehaviour, match="no process of a group of 3"):
            node.receive("b", message, 0, out)
    node.peer_up("b", 0, out)
    node.peer_down("b", 0, out)
    assert freeze(node) == freeze(Rst("a", GROUP))
    assert (out.sent, out.delivered) == ([], [])


def test_state_is_plain_and_messages_are_values() -> None:
    a, b = Rst("a", GROUP, 3), Rst("b", GROUP)
    said(a, "b")
    late = said(a, "bc")
    b.receive("a", late, 0, Recorder())
    assert late.message_id == MessageId("a", 3, 2)
    assert hash(late) == hash(pickle.loads(pickle.dumps(late)))
    copy = pickle.loads(pickle.dumps(b))
    assert freeze(copy) == freeze(b)
    said(b, "c")
    assert freeze(copy) != freeze(b)


class CountedFirst(Rst):
    """The matrix is attached after the message was counted (docs/corrections.md, B1)."""

    def _stamp(self, audience: tuple[int, ...]) -> tuple[int, ...]:
        super()._stamp(audience)
        return tuple(self.sent)


class ForItselfOnly(Rst):
    """The rule as printed for unicast: a receiver counts the message for itself, not for its audience."""

    def _learn(self, sender: int, message: Stamped) -> None:
        super()._learn(sender, message._replace(audience=(self.own,)))


def test_mutant_counted_first_waits_for_itself() -> None:
    """No message to another process is ever delivered: each asks for itself to be delivered before."""
    verdicts = broken(CountedFirst, World())
    assert len(verdicts) == 60
    assert all("never delivered" in fault for faults in verdicts for fault in faults)


def test_mutant_for_itself_only_breaks_multicast_but_not_unicast() -> None:
    assert broken(ForItselfOnly, World()) == []
    verdicts = broken(ForItselfOnly, World(multicast=True))
    assert len(verdicts) > 15
    assert all(any("was said before it" in fault for fault in faults) for faults in verdicts)
