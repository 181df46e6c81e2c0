"""What a hybrid-buffering process says about a message that waits, and about one that does not."""

from typing import Any

import pytest

from aforesaid.core import MessageId, Misuse, worded
from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from oracle.kinds import ALL
from oracle.stage import Stage

every = pytest.mark.parametrize("kind", ALL)


def explained(stage: Stage, i: int, label: str) -> tuple[str, ...]:
    name, number = label.split("#")
    reasons = tuple(map(worded, stage.machines[i].reasons(MessageId(name, 0, int(number)))))
    return reasons


def waiting(kind: Any) -> Stage:
    """p0: m1->1 on its way, m2->2*, delivered; p2 answers to p1 and to p0."""
    stage = Stage(kind, 3)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(Msg, 0, 2)
    stage.say(2, 1)
    stage.say(2, 0)
    return stage


@every
def test_an_unsent_message_names_the_permit(kind: Any) -> None:
    stage = waiting(kind)
    assert explained(stage, 2, "p2#1") == (
        "p2#1 is not sent to p1: the permit from p0 for its message 2 is missing.",
    )
    if not kind.receiver_exempt:
        assert explained(stage, 2, "p2#2") == (
            "p2#2 is not sent to p0: the permit from p0 for its message 2 is missing.",
        )
    elif not kind.overtaking:
        assert explained(stage, 2, "p2#2") == (
            "p2#2 is not sent to p0: p2#1, said before it, is not sent yet.",
        )
    else:
        assert explained(stage, 2, "p2#2") == (
            "p2#2 was sent to p0, whose ack is missing.",
            "p0 has no permit for p2#2: the ack from p1 for p2#1 is missing.",
        )


@every
def test_a_message_that_queues_waits_for_acks(kind: Any) -> None:
    stage = Stage(kind, 2, retransmit=True, in_flight=1)
    stage.say(0, 1)
    stage.say(0, 1)
    assert explained(stage, 0, "p0#1")[0] == "p0#1 was sent to p1, whose ack is missing."
    assert explained(stage, 0, "p0#2")[0] == (
        "p0#2 is not sent to p1 yet: it waits for acks of those sent before it."
    )


@every
def test_an_unacknowledged_message_names_the_acks(kind: Any) -> None:
    stage = waiting(kind)
    assert explained(stage, 0, "p0#1") == ("p0#1 was sent to p1, whose ack is missing.",)
    assert explained(stage, 0, "p0#2") == (
        "p0#2 was sent to p2, whose ack is missing.",
        "p2 has no permit for p0#2: the ack from p1 for p0#1 is missing.",
    )
    stage.arrive(Ack, 2, 0)
    assert explained(stage, 0, "p0#2") == ("p2 has no permit for p0#2: the ack from p1 for p0#1 is missing.",)
    stage.drain()
    assert explained(stage, 0, "p0#2") == (
        "p0#2 waits for nothing: its receivers acknowledged it or were evicted.",
    )


@every
def test_an_early_message_names_its_predecessor(kind: Any) -> None:
    stage = Stage(kind, 2)
    for _ in range(3):
        stage.say(0, 1)
    frames = stage.of_kind(Msg, 0, 1)
    assert explained(stage, 1, "p0#1") == ("p0#1 has not arrived; the last of p0 delivered here is 0.",)
    stage.hand(0, 1, frames[2])
    assert explained(stage, 1, "p0#3") == ("p0#3 arrived, but p0#2, said to p1 before it, has not.",)
    stage.hand(0, 1, frames[1])
    assert explained(stage, 1, "p0#3") == ("p0#3 arrived, but p0#1, said to p1 before it, has not.",)
    stage.hand(0, 1, frames[0])
    assert explained(stage, 1, "p0#3")[0].endswith("it was delivered.") or "permit from p0" in str(
        explained(stage, 1, "p0#3")
    )


@every
def test_a_delivered_message_names_its_permit(kind: Any) -> None:
    stage = waiting(kind)
    assert explained(stage, 2, "p0#2") == ("p0#2 was delivered; the permit from p0 for it is missing.",)
    stage.drain()
    assert explained(stage, 2, "p0#2") == (
        "p0#2 waits for nothing here: if it was for p2, it was delivered.",
    )


@every
def test_many_permits_are_counted(kind: Any) -> None:
    stage = Stage(kind, 12)
    for sender in range(2, 12):
        stage.hand(sender, 0, Msg(0, 1, 0, True, None))
    stage.say(0, 1)
    reasons = explained(stage, 0, "p0#1")
    assert len(reasons) == 6
    assert reasons[-1] == "p0#1 waits for 5 more permits."


@every
def test_what_was_never_said_or_is_evicted(kind: Any) -> None:
    stage = Stage(kind, 2)
    with pytest.raises(Misuse, match="p0 has not said p0#1"):
        explained(stage, 0, "p0#1")
    stage.evict(0, 1)
    assert explained(stage, 0, "p1#1") == ("p0 has evicted p1: nothing of it is delivered any more.",)


@pytest.mark.parametrize("kind", [HybridMulticast, HybridMulticastSps])
def test_a_multicast_names_every_receiver(kind: Any) -> None:
    stage = Stage(kind, 3)
    stage.say(0, 1, 2)
    stage.arrive(Msg, 0, 1)
    stage.arrive(Ack, 1, 0)
    assert explained(stage, 0, "p0#1") == (
        "p0#1 was sent to p2, whose ack is missing.",
        "p1 has no permit for p0#1: the ack from p2 for p0#1 is missing.",
    )
