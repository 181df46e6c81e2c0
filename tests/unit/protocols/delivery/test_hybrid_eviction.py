"""Eviction of a hybrid-buffering peer: nothing waits for it any more, and the rest stays as promised."""

from typing import Any

import pytest

from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg, News, Notice, Permit, Resend
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from oracle.inside import look
from oracle.kinds import ALL
from oracle.stage import Stage

every = pytest.mark.parametrize("kind", ALL)


@every
def test_acks_that_will_not_come_hold_no_permit_back(kind: Any) -> None:
    """p0: m1->1, which is dead; m2->2*, which p2 passes on to p3 once p0 evicts p1."""
    stage = Stage(kind, 4, retransmit=True)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(Msg, 0, 2)
    stage.say(2, 3)
    stage.arrive(Ack, 2, 0)
    assert stage.got[3] == []
    stage.evict(0, 1)
    assert stage.of_kind(Permit, 0, 2) == [Permit(2)]
    stage.arrive(Permit, 0, 2)
    stage.arrive(Msg, 2, 3)
    assert stage.got[3] == ["p2#1"]
    assert not any(stage.machines[0].gauges().values())
    assert stage.timers[0] == {}


@every
def test_permits_that_will_not_come_hold_no_message_back(kind: Any) -> None:
    """p0: m1->1, m2->2*, and dies; p2 answers to p3 once it evicts p0."""
    stage = Stage(kind, 4)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(Msg, 0, 2)
    stage.say(2, 3)
    assert stage.of_kind(Msg, 2, 3) == []
    stage.evict(2, 0)
    assert len(stage.of_kind(News, 2, 3)) == 1
    assert stage.machines[2].gauges()["missing_permits"] == 0
    look(stage.machines[2])


@every
def test_unsent_messages_to_the_evicted_are_forgotten(kind: Any) -> None:
    stage = Stage(kind, 4)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(Msg, 0, 2)
    stage.say(2, 3)
    stage.say(2, 1)
    stage.evict(2, 3)
    look(stage.machines[2])
    stage.arrive(Msg, 0, 1)
    stage.arrive(Ack, 1, 0)
    stage.arrive(Permit, 0, 2)
    assert stage.of_kind(News, 2, 3) == []
    assert stage.of_kind(News, 2, 1) == [News(("p3",), Msg(0, 2, 0, False, None))]
    look(stage.machines[2])


@every
def test_the_evicted_is_neither_heard_nor_spoken_to(kind: Any) -> None:
    stage = Stage(kind, 3)
    stage.hand(1, 0, Msg(0, 2, 1, False, None))
    stage.evict(0, 1)
    stage.hand(1, 0, Msg(0, 1, 0, False, None))
    assert stage.got[0] == []
    assert stage.say(0, 1) == "p0#1"
    assert stage.say(0, 2) == "p0#2"
    assert [(i, j) for i, j, _ in stage.flying] == [(0, 2)]
    assert stage.flying[0][2] == News(("p1",), Msg(0, 2, 0, False, None))
    stage.evict(0, 1)
    stage.evict(0, 0)
    assert stage.say(0, 0) == "p0#3"
    assert stage.got[0] == ["p0#3"]


@every
def test_who_hears_of_an_eviction_evicts_before_it_delivers(kind: Any) -> None:
    """p0: m1->2, which is late, m2->1*, and dies. p1 evicts it and tells p2; m1 comes after that."""
    stage = Stage(kind, 4)
    stage.say(0, 2)
    stage.say(0, 1)
    stage.arrive(Msg, 0, 1)
    stage.say(1, 2)
    stage.evict(1, 0)
    stage.arrive(News, 1, 2)
    assert stage.got[2] == ["p1#1"]
    assert stage.machines[2].evicted == {"p0"}
    stage.arrive(Msg, 0, 2)
    assert stage.got[2] == ["p1#1"]
    # What p2 says next passes it on, but not to p1, of whom it knows it; what p1 says next need not.
    stage.say(1, 2)
    assert type(stage.flying[-1][2]) is Msg
    stage.say(2, 1)
    assert type(stage.flying[-1][2]) is Msg
    stage.say(2, 3)
    news: News = stage.flying[-1].message
    assert news.gone == ("p0",)


@every
def test_news_are_told_once_to_each_and_again_if_they_may_be_lost(kind: Any) -> None:
    stage = Stage(kind, 4, retransmit=True)
    stage.say(0, 1)
    stage.evict(0, 3)
    stage.say(0, 1)
    stage.say(0, 1)
    stage.say(0, 2)
    told = [(j, type(frame)) for _, j, frame in stage.flying]
    assert told == [(1, Msg), (1, News), (1, Msg), (2, News)]
    stage.lose_all()
    stage.do(0, "expire", Resend("p1"))
    assert [type(frame) for _, _, frame in stage.flying] == [Msg, News, Msg]
    stage.hand(1, 0, Ack(2, 0))
    assert stage.machines[0].channels["p1"].news == {}
    stage.hand(1, 0, News(("p0", "p3"), Msg(0, 1, 0, False, None)))
    assert stage.machines[0].evicted == {"p3"}


