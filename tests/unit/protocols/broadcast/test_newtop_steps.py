"""Newtop, step by step: who waits for whom, when a Null is sent, and what a Flush does."""

import pickle
import random
from typing import Any

import pytest

from aforesaid.core import MILLISECOND, MessageId, Misuse, freeze
from aforesaid.protocols.broadcast.newtop import NEVER, Data, End, Floor, Flush, Newtop, Null, Silence
from aforesaid.protocols.catalog import algorithm
from support.harness import Recorder

GROUP = ("a", "b", "c")


def message(origin: str, number: int, clock: int, received: int = 0) -> Data:
    return Data(MessageId(origin, 0, number), clock, received, f"{origin}{number}")


class Lab:
    """Some processes and the frames between them, moved by hand."""

    def __init__(self, names: str = "abc", **options: Any) -> None:
        self.nodes = {name: Newtop(name, tuple(names), **options) for name in names}
        self.outs = {name: Recorder() for name in names}
        self.now = 0

    def say(self, name: str, payload: Any) -> MessageId:
        return self.nodes[name].broadcast(payload, self.now, self.outs[name])

    def carry(self) -> int:
        """Deliver every frame sent so far; returns how many there were."""
        flying = [(name, frame) for name in self.nodes for frame in self.outs[name].take_sent()]
        for source, (target, frame) in flying:
            self.nodes[target].receive(source, frame, self.now, self.outs[target])
        return len(flying)

    def drain(self) -> int:
        """Carry frames and fire timers until nothing is left; returns how many timers fired."""
        fired = 0
        while True:
            while self.carry():
                pass
            due = [name for name in self.nodes if self.outs[name].timers]
            if not due:
                return fired
            for name in due:
                (timer,) = self.outs[name].timers
                del self.outs[name].timers[timer]
                self.nodes[name].expire(timer, self.now, self.outs[name])
                fired += 1


def test_a_message_waits_until_everyone_was_heard() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.receive("b", message("b", 1, 1), 0, out)
    assert out.payloads == []
    node.receive("c", Null(1, 0), 0, out)
    assert out.payloads == ["b1"]


def test_own_messages_wait_like_all_others() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.broadcast("a1", 0, out)
    assert out.sent == [(peer, Data(MessageId("a", 0, 1), 1, 0, "a1")) for peer in ("b", "c")]
    node.receive("b", Null(2, 0), 0, out)
    assert out.payloads == []
    node.receive("c", Null(2, 0), 0, out)
    assert out.payloads == ["a1"]


def test_delivery_is_by_clock_and_then_by_origin() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.receive("c", message("c", 1, 1), 0, out)
    node.receive("c", message("c", 2, 3), 0, out)
    node.receive("b", message("b", 1, 1), 0, out)
    assert out.payloads == ["b1", "c1"]
    node.receive("b", message("b", 2, 2), 0, out)
    node.receive("b", message("b", 3, 3), 0, out)
    assert out.payloads == ["b1", "c1", "b2", "b3", "c2"]


def test_the_clock_passes_what_was_heard() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.receive("b", message("b", 1, 7), 0, out)
    node.receive("c", Null(9, 0), 0, out)
    node.broadcast("a1", 0, out)
    assert out.sent[0] == ("b", Data(MessageId("a", 0, 1), 10, 7, "a1"))


def test_silence_with_news_ends_in_a_null() -> None:
    node, out = Newtop("a", GROUP, idle_ms=3), Recorder()
    node.receive("b", message("b", 1, 1), 5 * MILLISECOND, out)
    assert out.timers == {Silence(): 8 * MILLISECOND}
    node.expire(Silence(), 8 * MILLISECOND, out)
    assert out.sent == [("b", Null(2, 0)), ("c", Null(2, 0))]


def test_a_message_of_ones_own_says_the_news_as_well() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.receive("b", message("b", 1, 1), 0, out)
    out.timers = {Silence(): 1}
    node.broadcast("a1", 0, out)
    assert out.timers == {}


def test_a_null_that_finds_nothing_outstanding_causes_nothing() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.receive("b", Null(5, 4), 0, out)
    node.receive("c", Null(6, 4), 0, out)
    assert (out.sent, out.timers, out.delivered) == ([], {}, [])
    node.expire(Silence(), 0, out)
    assert out.sent == []


