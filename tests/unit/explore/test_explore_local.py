"""One process: calls into protocol objects, pictures of them, and the graph of local states."""

from typing import Any, NamedTuple

import pytest

from aforesaid.core import MessageId, Misuse, freeze
from aforesaid.explore import Scope, explore
from aforesaid.explore.local import EXPIRE, RECEIVE, SPEAK, SUSPECT, LocalGraph
from aforesaid.explore.performance import Input, Told, identified, perform
from aforesaid.explore.picture import differing
from aforesaid.explore.scope import Cast
from aforesaid.protocols.catalog import algorithm
from aforesaid.structures import Received
from support.idle import Idle

CAST = Cast(Scope(processes=2, messages=2))


class Toy(Idle):
    """Does as it is told, by a list of calls to make."""

    def __init__(self, *calls: Any) -> None:
        self.calls = calls
        self.seen: dict[str, int] = {}

    def broadcast(self, payload: str, now: int, out: Any) -> MessageId:
        self._do(out)
        return MessageId("p0", 0, 1)

    def receive(self, source: str, message: Any, now: int, out: Any) -> None:
        self._do(out)

    def expire(self, timer: Any, now: int, out: Any) -> None:
        self._do(out)

    def peer_down(self, peer: str, now: int, out: Any) -> None:
        self._do(out)

    def _do(self, out: Any) -> None:
        for name, *arguments in self.calls:
            getattr(out, name)(*arguments)


class Chooser(Toy):
    def _do(self, out: Any) -> None:
        first = out.choose("first", 2)
        second = out.choose("second", 3) if first else 0
        self.seen = {"chosen": 10 * first + second}


class Coin(Toy):
    def broadcast(self, payload: str, now: int, out: Any) -> MessageId:
        for _ in range(1 + out.choose("copies", 2)):
            out.deliver(MessageId("p0", 0, 1), payload)
        return MessageId("p0", 0, 1)


class Tick(NamedTuple):
    peer: str


class Tock(NamedTuple):
    peer: str


def graph_of(machine: Any) -> LocalGraph:
    return LocalGraph(CAST, lambda setup: machine)


class TestCalls:
    def test_what_is_raised_is_a_failure(self) -> None:
        deed = perform(CAST, "p0", Toy(("no_such_thing",)), Input("receive", "p1", ()))
        assert deed.failure.startswith("the protocol of p0 raised AttributeError")

    def test_nobody_sends_to_itself_or_to_a_stranger(self) -> None:
        for target in ("p0", "p7"):
            deed = perform(CAST, "p0", Toy(("send", [target], (1, 2))), Input("receive", "p1", ()))
            assert deed.failure == f"p0 sent (1, 2) to {target}"

    def test_a_message_has_the_next_number(self) -> None:
        assert not perform(CAST, "p0", Toy(), Input("speak", what=0)).failure
        deed = perform(CAST, "p0", Toy(), Input("speak", what=1))
        assert deed.failure == "p0 called its message p0#1, where p0#2 was next"

    def test_a_delivery_is_known_by_what_was_said(self) -> None:
        first, second = CAST.message_ids[:2]
        assert identified(CAST, "p1", Told(first, "p0#1")) == (0, "")
        assert identified(CAST, "p1", Told(first, "p0#2")) == (1, "p1 delivered p0#2 under the name p0#1")
        assert identified(CAST, "p1", Told(second, None))[0] == -1
        assert identified(CAST, "p1", Told(MessageId("p9", 0, 1), "x")) == (-1, "")
        assert identified(CAST, "p1", Told(second, stable=True)) == (1, "")


class TestPictures:
    def test_order_counts_where_it_is_said_to(self) -> None:
        one, other = Toy(), Toy()
        one.seen, other.seen = {"a": 1, "b": 2}, {"b": 2, "a": 1}
        assert freeze(one, frozenset()) == freeze(other, frozenset())
        assert freeze(one, {"Toy.seen"}) != freeze(other, {"Toy.seen"})
        assert freeze(one, {"Toy.calls"}) == freeze(other, {"Toy.calls"})
        assert freeze(one, frozenset(), in_order=True) != freeze(other, frozenset(), in_order=True)
        assert list(differing(one, other)) == ["Toy.seen"]
        assert list(differing(Toy(one), Toy(other))) == ["Toy.calls"]

    def test_order_does_not_count_in_what_paints_itself(self) -> None:
        one, other = Received(), Received()
        for origin in ("a", "b"):
            one.add(origin, 1)
        for origin in ("b", "a"):
            other.add(origin, 1)
        assert freeze(one, frozenset(), in_order=True) == freeze(other, frozenset(), in_order=True)

    def test_everything_else_counts(self) -> None:
        pictures = {
            freeze(value, frozenset())
            for value in (1, (1,), [1], {1}, {1: 1}, Toy(), Toy(1), "1", b"1", None, Received())
        }
        assert len(pictures) == 11


