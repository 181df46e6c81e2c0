"""Eviction of a peer that told something: its word is not taken for more than it was."""

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Flush, Flushed, Told
from oracle.stage import Stage

GROUP = ("p0", "p1", "p2", "p3")


def test_what_a_message_of_the_gone_had_to_wait_for_is_waited_for_still() -> None:
    """p0: m1->3, m2->1; p1: m1->3, after p0's, and m2->2; p3 evicts p1, and so never delivers p1's.

    p2 answers to p3. That p1's message would have waited for p0's, only p1 and p3 know.
    """
    stage = Stage(HybridAdaptive, 4, group=GROUP, constraints=2)
    stage.say(0, 3)
    stage.say(0, 1)
    stage.arrive(Told, 0, 1)
    stage.say(1, 3)
    stage.say(1, 2)
    stage.arrive(Told, 1, 2)
    stage.evict(3, 1)
    stage.say(2, 3)
    stage.arrive(Told, 2, 3)
    assert stage.got[3] == []
    stage.arrive(Told, 0, 3)
    assert stage.got[3] == ["p0#1", "p2#1"]


def test_who_owes_an_answer_is_told_who_else_is_gone() -> None:
    """p0 was told something by p1, which it evicts, and asks p2 and p3; p2 waits for p3, who is gone, too."""
    stage = Stage(HybridAdaptive, 4, group=GROUP, constraints=0)
    stage.say(1, 2)
    stage.say(1, 0)
    stage.arrive(Told, 1, 0)
    stage.say(0, 2)
    stage.say(2, 3)
    stage.evict(0, 1)
    stage.arrive(Flush, 0, 2)
    assert stage.of_kind(Flushed, 2, 0) == []
    stage.evict(0, 3)
    stage.arrive(Flush, 0, 2)
    stage.arrive(Flushed, 2, 0)
    stage.arrive(Told, 0, 2)
    assert stage.got[2] == ["p0#1"]
