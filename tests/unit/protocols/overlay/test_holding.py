"""What is kept for links that are being opened is told as a reason, as long as it is kept and no longer."""

from typing import Any

import pytest

from aforesaid.core import Explaining, Keeping, MessageId, Misuse, Reason, worded
from aforesaid.protocols.overlay.frames import ALPHA, BETA, PI
from support.prc_rules import handshake
from support.prc_stage import star
from support.preventive_stage import Circle

KEPT = (
    "B#1 is kept for the new link to C until C tells in their handshake that it has all that came before; "
    "messages kept: 1."
)


def kinds(reasons: tuple[Reason, ...]) -> list[tuple[str, str | None, int, int | None]]:
    return [(reason.kind, reason.peer, reason.number, reason.since) for reason in reasons]


def test_prc_keeps_from_beta_on_what_it_delivers_until_rho() -> None:
    stage = star("A", "BC")
    machine, first = stage.machines["B"], MessageId("B", 0, 1)
    assert isinstance(machine, Explaining)
    assert isinstance(machine, Keeping)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA)
    # Until beta comes nothing is kept: what C has to have by then is not known yet.
    stage.say("B", "b1")
    assert kinds(machine.reasons(first)) == [("at once", "B", 0, None)]
    assert machine.kept() == ()
    stage.drain()


def test_prc_tells_what_it_keeps() -> None:
    stage = star("A", "BC")
    machine, first = stage.machines["B"], MessageId("B", 0, 1)
    stage.do("B", "open", "C", ("A",))
    handshake(stage, ALPHA, BETA)
    stage.say("B", "b1")
    began = stage.outgoing("B", "C").since
    assert worded(machine.reasons(first)[0]) == KEPT
    stage.say("B", "b2")
    assert kinds(machine.kept()) == [("handshake", "C", 2, began)]
    assert machine.kept()[0].message == first
    handshake(stage, PI)
    assert machine.reasons(first)[0].kind == "handshake"
    stage.drain()
    assert machine.kept() == ()
    assert kinds(machine.reasons(first)) == [("at once", "B", 0, None)]
    with pytest.raises(Misuse, match="B has not said B#3"):
        machine.reasons(MessageId("B", 0, 3))


def test_preventive_tells_what_it_keeps_until_the_pong() -> None:
    circle = Circle()
    machine: Any = circle.machines["a"]
    machine.open("c", ("b",), 7, circle.outs["a"])
    message_id = machine.broadcast("x", 9, circle.outs["a"])
    assert kinds(machine.reasons(message_id)) == [("handshake", "c", 1, 7)]
    assert kinds(machine.kept()) == [("handshake", "c", 1, 7)]
    circle.carry()
    assert kinds(machine.reasons(message_id)) == [("at once", "a", 0, None)]
    assert machine.kept() == ()
    with pytest.raises(Misuse, match="a has not said a#2"):
        machine.reasons(MessageId("a", 0, 2))


def test_what_a_newcomer_says_waits_until_it_is_let_in() -> None:
    circle = Circle()
    newcomer = circle.add("e", "a")
    message_id = newcomer.broadcast("x", 0, circle.outs["e"])
    assert kinds(newcomer.reasons(message_id)) == [("outside", "e", 0, None)]
    circle.carry()
    assert kinds(newcomer.reasons(message_id)) == [("at once", "e", 0, None)]


def test_of_the_peers_own_messages_none_is_said_to_wait_for_it() -> None:
    """They are kept, too, for the frame that opens the link has them; but nobody waits for them there."""
    circle = Circle()
    machine: Any = circle.machines["a"]
    machine.open("c", ("b",), 0, circle.outs["a"])
    circle.machines["c"].broadcast("y", 0, circle.outs["c"])
    for _ in range(2):
        for source in "cd":
            for target, frame in circle.outs[source].take_sent():
                circle.machines[target].receive(source, frame, 0, circle.outs[target])
    assert machine.gauges()["buffered"] == 1
    assert machine.kept() == ()
