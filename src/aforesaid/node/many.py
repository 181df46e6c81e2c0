"""Many messages in one call: what a call costs is paid once for all of them.

To say many is to say one after the other: each has its number and its id, waits for room when its turn comes,
and is delivered by itself. What has room is said at once; after each part the rest of the loop has its turn.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import accumulate

from aforesaid.core import RUN_MAX, Misuse
from aforesaid.node.messages import Receipt

PART_BYTES = 2**18
"""How many bytes are said at once, or else one message."""

BATCH_MAX = 1024
"""How many messages are taken at once."""


async def say_many(
    payloads: Sequence[bytes], say: Callable[[Sequence[bytes]], Awaitable[tuple[int, Receipt]]]
) -> Receipt:
    """`say` says as many of these as there is room for, and at least one. The receipt is that of the last:
    the receivers are the same, and have all that was said to them before when they have that."""
    if not payloads:
        raise Misuse("no messages: send_many and broadcast_many take one or more")
    for part in _parts(payloads):
        said = 0
        while said < len(part):
            count, receipt = await say(part[said:])
            said += count
        await asyncio.sleep(0)
    return receipt


def _parts(payloads: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """In order, and no more at a time than the loop can wait for."""
    begin = 0
    while begin < len(payloads):
        part = payloads[begin : begin + RUN_MAX]
        count = len(part)
        if sum(map(len, part)) > PART_BYTES:
            count = max(1, sum(size <= PART_BYTES for size in accumulate(map(len, part))))
        yield part[:count]
        begin += count