class TestGraph:
    def test_every_choice_is_taken(self) -> None:
        graph = graph_of(Chooser())
        steps = graph.step(graph.start(0), SUSPECT, 1)
        assert [step.choices for step in steps] == [(0,), (1, 0), (1, 1), (1, 2)]
        assert len({step.after for step in steps}) == 4

    def test_equal_states_have_one_number(self) -> None:
        graph = LocalGraph(CAST, algorithm("waiting").build)
        start = graph.start(0)
        assert graph.start(0) == start
        assert graph.start(1) != start
        (step,) = graph.step(start, SPEAK, 0)
        assert graph.step(start, SPEAK, 0)[0] is step
        assert step.after != start
        assert step.deliveries == ((0, 0),)
        assert graph.rows[step.after].pasts == (0,)
        (again,) = graph.step(step.after, SPEAK, 0)
        assert graph.rows[again.after].pasts == (0b00, 0b01)
        assert not graph.may_speak(again.after)

    def test_frames_of_different_kinds_are_different_frames(self) -> None:
        graph = graph_of(Toy(("send", ["p1"], (1, 2)), ("send", ["p1"], MessageId("a", 0, 1))))
        (step,) = graph.step(graph.start(0), SUSPECT, 1)
        assert len(set(step.sent)) == 2
        (same,) = graph.step(step.after, SUSPECT, 1)
        assert same.sent == step.sent

    def test_timers_are_part_of_the_state(self) -> None:
        graph = graph_of(Toy(("arm", "bell", 5)))
        (armed,) = graph.step(graph.start(0), SUSPECT, 1)
        assert graph.rows[armed.after].armed == {0}
        (rearmed,) = graph.step(armed.after, EXPIRE, 0)
        assert rearmed.after == armed.after
        graph = graph_of(Toy(("arm", "bell", 5), ("disarm", "bell")))
        (disarmed,) = graph.step(graph.start(0), SUSPECT, 1)
        assert graph.rows[disarmed.after].armed == frozenset()

    def test_a_no_op_changes_nothing_and_asks_for_nothing(self) -> None:
        graph = LocalGraph(CAST, algorithm("waiting").build)
        (said,) = graph.step(graph.start(0), SPEAK, 0)
        (frame,) = said.sent
        start = graph.start(1)
        assert not graph.is_no_op(start, frame)
        (heard,) = graph.step(start, RECEIVE, frame)
        assert graph.is_no_op(heard.after, frame)
        assert graph.is_no_op(graph.crashed(start), frame)

    def test_calling_stable_tells_whether_it_is_new_and_delivered(self) -> None:
        stable, deliver = ("stable", CAST.message_ids[0]), ("deliver", CAST.message_ids[0], "p0#1")
        graph = graph_of(Toy(stable, deliver, stable, stable))
        (step,) = graph.step(graph.start(0), SUSPECT, 1)
        assert step.stable_calls == ((0, False), (0, False), (0, False))
        graph = graph_of(Toy(deliver, stable, stable))
        (step,) = graph.step(graph.start(0), SUSPECT, 1)
        assert step.stable_calls == ((0, True), (0, False))


def test_a_protocol_may_let_the_host_choose() -> None:
    """A delivery that depends on a coin is found on the side of the coin that breaks the promise."""
    found = explore(lambda setup: Coin(), Scope(processes=1, messages=1))
    assert found.violation is not None
    assert found.violation.properties == ("no_duplicate",)
    assert str(found.violation.steps[0]) == "p0 broadcasts p0#1 (choosing 1)"


def test_timers_of_two_kinds_that_are_equal_are_refused() -> None:
    """A host would let one replace the other, and disarm both at once."""
    graph = graph_of(Toy(("arm", Tick("p1"), 5), ("disarm", Tock("p1"))))
    with pytest.raises(Misuse, match="of another kind is equal to Tock"):
        graph.step(graph.start(0), SPEAK, 0)
