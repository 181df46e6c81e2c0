"""The broadcast family of Guerraoui (undated), step by step, without a network."""

import pickle
from typing import Any

import pytest

from aforesaid.core import MILLISECOND, MessageId, Misuse, freeze
from aforesaid.protocols.broadcast.no_waiting import Ack, NoWaiting, NoWaitingCollecting
from aforesaid.protocols.broadcast.unordered import Unordered
from aforesaid.protocols.broadcast.waiting import Waiting
from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.layers.best_effort import BestEffort
from aforesaid.protocols.layers.layered import Relay
from aforesaid.protocols.layers.reliable import Bye, EagerReliable, Hello, Join, Welcome
from aforesaid.protocols.layers.uniform import UniformReliable
from aforesaid.protocols.links.perfect import Ack as LinkAck
from aforesaid.protocols.links.perfect import Data, PerfectLinks
from aforesaid.protocols.repair import Resend
from support.harness import Recorder

GROUP = ("a", "b", "c")
BROADCASTS = [name for name, entry in CATALOG.items() if not entry.addressed]


def waiting(me: str) -> Waiting:
    return Waiting(me, GROUP, EagerReliable(me, GROUP))


def test_a_message_waits_for_what_was_said_before_it() -> None:
    a, b, c, out = waiting("a"), waiting("b"), waiting("c"), Recorder()
    a.broadcast("picture", 0, out)
    picture = out.take_sent()[0][1]
    b.receive("a", picture, 0, Recorder())
    said = Recorder()
    b.broadcast("comment", 0, said)
    comment = said.sent[0][1]
    at_c = Recorder()
    c.receive("b", comment, 0, at_c)
    assert at_c.delivered == []
    assert c.gauges()["pending"] == 1
    c.receive("a", picture, 0, at_c)
    assert at_c.payloads == ["picture", "comment"]
    assert at_c.delivered[0][0] == MessageId("a", 0, 1)
    assert c.gauges()["pending"] == 0


def test_an_arrival_looks_only_at_what_it_sets_free() -> None:
    """A thousand messages wait for one; others arrive meanwhile and cost no rescan."""
    a, c = waiting("a"), waiting("c")
    said = Recorder()
    for number in range(1_000):
        a.broadcast(number, 0, said)
    frames = [message for target, message in said.sent if target == "c"]
    looked = 0

    def counting(vector: tuple[int, ...], entry: int) -> int:
        nonlocal looked
        looked += 1
        return Waiting._first_missing(c, vector, entry)

    c._first_missing = counting  # type: ignore[method-assign]
    out = Recorder()
    for frame in reversed(frames):
        c.receive("a", frame, 0, out)
    assert out.payloads == list(range(1_000))
    assert looked <= 2 * len(frames)


def test_a_process_outside_its_group_is_refused() -> None:
    with pytest.raises(Misuse, match="z is not in its own group"):
        Waiting("z", GROUP, EagerReliable("z", GROUP))


def test_reliable_broadcast_relays_once_and_neither_to_origin_nor_sender() -> None:
    group = ("a", "b", "c", "d")
    c, out = Unordered(EagerReliable("c", group)), Recorder()
    relay = Relay(MessageId("a", 0, 1), "x")
    c.receive("b", relay, 0, out)
    assert out.take_sent() == [("d", relay)]
    c.receive("a", relay, 0, out)
    assert out.take_sent() == []
    assert out.payloads == ["x"]


def test_a_newcomer_is_admitted_in_one_step_and_greets_everyone() -> None:
    contact, newcomer = EagerReliable("a", ("a", "b")), EagerReliable("n", ("n",))
    out, there = Recorder(), Recorder()
    contact.receive("b", Relay(MessageId("b", 0, 1), "before"), 0, out)
    newcomer.join("a", 0, there)
    assert there.take_sent() == [("a", Join())]
    _, queued = newcomer.broadcast("said outside", 0, there)
    assert (queued, there.sent) == ((), [])
    out.take_sent()
    contact.receive("n", Join(), 0, out)
    assert out.admitted == ["n"]
    ((target, welcome),) = out.take_sent()
    assert target == "n"
    assert isinstance(welcome, Welcome)
    # A relay that overtakes Welcome waits; one at or before the base is not owed and not delivered.
    assert newcomer.receive("a", Relay(MessageId("b", 0, 1), "before"), 0, there) == ()
    assert newcomer.receive("a", Relay(MessageId("b", 0, 2), "after"), 0, there) == ()
    handed = newcomer.receive("a", welcome, 0, there)
    assert [body for _, body in handed] == ["after", "said outside"]
    assert ("b", Hello()) in there.sent
    b = EagerReliable("b", ("a", "b"))
    b.receive("n", Hello(), 0, out)
    assert b.peers == ("a", "n")
    b.receive("n", Bye(), 0, out)
    # mypy believes the line before last, and not that the last one has changed anything.
    assert b.peers == ("a",)  # type: ignore[comparison-overlap]


def test_uniform_broadcast_delivers_when_everyone_not_suspected_has_it() -> None:
    a, out = UniformReliable("a", GROUP), Recorder()
    message_id, handed = a.broadcast("x", 0, out)
    assert handed == []
    relay = out.sent[0][1]
    assert a.receive("b", relay, 0, out) == []
    assert a.peer_down("c", 0, out) == [(message_id, "x")]
    assert a.gauges()["unacked"] == 0


