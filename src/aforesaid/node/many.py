"""Many messages in one call: what a call costs is paid once for all of them.

To say many is to say one after the other: each has its number and its id, waits for room when its turn comes,
and is delivered by itself. What has room is said at once; after each part the rest of the loop has its turn.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from aforesaid.core import RUN_MAX, Misuse
from aforesaid.node.messages import Receipt
from aforesaid.node.several import Several

AT_ONCE_BYTES = 2**18
"""How many bytes are said at once, or else one message."""

BATCH_MAX = 1024
"""How many messages are taken at once."""


async def say_many(said: Several, say: Callable[[Several], Awaitable[Receipt]]) -> Receipt:
    """`say` says as many of these as there is room for, and at least one. The receipt is that of the last:
    the receivers are the same, and have all that was said to them before when they have that."""
    if not said.payloads:
        raise Misuse("no messages: send_many and broadcast_many take one or more")
    for rest in _parts(said):
        receipt = await say(rest)
        while receipt.count < len(rest):
            rest = rest.part(receipt.count, len(rest))
            receipt = await say(rest)
        await asyncio.sleep(0)
    return receipt


def _parts(said: Several) -> Iterator[Several]:
    """In order, and no more at a time than the loop can wait for."""
    begin, count = 0, len(said)
    while begin < count:
        end = max(begin + 1, said.cut(begin, RUN_MAX, AT_ONCE_BYTES))
        yield said if end - begin == count else said.part(begin, end)
        begin = end
