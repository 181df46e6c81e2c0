"""Eviction of a hybrid-buffering peer: nothing waits for it any more, and the rest stays as promised."""

from typing import Any

import pytest

from aforesaid.protocols.delivery.hybrid_frames import Ack, Msg, News, Notice, Permit, PermitNews
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.repair import Resend
from oracle.inside import look
from oracle.kinds import ALL
from oracle.mutants import StandsStill
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
    assert stage.of_kind(PermitNews, 0, 2) == [PermitNews(("p1",), 2)]
    stage.arrive(PermitNews, 0, 2)
    stage.arrive(News, 2, 3)
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
    assert set(stage.machines[2].evicted) == {"p0"}
    stage.arrive(Msg, 0, 2)
    assert stage.got[2] == ["p1#1"]
    # What p2 says next passes it on, but not to p1, of whom it knows it; what p1 says next need not, either.
    stage.arrive(Ack, 2, 1)
    stage.say(1, 2)
    assert type(stage.flying[-1][2]) is Msg
    stage.say(2, 1)
    assert type(stage.flying[-1][2]) is Msg
    stage.say(2, 3)
    news: News = stage.flying[-1].message
    assert news.gone == ("p0",)


@every
def test_news_are_told_to_each_until_it_is_known_to_know(kind: Any) -> None:
    stage = Stage(kind, 4, retransmit=True)
    stage.say(0, 1)
    stage.evict(0, 3)
    stage.say(0, 1)
    stage.say(0, 1)
    stage.say(0, 2)
    told = [(j, type(frame)) for _, j, frame in stage.flying]
    assert told == [(1, Msg), (1, News), (1, News), (2, News)]
    stage.lose_all()
    stage.do(0, "expire", Resend("p1"))
    # The first one left before the eviction; sent again, it is a permit like any that is not flagged.
    assert [type(frame) for _, _, frame in stage.flying] == [News]
    stage.hand(1, 0, Ack(1, 0))
    assert len(stage.of_kind(News, 0, 1)) == len(stage.of_kind(Msg, 0, 1)) + 3 == 3
    stage.lose_all()
    stage.hand(1, 0, Ack(2, 0))
    stage.say(0, 1)
    stage.do(0, "expire", Resend("p1"))
    assert len(stage.of_kind(Msg, 0, 1)) == 2
    assert not stage.of_kind(News, 0, 1)
    assert stage.machines[0].channels["p1"].news is None
    stage.hand(1, 0, News(("p0", "p3"), Msg(0, 1, 0, False, None)))
    assert set(stage.machines[0].evicted) == {"p3"}


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
    assert [set(stage.machines[i].evicted) for i in range(3)] == [{"p3"}] * 3


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
    assert set(stage.machines[1].evicted) == {"p3"}
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
    permits = [PermitNews(("p1",), 1)]
    assert stage.of_kind(PermitNews, 0, 2) == stage.of_kind(PermitNews, 0, 3) == permits
    assert not any(stage.machines[0].gauges().values())


@pytest.mark.parametrize(("kind", "goes_on"), [(HybridInOrder, True), (StandsStill, False)])
def test_when_who_stood_first_in_line_is_evicted_the_next_goes_on(kind: Any, goes_on: bool) -> None:
    """p2 has p0's word, not yet its permit: what it says to p3 waits, and what it says to p0 for its turn."""
    stage = Stage(kind, 4)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(Msg, 0, 2)
    stage.say(2, 3)
    stage.say(2, 0)
    assert [frame for _, _, frame in stage.flying if type(frame) is Msg and frame.number == 2] == []
    stage.evict(2, 3)
    assert len(stage.of_kind(News, 2, 0)) == goes_on


def told_to_pass_on(kind: Any) -> Stage:
    """p0: m1->1, which is late; m2->2*. p2 answers to p1, and may not yet."""
    stage = Stage(kind, 3)
    stage.say(0, 1)
    stage.say(0, 2)
    stage.arrive(Msg, 0, 2)
    stage.say(2, 1)
    assert stage.of_kind(Msg, 2, 1) == []
    return stage


@every
def test_a_permit_that_rests_on_an_eviction_says_so(kind: Any) -> None:
    """p0 alone evicts p1, wrongly: p2 must not send p1 what follows p0's message that p1 has not got."""
    stage = told_to_pass_on(kind)
    stage.arrive(Ack, 2, 0)
    stage.evict(0, 1)
    assert stage.of_kind(PermitNews, 0, 2) == [PermitNews(("p1",), 2)]
    stage.arrive(PermitNews, 0, 2)
    assert set(stage.machines[2].evicted) == {"p1"}
    stage.drain()
    assert stage.got[1] == ["p0#1"]


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.receiver_exempt])
def test_so_does_a_message_that_is_a_permit(kind: Any) -> None:
    """p0 goes on talking to p2; the first message after the eviction is lost, the second comes early."""
    stage = told_to_pass_on(kind)
    stage.arrive(Ack, 2, 0)
    stage.evict(0, 1)
    stage.lose_all(PermitNews)
    stage.say(0, 2)
    stage.lose_all(News)
    stage.say(0, 2)
    (news,) = stage.of_kind(News, 0, 2)
    assert not news.message.flagged
    stage.arrive(News, 0, 2)
    assert set(stage.machines[2].evicted) == {"p1"}
    assert stage.of_kind(Msg, 2, 1) == []


def test_what_is_kept_of_evictions_is_one_list() -> None:
    stage = Stage(HybridInOrder, 30)
    for peer in range(1, 20):
        stage.say(0, peer)
    stage.drain()
    for peer in range(20, 30):
        stage.evict(0, peer)
    kept = [stage.machines[0].channels[f"p{peer}"] for peer in range(1, 20)]
    assert all((channel.known, channel.told, channel.news) == (0, 0, None) for channel in kept)
    stage.do(0, "peer_up", "p22")
    stage.say(0, 1)
    news: News = stage.flying[-1].message
    assert news.gone == tuple(f"p{peer}" for peer in range(20, 30) if peer != 22)
    stage.do(0, "peer_up", "p20")
    stage.do(0, "peer_down", "p20")
    stage.drain()
    stage.say(0, 1)
    last: News = stage.flying[-1].message
    assert last.gone == ("p20",)
