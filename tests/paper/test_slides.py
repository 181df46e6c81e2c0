"""Guerraoui (undated), slide by slide: the printed rule fails, the shipped one does not.

Each test cites the algorithm and the event of the slide. The same defects are mutants in tests/mutants, where
they are caught at random; here each has the smallest schedule that shows it.
"""

from typing import Any

from aforesaid.core import MessageId
from aforesaid.protocols.broadcast.no_waiting import Ack, NoWaiting, NoWaitingCollecting
from aforesaid.protocols.broadcast.waiting import Waiting
from aforesaid.protocols.layers.reliable import EagerReliable
from aforesaid.protocols.layers.uniform import UniformReliable
from mutants.registry import DeliveredShrinksWithPast, NoLookOnCrash, OriginIsSelf, PastAsSet, SelfDelivery
from support.harness import Recorder, judged, scenario

GROUP = ("a", "b", "c")


def frame_to(out: Recorder, target: str) -> Any:
    """The last message sent to a process; acks are not meant."""
    return [frame for name, frame in out.sent if name == target and not isinstance(frame, Ack)][-1]


def past_of_eight(kind: type[NoWaiting]) -> list[int]:
    """a says eight things; c hears only the last and has to deliver the past from it."""
    a, c = kind("a", EagerReliable("a", GROUP)), kind("c", EagerReliable("c", GROUP))
    said, heard = Recorder(), Recorder()
    for number in range(8):
        a.broadcast(number, 0, said)
    c.receive("a", frame_to(said, "c"), 0, heard)
    return heard.payloads


def test_algorithm_1_init_the_past_is_a_list_not_a_set() -> None:
    assert past_of_eight(NoWaiting) == list(range(8))
    assert past_of_eight(PastAsSet) != list(range(8))


def collecting(kind: type[NoWaitingCollecting], me: str) -> NoWaitingCollecting:
    return kind(me, GROUP, EagerReliable(me, GROUP))


def test_algorithm_1_prime_crash_the_past_is_looked_through_when_a_process_crashes() -> None:
    held = {}
    for kind in (NoWaitingCollecting, NoLookOnCrash):
        a, out = collecting(kind, "a"), Recorder()
        a.broadcast("x", 0, out)
        a.receive("b", Ack(((("a", 0), 1),)), 0, out)
        a.peer_down("c", 0, out)
        held[kind] = a.gauges()["past"]
    assert held == {NoWaitingCollecting: 0, NoLookOnCrash: 1}


def test_algorithm_1_prime_init_delivered_outlives_the_past() -> None:
    """b's message still carries a's first one in its past when c has long forgotten it."""
    delivered = {}
    for kind in (NoWaitingCollecting, DeliveredShrinksWithPast):
        a, b, c = (collecting(kind, name) for name in GROUP)
        said, out = Recorder(), Recorder()
        a.broadcast("first", 0, said)
        b.receive("a", frame_to(said, "b"), 0, Recorder())
        c.receive("a", frame_to(said, "c"), 0, out)
        for peer in ("a", "b"):
            c.receive(peer, Ack(((("a", 0), 1),)), 0, out)
        assert c.gauges()["past"] == 0
        reply = Recorder()
        b.broadcast("second", 0, reply)
        c.receive("b", frame_to(reply, "c"), 0, out)
        delivered[kind] = out.payloads
    assert delivered[NoWaitingCollecting] == ["first", "second"]
    assert delivered[DeliveredShrinksWithPast] == ["first", "first", "second"]


def test_algorithm_1_prime_needs_an_accurate_detector() -> None:
    """One false suspicion: what the others forget, the suspected process may never get."""
    suspicion = [{"kind": "suspect", "at_ms": [20, 300]}]
    wild = {"delay": {"kind": "lognormal", "median_ms": 25, "sigma": 1.5}}
    talk = [{"kind": "rate", "per_second": 30}]
    broken = suspected = 0
    for seed in range(300):
        world = scenario("reliable", seed=seed, network=wild, workload=talk, fault=suspicion)
        outcome, _, report = judged(
            world,
            build=lambda setup: NoWaitingCollecting(
                setup.me, setup.group, EagerReliable(setup.me, setup.group)
            ),
        )
        suspected += outcome.counters.faults.get("suspect", 0)
        broken += report.verdicts["causal"].value == "violated"
    assert suspected > 150
    assert broken > 0


def test_algorithm_2_broadcast_own_messages_wait_for_the_layer_below() -> None:
    """Over uniform broadcast the printed sender delivers what nobody else may ever have."""
    for kind, expected in ((Waiting, []), (SelfDelivery, ["x"])):
        a, out = kind("a", GROUP, UniformReliable("a", GROUP)), Recorder()
        a.broadcast("x", 0, out)
        # a crashes here, and all it sent is lost: whatever it delivered breaks uniform agreement.
        assert out.payloads == expected


def test_algorithm_2_deliver_pending_the_origin_is_the_sender() -> None:
    for kind, origin in ((Waiting, "a"), (OriginIsSelf, "b")):
        a, b = (kind(name, GROUP, EagerReliable(name, GROUP)) for name in ("a", "b"))
        said, out = Recorder(), Recorder()
        a.broadcast("x", 0, said)
        b.receive("a", frame_to(said, "b"), 0, out)
        assert out.delivered == [(MessageId(origin, 0, 1), "x")]


def test_algorithm_2_deliver_pending_repeats_until_nothing_more_is_ready() -> None:
    """Three messages arrive in reverse: the last arrival sets all of them free."""
    a, b = (Waiting(name, GROUP, EagerReliable(name, GROUP)) for name in ("a", "b"))
    said, out = Recorder(), Recorder()
    for number in range(3):
        a.broadcast(number, 0, said)
    for frame in [message for name, message in said.sent if name == "b"][::-1]:
        b.receive("a", frame, 0, out)
    assert out.payloads == [0, 1, 2]
