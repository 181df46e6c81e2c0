"""Eviction of a peer that told something: its word is not taken for more than it was."""

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Told
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