def test_every_member_reports_each_message_stable_once_and_in_order() -> None:
    lab = Lab()
    said = [lab.say("b", "one"), lab.say("a", "two"), lab.say("b", "three")]
    lab.drain()
    order = [said[1], said[0], said[2]]
    for name, out in lab.outs.items():
        assert [message_id for message_id, _ in out.delivered] == order
        assert out.stabilised == order
        assert not any(lab.nodes[name].gauges().values())


def test_a_message_is_not_stable_before_this_process_has_said_that_it_has_it() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.receive("b", message("b", 1, 1), 0, out)
    node.receive("c", Null(2, 1), 0, out)
    node.receive("b", Null(3, 1), 0, out)
    assert (out.payloads, out.stabilised) == (["b1"], [])
    node.expire(Silence(), 0, out)
    assert out.stabilised == [MessageId("b", 0, 1)]


@pytest.mark.parametrize("messages", [1, 2, 5])
def test_nulls_end_and_are_few(messages: int) -> None:
    lab = Lab("abcd")
    for number in range(messages):
        lab.say("abcd"[number % 2], number)
    fired = lab.drain()
    # Each member speaks up once to let the messages pass, unless its own did that, and once to report them.
    assert fired <= 2 * len(lab.nodes)
    assert lab.drain() == 0


def test_without_nulls_a_silent_member_holds_up_all_others() -> None:
    lab = Lab(nulls=False)
    lab.say("a", "one")
    lab.say("b", "two")
    assert lab.drain() == 0
    assert (lab.outs["a"].payloads, lab.outs["b"].payloads) == ([], [])
    assert lab.outs["c"].payloads == ["one", "two"]
    assert lab.nodes["a"].gauges()["undelivered"] == 2
    lab.say("c", "three")
    lab.drain()
    assert lab.outs["a"].payloads == ["one", "two"]


def test_alone_everything_is_stable_at_once() -> None:
    node, out = Newtop("a", ("a",)), Recorder()
    for number in range(1, 4):
        node.broadcast(number, 0, out)
        assert out.payloads == list(range(1, number + 1))
        assert len(out.stabilised) == number
    assert (out.sent, out.timers) == ([], {})
    assert not any(node.gauges().values())


def test_the_last_survivor_delivers_what_is_left() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.receive("b", message("b", 1, 1), 0, out)
    node.broadcast("a1", 0, out)
    node.peer_down("c", 0, out)
    node.peer_down("b", 0, out)
    # Of c nothing was ever heard: what b said might follow from something that c said.
    assert out.payloads == ["a1"]
    node.broadcast("a2", 0, out)
    assert out.payloads == ["a1", "a2"]
    assert out.stabilised == [message_id for message_id, _ in out.delivered]
    assert not any(node.gauges().values())
    assert out.timers == {}


def test_a_flush_brings_what_only_one_survivor_has() -> None:
    lab = Lab("abcd")
    d1 = message("d", 1, 1)
    lab.nodes["a"].receive("d", d1, 0, lab.outs["a"])
    for name in "abc":
        lab.nodes[name].peer_down("d", 0, lab.outs[name])
    assert lab.outs["a"].sent == [(peer, Flush((("d", End(1, False)),), (d1,))) for peer in "bc"]
    del lab.nodes["d"]
    lab.drain()
    for name in "abc":
        assert lab.outs[name].payloads == ["d1"]
        assert lab.outs[name].stabilised == [d1.message_id]
        assert not any(lab.nodes[name].gauges().values())


def test_a_crashed_process_is_not_listened_to() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.peer_down("b", 0, out)
    before = freeze(node)
    node.receive("b", message("b", 1, 1), 0, out)
    node.receive("b", Null(3, 2), 0, out)
    assert freeze(node) == before


def test_a_message_that_comes_by_flush_and_by_itself_is_delivered_once() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    b1 = message("b", 1, 1)
    node.receive("c", Flush((("b", End(1, False)),), (b1,)), 0, out)
    assert node.gauges()["undelivered"] == 1
    node.receive("b", b1, 0, out)
    node.receive("c", Null(2, 0), 0, out)
    assert out.payloads == ["b1"]
    node.peer_down("b", 0, out)
    assert node.gauges()["unsettled"] == 0


