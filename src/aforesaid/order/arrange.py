"""A whole stream of events in causal order."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Hashable, Iterable, Iterator

from aforesaid.order.order import Order
from aforesaid.order.words import Event, Ordered

Naming = Callable[[Event], Hashable]
Following = Callable[[Event], Iterable[Hashable]]


def arrange(
    events: Iterable[Event],
    *,
    id: Naming[Event],
    follows: Following[Event],
    order: Order[Event] | None = None,
) -> Iterator[Ordered[Event]]:
    """The events in causal order. At their end patience is over: see `Order.close`."""
    order = Order() if order is None else order
    for event in events:
        yield from order.put(id(event), follows(event), event)
    yield from order.close()


async def arrange_async(
    events: AsyncIterable[Event],
    *,
    id: Naming[Event],
    follows: Following[Event],
    order: Order[Event] | None = None,
) -> AsyncIterator[Ordered[Event]]:
    """The same of events that come when they come; patience ends in time, whether any comes or not."""
    order = Order() if order is None else order
    source = aiter(events)
    coming: asyncio.Task[Event] | None = None
    try:
        while True:
            coming = asyncio.ensure_future(_next(source)) if coming is None else coming
            await asyncio.wait([coming], timeout=order.due_s)
            if not coming.done():
                done = order.overdue()
            else:
                try:
                    event = coming.result()
                except StopAsyncIteration:
                    break
                coming = None
                done = order.put(id(event), follows(event), event)
            for each in done:
                yield each
    finally:
        if coming is not None:
            coming.cancel()
    for each in order.close():
        yield each


async def _next(source: AsyncIterator[Event]) -> Event:
    return await anext(source)
