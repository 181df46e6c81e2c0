"""What a peer was told of evictions, and what it is known to know, are not the same."""

from typing import Any

import pytest

from aforesaid.protocols.delivery.hybrid_frames import News
from oracle.kinds import ALL
from oracle.stage import Stage


@pytest.mark.parametrize("kind", ALL)
def test_a_peer_that_tells_of_one_eviction_may_not_know_of_another(kind: Any) -> None:
    """The message that told it is lost; what goes again tells it still."""
    stage = Stage(kind, 4, retransmit=True)
    stage.say(0, 1)
    stage.drain()
    stage.evict(0, 2)
    stage.say(0, 1)
    stage.lose_all()
    stage.evict(1, 3)
    stage.say(1, 0)
    stage.drain()
    assert list(stage.machines[0].evicted) == ["p2", "p3"]
    stage.expire(0)
    assert [news.gone for news in stage.of_kind(News, 0, 1)] == [("p2", "p3")]
    stage.drain()
    assert list(stage.machines[1].evicted) == ["p3", "p2"]