def test_what_may_follow_from_a_lost_message_is_discarded() -> None:
    """d's d1 reached c alone; c delivered it and said c1; both crash. Here c1 is, and d1 is nowhere."""
    node, out = Newtop("a", ("a", "b", "c", "d")), Recorder()
    node.receive("c", message("c", 1, 4), 0, out)
    node.receive("b", Null(5, 0), 0, out)
    node.peer_down("c", 0, out)
    node.peer_down("d", 0, out)
    node.receive("b", Flush((("d", End(0, False)), ("c", End(4, False))), ()), 0, out)
    assert out.payloads == []
    assert node.gauges() == {"undelivered": 0, "unstable": 0, "unsettled": 0, "flushes": 0}
    # Somebody who does not know yet brings it again.
    node.receive("b", Flush((("d", End(0, False)), ("c", End(4, False))), (message("c", 1, 4),)), 0, out)
    assert node.gauges()["undelivered"] == 0


def test_a_crash_during_the_flush_begins_it_anew_for_all() -> None:
    node, out = Newtop("a", ("a", "b", "c", "d")), Recorder()
    d1 = message("d", 1, 1)
    node.receive("d", d1, 0, out)
    node.peer_down("d", 0, out)
    out.take_sent()
    node.receive("b", Flush((("d", End(0, False)),), ()), 0, out)
    node.peer_down("c", 0, out)
    assert node.gauges()["unsettled"] == 2
    assert out.sent == [("b", Flush((("d", End(1, False)), ("c", End(0, False))), (d1,)))]
    node.receive("b", Flush((("c", End(2, False)), ("d", End(0, False))), ()), 0, out)
    assert node.gauges()["unsettled"] == 0
    node.receive("b", Null(3, 0), 0, out)
    assert out.payloads == ["d1"]


def test_what_another_survivor_settled_is_taken_over() -> None:
    node, out = Newtop("a", ("a", "b", "c", "d")), Recorder()
    node.receive("d", message("d", 1, 3), 0, out)
    node.peer_down("d", 0, out)
    node.peer_down("c", 0, out)
    # b settled d together with nobody, at 2, before it heard of c.
    node.receive("b", Flush((("d", End(2, True)), ("c", End(9, False))), ()), 0, out)
    assert node.cuts == {"d": 2, "c": 9}
    assert node.gauges()["undelivered"] == 0


def test_words_about_strangers_oneself_and_the_dead_are_nothing() -> None:
    node, out = Newtop("a", GROUP), Recorder()
    node.peer_down("b", 0, out)
    before, sent = freeze(node), out.take_sent()
    for name in ("a", "b", "x"):
        node.peer_down(name, 0, out)
    node.peer_up("b", 0, out)
    assert (freeze(node), out.sent, len(sent)) == (before, [], 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"idle_ms": -1}, "idle_ms"), ({"idle_ms": "9"}, "idle_ms"), ({"nulls": 0}, "nulls")],
)
def test_wrong_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(Misuse, match=named):
        algorithm("newtop").validate(options)


def test_a_process_belongs_to_its_group() -> None:
    with pytest.raises(Misuse, match="x is not in its own group"):
        Newtop("x", GROUP)


def test_the_state_is_plain_data() -> None:
    lab = Lab()
    lab.say("a", "one")
    lab.carry()
    lab.nodes["a"].peer_down("b", 0, lab.outs["a"])
    for node in lab.nodes.values():
        assert freeze(pickle.loads(pickle.dumps(node))) == freeze(node)


def test_a_floor_is_the_least_of_its_clocks() -> None:
    chance = random.Random(1)
    names = [f"p{number}" for number in range(7)]
    for _ in range(50):
        floor, clocks = Floor(names), dict.fromkeys(names, 0)
        for _ in range(60):
            name = chance.choice(list(clocks))
            if chance.random() < 0.03 and len(clocks) > 1:
                floor.remove(name)
                del clocks[name]
            else:
                clock = chance.randint(0, 12)
                floor.rise(name, clock)
                clocks[name] = max(clocks[name], clock)
            assert (floor.least, floor.clocks) == (min(clocks.values()), clocks)
    assert Floor(()).least == NEVER