def test_majority_broadcast_needs_no_detector() -> None:
    a, out = UniformReliable("a", GROUP, majority=True), Recorder()
    message_id, handed = a.broadcast("x", 0, out)
    assert handed == []
    relay = out.sent[0][1]
    assert a.receive("b", relay, 0, out) == [(message_id, "x")]
    assert a.receive("c", relay, 0, out) == ()


def test_best_effort_filters_duplicates() -> None:
    b, out = Unordered(BestEffort("b", GROUP)), Recorder()
    for _ in range(2):
        b.receive("a", Relay(MessageId("a", 0, 1), "x"), 0, out)
    assert out.payloads == ["x"]


def test_no_waiting_delivers_the_past_in_order_and_at_once() -> None:
    def machine(me: str) -> NoWaiting:
        return NoWaiting(me, EagerReliable(me, GROUP))

    a, b, c = machine("a"), machine("b"), machine("c")
    said = Recorder()
    a.broadcast(1, 0, said)
    a.broadcast(2, 0, said)
    for _, frame in said.sent[:1] + said.sent[2:3]:
        b.receive("a", frame, 0, Recorder())
    replied = Recorder()
    b.broadcast(3, 0, replied)
    out = Recorder()
    c.receive("b", replied.sent[0][1], 0, out)
    assert out.payloads == [1, 2, 3]


def test_garbage_collection_forgets_and_reports_stability_once_everyone_has_acked() -> None:
    def machine(me: str) -> NoWaitingCollecting:
        return NoWaitingCollecting(me, GROUP, EagerReliable(me, GROUP))

    a, out = machine("a"), Recorder()
    first = a.broadcast(1, 0, out)
    assert a.gauges()["past"] == 1
    a.receive("b", Ack(((("a", 0), 1),)), 0, out)
    assert out.stabilised == []
    a.receive("c", Ack(((("a", 0), 1),)), 0, out)
    assert out.stabilised == [first]
    assert a.gauges()["past"] == 0
    second = a.broadcast(2, 0, out)
    a.receive("b", Ack(((("a", 0), 2),)), 0, out)
    a.peer_down("c", 0, out)
    assert out.stabilised == [first, second]
    # An ack from a crashed process that was still on its way changes nothing.
    a.receive("c", Ack(((("a", 0), 2),)), 0, out)
    assert out.stabilised == [first, second]


def test_perfect_links_resend_with_back_off_until_acknowledged() -> None:
    links, out = PerfectLinks(Unordered(BestEffort("a", ("a", "b"))), resend_after=10), Recorder()
    links.broadcast("x", 0, out)
    data = out.take_sent()[0][1]
    assert isinstance(data, Data)
    assert out.timers == {Resend("b"): 10}
    links.expire(Resend("b"), 10, out)
    assert out.take_sent() == [("b", data)]
    assert out.timers == {Resend("b"): 30}
    links.receive("b", LinkAck(1), 12, out)
    assert out.timers == {}
    assert links.gauges()["link_unacked"] == 0


def test_perfect_links_hand_on_each_message_once_and_acknowledge_every_copy() -> None:
    links, out = PerfectLinks(Unordered(BestEffort("b", ("a", "b")))), Recorder()
    data = Data(1, Relay(MessageId("a", 0, 1), "x"))
    for _ in range(3):
        links.receive("a", data, 0, out)
    assert out.payloads == ["x"]
    assert out.sent == [("a", LinkAck(1))] * 3


def test_perfect_links_keep_few_under_way_and_send_nothing_to_the_dead() -> None:
    links = PerfectLinks(Unordered(BestEffort("a", ("a", "b"))), MILLISECOND, in_flight=4)
    out = Recorder()
    for number in range(100):
        links.broadcast(number, 0, out)
    assert [data.number for _, data in out.take_sent()] == [1, 2, 3, 4]
    links.receive("b", LinkAck(5), 0, out)
    assert links.gauges()["link_unacked"] == 100, "nobody has what was never sent"
    links.expire(Resend("b"), MILLISECOND, out)
    assert [data.number for _, data in out.take_sent()] == [1], "into silence goes one"
    links.receive("b", LinkAck(1), 2 * MILLISECOND, out)
    assert [data.number for _, data in out.take_sent()] == [2, 3, 4], "half of what it was, and one more"
    links.peer_down("b", 0, out)
    assert links.gauges()["link_unacked"] == 0
    assert out.timers == {}
    links.broadcast("late", 0, out)
    assert out.sent == []


@pytest.mark.parametrize("name", BROADCASTS)
def test_every_algorithm_can_be_cloned_and_pictured(name: str) -> None:
    machine: Any = CATALOG[name].build(Setup("a", GROUP))
    machine.broadcast("x", 0, Recorder())
    clone = pickle.loads(pickle.dumps(machine))
    assert freeze(clone) == freeze(machine)
    clone.broadcast("y", 0, Recorder())
    assert freeze(clone) != freeze(machine)
    assert set(machine.gauges()) == set(clone.gauges())


@pytest.mark.parametrize("name", BROADCASTS)
def test_an_algorithm_of_one_delivers_to_itself(name: str) -> None:
    machine: Any = CATALOG[name].build(Setup("a", ("a",)))
    out = Recorder()
    message_id = machine.broadcast("x", 0, out)
    assert out.delivered == [(message_id, "x")]