def waits_for_one_who_waits_for_the_dead(kind: Any, **settings: Any) -> Stage:
    """p3 is dead. p1: m1->3, m2->0*. What p0 says to p2 then waits for p1's permit, and that for p3's ack."""
    stage = Stage(kind, 4, **settings)
    stage.say(1, 3)
    stage.lose_all()
    stage.say(1, 0)
    return stage


@every
def test_whoever_is_waited_for_is_told_at_once(kind: Any) -> None:
    """p0 has nothing to say to p1, nor may it say anything to p2: its News would never leave."""
    stage = waits_for_one_who_waits_for_the_dead(kind)
    stage.arrive(Msg, 1, 0)
    stage.say(0, 2)
    stage.evict(0, 3)
    assert stage.of_kind(Notice, 0, 1) == [Notice(("p3",))]
    stage.drain()
    assert stage.got[2] == ["p0#1"]
    assert [machine.evicted for machine in [stage.machines[i] for i in range(3)]] == [{"p3"}] * 3


@every
def test_who_comes_to_be_waited_for_later_is_told_then(kind: Any) -> None:
    stage = waits_for_one_who_waits_for_the_dead(kind)
    stage.evict(0, 3)
    assert len(stage.flying) == 1
    stage.arrive(Msg, 1, 0)
    stage.say(0, 2)
    stage.drain()
    assert stage.got[2] == ["p0#1"]


@every
def test_a_lost_notice_comes_again_until_the_peer_is_known_to_know(kind: Any) -> None:
    stage = waits_for_one_who_waits_for_the_dead(kind, retransmit=True)
    stage.arrive(Msg, 1, 0)
    stage.say(0, 2)
    stage.evict(0, 3)
    stage.lose_all()
    stage.expire(0)
    stage.arrive(Notice, 0, 1)
    assert stage.machines[1].evicted == {"p3"}
    stage.lose_all()
    stage.expire(0)
    assert len(stage.of_kind(Notice, 0, 1)) == 1
    stage.say(1, 0)
    stage.arrive(News, 1, 0)
    stage.lose_all()
    stage.say(0, 1)
    assert stage.of_kind(News, 0, 1) == []
    assert stage.of_kind(Notice, 0, 1) == []


@every
def test_who_is_evicted_wrongly_is_heard_by_nobody_who_knows(kind: Any) -> None:
    """p1 is alive. p0 evicts it, p2 hears so from p0: neither delivers what p1 says any more."""
    stage = Stage(kind, 3)
    stage.evict(0, 1)
    stage.say(0, 2)
    stage.drain()
    stage.say(1, 0)
    stage.say(1, 2)
    stage.drain()
    assert stage.got == [[], [], ["p0#1"]]
    assert stage.machines[1].gauges()["unacked"] == 2


@every
def test_a_new_incarnation_is_not_taken_for_the_old(kind: Any) -> None:
    stage = Stage(kind, 3, retransmit=True)
    stage.evict(0, 1)
    stage.say(0, 2)
    stage.lose_all()
    stage.do(0, "peer_up", "p1")
    stage.do(0, "expire", Resend("p2"))
    assert stage.flying == [(0, 2, Msg(0, 1, 0, False, None))]


@every
def test_a_new_incarnation_starts_afresh(kind: Any) -> None:
    stage = Stage(kind, 2)
    stage.say(0, 1)
    stage.say(1, 0)
    stage.drain()
    stage.evict(0, 1)
    stage.machines[1] = kind("p1", 1, retransmit=False)
    stage.do(0, "peer_up", "p1")
    stage.say(0, 1)
    stage.say(1, 0)
    stage.drain()
    assert stage.got == [["p1#1", "p1~1#1"], ["p0#1", "p0#2"]]


@pytest.mark.parametrize("kind", [HybridMulticast, HybridMulticastSps])
def test_the_other_receivers_of_a_multicast_are_served(kind: Any) -> None:
    stage = Stage(kind, 4)
    stage.say(0, 1, 2, 3)
    for target in (2, 3):
        stage.arrive(Msg, 0, target)
        stage.arrive(Ack, target, 0)
    assert stage.of_kind(Permit, 0, 2) == []
    stage.evict(0, 1)
    assert stage.of_kind(Permit, 0, 2) == stage.of_kind(Permit, 0, 3) == [Permit(1)]
    assert not any(stage.machines[0].gauges().values())
