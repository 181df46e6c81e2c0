"""What is added up in groups is what each by itself would have come to."""

import asyncio
import gc
from itertools import accumulate
from random import Random

import pytest

from aforesaid.core import MessageId
from aforesaid.node.inbox import Inbox
from aforesaid.node.latency import Histogram


@pytest.mark.parametrize("seed", range(50))
def test_many_at_once_are_counted_as_one_by_one(seed: int) -> None:
    chance = Random(seed)
    since = chance.randrange(10**15)
    took = sorted(chance.choice((1 << chance.randrange(40), chance.randrange(1, 10**9))) for _ in range(99))
    together, alone = Histogram(), Histogram()
    together.add_each([since + each for each in took], since)
    for each in took:
        alone.add(each)
    assert together._counts == alone._counts
    assert together.facts() == alone.facts()


def test_the_garbage_collector_need_not_look_at_what_nobody_has_to_acknowledge() -> None:
    async def main() -> None:
        for acknowledge in (None, lambda message: None):
            inbox = Inbox(99, 9999, acknowledge, "me")
            inbox.put_run("you", 7, 3, [b"a", b"bb"])
            taken = await inbox.take_all(9)
            assert [gc.is_tracked(each) for each in taken] == [acknowledge is not None] * 2
            assert [each.id for each in taken] == [MessageId("you", 7, 3), MessageId("you", 7, 4)]

    asyncio.run(main())


def test_messages_of_a_run_are_timed_one_by_one_however_they_are_taken() -> None:
    steps = [1000, *(1 << power for power in range(12, 30))]
    times = iter(list(accumulate(steps)))
    read: list[int] = []

    def clock() -> int:
        read.append(next(times))
        return read[-1]

    async def main() -> None:
        inbox = Inbox(99, 9999, None, "me")
        inbox._now = clock
        told: list[str] = []
        inbox.put_run("you", 0, 1, [b"a", b"bb", b"ccc", b"dddd", b"eeeee"])
        inbox.interrupt(lambda: told.append("between"))
        inbox.put_run("me", 0, 1, [b"f", b"gg", b"hhh"])
        came = list(read)
        taken, expected = [], Histogram()
        for _ in range(2):
            message = inbox.take_now()
            assert message is not None
            assert message.came_ns == came[0]
            taken.append(message)
            expected.add(read[-1] - came[0])
        assert inbox.dwell.facts() == expected.facts()
        message = inbox.take_now()
        assert message is not None
        taken.append(message)
        expected.add(read[-1] - came[0])
        taken += await inbox.take_all(9)  # What is left up to the interruption.
        expected.add(read[-1] - came[0], 2)
        assert [each.payload for each in taken] == [b"a", b"bb", b"ccc", b"dddd", b"eeeee"]
        assert inbox.take_now() is None
        assert not told
        taken += [await inbox.take() or taken[0]]
        expected.add(read[-1] - came[1])
        assert told == ["between"]
        taken += await inbox.take_all(1)
        expected.add(read[-1] - came[1])
        assert inbox.few
        message = inbox.take_now()
        assert message is not None
        taken.append(message)
        expected.add(read[-1] - came[1])
        assert [each.payload for each in taken[5:]] == [b"f", b"gg", b"hhh"]
        assert inbox.dwell.facts() == expected.facts()
        assert inbox.dwell.facts()["count"] == 8
        assert inbox.messages == inbox.bytes == 0
        assert inbox.room_for_own == 99
        assert not inbox.few

    asyncio.run(main())
