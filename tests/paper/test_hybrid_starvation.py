"""Almeida (2026), section 4.3: where Cykas starves, the hybrid algorithms do not.

Section 4.3 has Cykas count its secrets in one number, MODE, which others can keep above zero for ever. In
hybrid buffering a message waits only for the permits that were missing when it was said (`dep`), so what
comes later cannot hold it back. One schedule, the same for both: j and k take turns to open {x -> aux,
flagged -> i}, each before the other's acknowledgement of x is passed on to i. i's message to z was said
after the first of them. That Cykas sends it once they fall silent is in test_hybrid_baselines_delivery.py.
"""

from collections.abc import Callable
from typing import Any

import pytest

from aforesaid.protocols.delivery.cykas import Cykas
from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_frames import Msg
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from support import stage

GROUP = ("aux", "i", "j", "k", "z")
ROUNDS = 1_000
WAIT_ROUNDS_MAX = 1
"""i's message leaves in the round that brings the one permit it needs."""


class Stage(stage.Stage[str]):
    """The five processes and the FIFO links between them; frames move when the schedule says so."""

    def __init__(self, build: Callable[[str], Any]) -> None:
        super().__init__((name, build(name)) for name in GROUP)

    def say(self, source: str, target: str, payload: str) -> None:
        self.do(source, "send", (target,), payload)

    def move(self, source: str, target: str) -> Any:
        return self.carry_frame(next(frame for frame in self.flying if frame[:2] == (source, target)))


def starved_rounds(stage: Stage) -> int:
    """How many rounds pass until i's message to z is under way, ROUNDS if it never is. All rounds are run."""
    _open(stage, "j")
    stage.say("i", "z", "when?")
    assert stage.between("i", "z") == []
    left = ROUNDS
    speaker, other = "k", "j"
    for number in range(1, ROUNDS + 1):
        _open(stage, speaker)
        _close(stage, other)
        speaker, other = other, speaker
        if stage.between("i", "z"):
            left = min(left, number)
    return left


def _open(stage: Stage, sender: str) -> None:
    """x is on its way to aux; i delivers what the sender said after it, and acknowledges."""
    stage.say(sender, "aux", "x")
    stage.say(sender, "i", "after x")
    frame = stage.move(sender, "i")
    assert frame.eager if hasattr(frame, "eager") else frame.flagged
    stage.move("i", sender)


def _close(stage: Stage, sender: str) -> None:
    """aux delivers x and acknowledges; the sender tells i: You-Can-Tell, or a permit."""
    stage.move(sender, "aux")
    stage.move("aux", sender)
    stage.move(sender, "i")


def hybrid(kind: Callable[..., Any]) -> Stage:
    return Stage(lambda name: kind(name, retransmit=False))


def test_cykas_starves_in_this_schedule() -> None:
    """Section 4.3: "This can go on, in an infinite run, causing starvation"."""
    stage = Stage(lambda name: Cykas(name, GROUP))
    assert starved_rounds(stage) == ROUNDS
    assert stage.between("i", "z") == []


def test_hybrid_sps_sends_in_the_same_schedule() -> None:
    stage = hybrid(HybridSps)
    assert starved_rounds(stage) <= WAIT_ROUNDS_MAX
    stage.move("i", "z")
    assert stage.sinks["z"].payloads == ["when?"]
    assert len(stage.sinks["i"].payloads) == ROUNDS + 1


def test_what_comes_later_is_not_waited_for() -> None:
    """When i's message leaves, the permit for k's, delivered after it was said, is still missing."""
    stage = hybrid(HybridSps)
    _open(stage, "j")
    stage.say("i", "z", "when?")
    _open(stage, "k")
    _close(stage, "j")
    assert [frame.payload for frame in stage.between("i", "z")] == ["when?"]
    assert list(stage.machines["i"].channels["k"].missing) == [2]


@pytest.mark.parametrize("kind", [HybridBasic, HybridMulticast, HybridMulticastSps])
def test_the_other_three_send_as_soon(kind: Callable[..., Any]) -> None:
    assert starved_rounds(hybrid(kind)) <= WAIT_ROUNDS_MAX


@pytest.mark.parametrize(("kind", "early"), [(HybridBasic, False), (HybridSps, True)])
def test_an_earlier_delivery_may_hold_up_what_follows_it(kind: Callable[..., Any], early: bool) -> None:
    """Section 4.2: SPS is optimal for each message given what happened before it, not for a run as a whole.

    i may not pass on what j said, except to j itself. SPS lets i's message to j leave before i's earlier one
    to z; once j has delivered it, what j says next depends on the one to z, and waits for its delivery. In
    CSPS j has delivered nothing and sends at once.
    """
    stage = hybrid(kind)
    _open(stage, "j")
    stage.say("i", "z", "first")
    stage.say("i", "j", "second")
    assert said(stage, "i", "z") == []
    assert said(stage, "i", "j") == (["second"] if early else [])
    if early:
        stage.move("i", "j")
        stage.move("j", "i")
    stage.say("j", "k", "next")
    assert said(stage, "j", "k") == ([] if early else ["next"])
    _close(stage, "j")
    assert said(stage, "i", "z") == ["first"]
    assert said(stage, "j", "k") == ([] if early else ["next"])
    stage.move("i", "z")
    stage.move("z", "i")
    stage.move("i", "j")
    assert said(stage, "j", "k") == ["next"]


def said(stage: Stage, source: str, target: str) -> list[Any]:
    """What is under way on a link, without acks and permits."""
    return [frame.payload for frame in stage.between(source, target) if type(frame) is Msg]
