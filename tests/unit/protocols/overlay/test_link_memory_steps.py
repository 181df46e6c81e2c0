"""Link memory one step at a time, and what the catalog makes of it."""

import pickle

import pytest

from aforesaid.core import MessageId, Misuse, freeze
from aforesaid.explore import Scope, explore
from aforesaid.protocols.catalog import CATALOG, Setup
from aforesaid.protocols.overlay.link_memory import Forward, LinkMemory
from support.harness import Recorder

FIRST = Forward(MessageId("b", 0, 1), "x")


def shipped(setup: Setup) -> LinkMemory:
    """As the catalog builds it."""
    built = CATALOG["link_memory"].build(setup)
    assert isinstance(built, LinkMemory)
    return built


def test_a_first_receipt_is_forwarded_in_the_step_that_delivers_it() -> None:
    a, out = LinkMemory("a", ("b", "c"), ("b", "c", "d")), Recorder()
    a.receive("b", FIRST, 0, out)
    assert out.delivered == [(FIRST.message_id, "x")]
    assert out.sent == [("b", FIRST), ("c", FIRST)]
    assert a.gauges() == {"expected": 2}
    for count, peer in ((1, "d"), (0, "c")):
        a.receive(peer, FIRST, 0, out)
        assert a.gauges() == {"expected": count}
    assert out.payloads == ["x"]


def test_the_same_thing_may_be_said_twice() -> None:
    a, out = LinkMemory("a", ("b",), ("b",), 3), Recorder()
    ids = [a.broadcast("x", 0, out) for _ in range(2)]
    assert ids == [MessageId("a", 3, 1), MessageId("a", 3, 2)]
    assert out.payloads == ["x", "x"]
    assert a.gauges() == {"expected": 2}


def test_alone_it_remembers_nothing() -> None:
    alone, out = shipped(Setup("a", ("a",))), Recorder()
    alone.broadcast("x", 0, out)
    assert (out.payloads, out.sent, alone.gauges()) == (["x"], [], {"expected": 0})


@pytest.mark.parametrize(
    ("degree", "out_view", "in_view"), [(1, "c", "a"), (2, "cd", "ea"), (9, "cdea", "cdea")]
)
def test_the_overlay_is_a_circle_with_chords(degree: int, out_view: str, in_view: str) -> None:
    b = shipped(Setup("b", tuple("abcde"), 0, {"degree": degree}))
    assert b.out_view == tuple(out_view)
    assert set(b.expected) == set(in_view)


def test_misuse() -> None:
    with pytest.raises(Misuse, match="degree must be a whole number from 1 on, not 0"):
        CATALOG["link_memory"].validate({"degree": 0})
    with pytest.raises(Misuse, match="no timers"):
        LinkMemory("a", (), ()).expire("tick", 0, Recorder())


def test_its_state_is_plain_data() -> None:
    a = LinkMemory("a", ("b",), ("b", "c"))
    a.receive("b", FIRST, 0, Recorder())
    assert freeze(pickle.loads(pickle.dumps(a))) == freeze(a)


@pytest.mark.parametrize(("processes", "messages"), [(4, (1, 1, 0, 0)), (2, 3)])
def test_every_schedule_is_causal_and_exactly_once(processes: int, messages: int | tuple[int, ...]) -> None:
    found = explore("link_memory", Scope(processes=processes, messages=messages, fifo=True))
    assert (found.verdict, found.complete) == ("kept", True), str(found)


def test_without_fifo_links_it_breaks_the_order() -> None:
    scope = Scope(processes=2, messages=(2, 0), fifo=False)
    found = explore("link_memory", scope, CATALOG["link_memory"].promises)
    assert found.violation is not None
    assert "causal" in found.violation.properties
