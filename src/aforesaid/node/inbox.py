"""Messages delivered and not taken by the application yet: bounded, in messages and in bytes.

The bound is not enforced here but by the host, which feeds nothing to the protocol while the inbox is full:
what a protocol delivers cannot be refused. What the node says to itself has a bound of its own, as large:
a busy talker waits when it has reached that, and does not keep out what others say.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, TypeAlias

from aforesaid.core import RUN_MAX, Ids, MessageId, Nanoseconds, PartialOrder, Process
from aforesaid.core import Message as Frame
from aforesaid.core.fields import PAYLOAD, marked
from aforesaid.ground import ground
from aforesaid.node.latency import Histogram
from aforesaid.node.messages import Message

Interrupt: TypeAlias = Callable[[], None]

FEW_MESSAGES = 16
"""So many are handed on before they are acknowledged; with more, acks do not wait for the application."""


class Inbox:
    """The queue between the protocol and `async for message in node`."""

    made: type[Message[Any]] = Message
    """What is put into it."""

    def __init__(
        self, messages_max: int, bytes_max: int, acknowledge: Callable[[Message[Any]], None], name: Process
    ) -> None:
        self.messages_max = messages_max
        self.bytes_max = bytes_max
        self.messages = 0
        """How many count against the bound: those that the application has not acknowledged."""
        self.bytes = 0
        self.delivered = 0
        """How many ever came."""
        self.dwell = Histogram()
        """How long messages lay here until the application took them."""
        self._own_messages = 0
        """How many of them this node said itself."""
        self._own_bytes = 0
        self._name = name
        self.closing = False
        """Its node closes: whether anybody takes them or not, what others still say must come in, or neither
        would the last words to it come, nor could it take leave in order."""
        self.held_up = False
        """What was taken from others is more than the disk has: they are to wait."""
        self.refused: Counter[str] = Counter()
        """What was delivered and is not for the application, by reason."""
        self.handing = 0
        """Answers on their way to the tasks that asked: what was delivered after them waits for that."""
        self._acknowledge = acknowledge
        self._queue: deque[Any] = deque()
        self._takers: list[asyncio.Future[None]] = []
        """Who waits for a message; some may have been cancelled."""
        self._closed: Exception | None = None
        self._now = ground().monotonic_ns

    @property
    def few(self) -> bool:
        """True if there is something to take, and not more than the application takes in no time."""
        return 0 < len(self._queue) <= FEW_MESSAGES

    @property
    def full(self) -> bool:
        """True if there is no room for what others say."""
        messages, size = self.messages - self._own_messages, self.bytes - self._own_bytes
        return (messages >= self.messages_max or size >= self.bytes_max or self.held_up) and not self.closing

    def has_room(self, frame: Frame) -> bool:
        """True if there is room for all that a frame brings; or for nothing more than there ever is."""
        if self.full:
            return False
        room = self.messages_max - self.messages + self._own_messages
        return room >= min(RUN_MAX, self.messages_max) or len(marked(frame, PAYLOAD)) <= room

    @property
    def room_for_own(self) -> int:
        """For how many more messages of this node itself there is room."""
        return 0 if self._own_bytes >= self.bytes_max else self.messages_max - self._own_messages

    def fills_with_own(self, messages: int, size: int) -> bool:
        """Whether these of this node itself would leave no room for more of them."""
        return self._own_messages + messages >= self.messages_max or self._own_bytes + size >= self.bytes_max

    def put(
        self,
        message_id: MessageId,
        payload: bytes,
        after: Ids = (),
        order: PartialOrder | None = None,
        offset: int | None = None,
    ) -> None:
        message = self.made(message_id, payload, self._acknowledge, after, order, offset)
        message.came_ns = self._now()
        self._queue.append(message)
        self.messages += 1
        self.delivered += 1
        self.bytes += len(payload)
        if message_id.origin == self._name:
            self._own_messages += 1
            self._own_bytes += len(payload)
        if self._takers:
            self._wake()

    async def take(self) -> Message[Any] | None:
        """The next message; None once the inbox is closed and empty."""
        while True:
            if (not self._queue or self.handing) and not await self._something():
                return None
            message: Message[Any] | Interrupt = self._queue.popleft()
            if isinstance(message, Message):
                self._took(message, self._now())
                return message
            message()

    async def take_all(self, most: int) -> list[Message[Any]]:
        """All that are there, up to so many, and at least one; none once the inbox is closed and empty. What
        is told between messages ends a batch."""
        first = await self.take()
        if first is None:
            return []
        batch, queue, now = [first], self._queue, self._now()
        while len(batch) < most and self._is_message_next():
            batch.append(queue.popleft())
            self._took(batch[-1], now)
        return batch

    def _took(self, message: Message[Any], now: Nanoseconds) -> None:
        """It goes to the application."""
        self.dwell.add(now - message.came_ns)
        message.taken()

    def _is_message_next(self) -> bool:
        return bool(self._queue) and isinstance(self._queue[0], Message)

    def interrupt(self, call: Interrupt) -> None:
        """Something that the application is to hear between messages: called when it comes to that place."""
        self._queue.append(call)
        self._wake()

    def close(self, error: Exception | None = None) -> None:
        """No more will come; what is here can still be taken, and then the error is raised, if any."""
        if self._closed is None:
            self._closed = error or StopAsyncIteration()
        self._wake()

    def done(self, message: Message[Any]) -> None:
        self.messages -= 1
        self.bytes -= len(message.payload)
        if message.origin == self._name:
            self._own_messages -= 1
            self._own_bytes -= len(message.payload)

    def done_all(self, batch: list[Message[Any]]) -> None:
        """The same for all of these, which need not be acknowledged any more."""
        size, own = sum([len(message.payload) for message in batch]), []
        for message in batch:
            message.acknowledged()
            if message.id.origin == self._name:
                own.append(len(message.payload))
        self.messages -= len(batch)
        self.bytes -= size
        self._own_messages -= len(own)
        self._own_bytes -= sum(own)

    async def _something(self) -> bool:
        """Returns when there is a message, or will be none: False."""
        while not self._queue or self.handing:
            if self._closed is not None and not self.handing:
                if isinstance(self._closed, StopAsyncIteration):
                    return False
                raise self._closed
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            await taker
        return True

    def _wake(self) -> None:
        takers, self._takers = self._takers, []
        for taker in takers:
            if not taker.done():
                taker.set_result(None)


class Backlog:
    """Frames that wait until the inbox has room: bounded as well, in frames and in bytes of payload."""

    def __init__(self, frames_max: int, bytes_max: int) -> None:
        self._frames_max = frames_max
        self._bytes_max = bytes_max
        self.frames: deque[tuple[Process, Frame]] = deque()
        self._bytes = 0

    def add(self, source: Process, frame: Frame) -> bool:
        """False if there is no room."""
        size = _payload_size(frame)
        if len(self.frames) >= self._frames_max or self._bytes + size > self._bytes_max:
            return False
        self.frames.append((source, frame))
        self._bytes += size
        return True

    def take(self) -> tuple[Process, Frame]:
        source, frame = self.frames.popleft()
        self._bytes -= _payload_size(frame)
        return source, frame

    def forget(self, peer: Process) -> None:
        self.frames = deque(item for item in self.frames if item[0] != peer)
        self._bytes = sum(_payload_size(frame) for _, frame in self.frames)

    def clear(self) -> None:
        self.frames.clear()
        self._bytes = 0


def _payload_size(frame: Frame) -> int:
    return sum(map(len, marked(frame, PAYLOAD)))
