"""Messages delivered and not taken by the application yet: bounded, in messages and in bytes.

The bound is not enforced here but by the host, which feeds nothing to the protocol while the inbox is full:
what a protocol delivers cannot be refused. What the node says to itself has a bound of its own, as large:
a busy talker waits when it has reached that, and does not keep out what others say.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import count, repeat
from typing import Any, TypeAlias

from msgspec import Struct

from aforesaid.core import RUN_MAX, Ids, MessageId, Nanoseconds, PartialOrder, Process
from aforesaid.core import Message as Frame
from aforesaid.core.fields import PAYLOAD, marked
from aforesaid.ground import ground
from aforesaid.node.latency import Histogram
from aforesaid.node.messages import Bare, Message

Interrupt: TypeAlias = Callable[[], None]

FEW_MESSAGES = 16
"""So many are handed on before they are acknowledged; with more, acks do not wait for the application."""


class Folded(Struct, gc=False):
    """The messages of a run, as they lie in the queue."""

    origin: Process
    incarnation: int
    first: int
    payloads: Sequence[bytes]
    size: int
    """Of its payloads, in bytes."""
    came_ns: Nanoseconds

    def messages(self, acknowledge: Callable[[Message[Any]], None] | None) -> list[Message[Any]]:
        same, numbers = (repeat(self.origin), repeat(self.incarnation)), count(self.first)
        if acknowledge is None:
            return list(map(Bare, *same, numbers, self.payloads, repeat(self.came_ns)))
        return list(map(Message, *same, numbers, self.payloads, repeat(self.came_ns), repeat(acknowledge)))


class Inbox:
    """The queue between the protocol and `async for message in node`."""

    made: type[Message[Any]] = Message
    """What is put into it."""

    def __init__(
        self,
        messages_max: int,
        bytes_max: int,
        acknowledge: Callable[[Message[Any]], None] | None,
        name: Process,
    ) -> None:
        """`acknowledge`: what a message calls when the application has done with it; None: who takes it has
        done with it."""
        self.messages_max = messages_max
        self._run_max = min(RUN_MAX, messages_max)
        self.bytes_max = bytes_max
        self.messages = 0
        """How many count against the bound: those that the application has not acknowledged."""
        self.bytes = 0
        self.delivered = 0
        """How many ever came."""
        self._dwell = Histogram()
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
        self._folded = 0
        """How many runs are in the queue as they came: their messages are made when they are taken."""
        self._opened: list[Message[Any]] = []
        """Of the last run whose messages were made, those that were not taken, the next one last: they go
        before all that is in the queue."""
        self._opened_came: Nanoseconds = 0
        self._opened_own = False
        self._opened_taken: list[Nanoseconds] = []
        """When others of them were taken, as far as that was not added up yet."""
        self._ordered = False
        """Whether messages carry their frontier: who takes them tells so."""
        self._queue: deque[Any] = deque()
        self._takers: list[asyncio.Future[None]] = []
        """Who waits for a message; some may have been cancelled."""
        self._closed: Exception | None = None
        self._now = ground().monotonic_ns

    @property
    def asks(self) -> bool:
        """Whether messages count until they are acknowledged."""
        return self._acknowledge is not None

    @property
    def few(self) -> bool:
        """True if there is something to take, and not more than the application takes in no time."""
        return 0 < len(self._queue) + len(self._opened) <= FEW_MESSAGES and not self._folded

    @property
    def dwell(self) -> Histogram:
        """How long messages lay here until the application took them."""
        self._add_up()
        return self._dwell

    @property
    def full(self) -> bool:
        """True if there is no room for what others say."""
        messages, size = self.messages - self._own_messages, self.bytes - self._own_bytes
        return (messages >= self.messages_max or size >= self.bytes_max or self.held_up) and not self.closing

    def has_room(self, frame: Frame) -> bool:
        """True if there is room for all that a frame brings; or for nothing more than there ever is; or for
        some of it, if the application has taken all there is, and may wait for more before it acks."""
        room = self.messages_max - self.messages + self._own_messages
        if (room <= 0 or self.bytes >= self.bytes_max or self.held_up) and self.full:
            return False
        return room >= self._run_max or self._empty or len(marked(frame, PAYLOAD)) <= room

    @property
    def room_for_own(self) -> int:
        """For how many more messages of this node itself there is room."""
        return 0 if self._own_bytes >= self.bytes_max else self.messages_max - self._own_messages

    def fills_with_own(self, messages: int, size: int) -> bool:
        """Whether these of this node itself would leave no room for more of them."""
        return self._own_messages + messages >= self.messages_max or self._own_bytes + size >= self.bytes_max

    def left_for_own(self, messages: int, size: int, count_max: int, size_max: int) -> tuple[int, int]:
        """How many more messages, and bytes, of this node itself do not fill it (`fills_with_own`), besides
        these."""
        left = self.messages_max - self._own_messages - messages - 1
        return min(count_max, left), min(size_max, self.bytes_max - self._own_bytes - size)

    def put(
        self,
        message_id: MessageId,
        payload: bytes,
        after: Ids = (),
        order: PartialOrder | None = None,
        offset: int | None = None,
    ) -> None:
        message = self.made(*message_id, payload, self._now(), self._acknowledge, offset, after, order)
        self._queue.append(message)
        self.messages += 1
        self.delivered += 1
        self.bytes += len(payload)
        if message_id.origin == self._name:
            self._own_messages += 1
            self._own_bytes += len(payload)
        if order is not None:
            self._ordered = True
        if self._takers:
            self._wake()

    def put_run(self, origin: Process, incarnation: int, first: int, payloads: Sequence[bytes]) -> None:
        """All messages of a run, from this number on."""
        count, size = len(payloads), sum(map(len, payloads))
        self._queue.append(Folded(origin, incarnation, first, payloads, size, self._now()))
        self._folded += 1
        self.messages += count
        self.delivered += count
        self.bytes += size
        if origin == self._name:
            self._own_messages += count
            self._own_bytes += size
        if self._takers:
            self._wake()

    def take_now(self) -> Message[Any] | None:
        """The next message, if it is there and nothing has to be told besides; None: `take` it."""
        opened = self._opened
        if not opened or self._acknowledge is not None:
            return self._take_now_from_queue()
        message = opened.pop()
        self._opened_taken.append(self._now())
        size = len(message.payload)
        self.messages -= 1
        self.bytes -= size
        if self._opened_own:
            self._own_messages -= 1
            self._own_bytes -= size
        return message

    def _take_now_from_queue(self) -> Message[Any] | None:
        queue = self._queue
        if not queue or self._acknowledge is not None or self._ordered:
            return None
        if type(queue[0]) is Folded:
            self._unfold()
            return self.take_now()
        if type(queue[0]) is not Message:
            return None
        message: Message[Any] = queue.popleft()
        self._dwell.add(self._now() - message.came_ns)
        self._free(message)
        return message

    async def take(self) -> Message[Any] | None:
        """The next message; None once the inbox is closed and empty."""
        while True:
            if (self.handing or not (self._queue or self._opened)) and not await self._something():
                return None
            message = self._next()
            if isinstance(message, Message):
                self._took(message, self._now())
                return message
            message()

    async def take_all(self, most: int) -> list[Message[Any]]:
        """All that are there, up to so many, and at least one; none once the inbox is closed and empty. What
        is told between messages ends a batch."""
        batch: list[Message[Any]] = []
        while not batch:
            if (self._empty or self.handing) and not await self._something():
                return []
            self._gather(batch, most)
        return batch

    def _gather(self, batch: list[Message[Any]], most: int) -> None:
        """All messages that are there, up to so many; what is told before the first of them is told."""
        queue, now = self._queue, self._now()
        while len(batch) < most:
            if self._opened:
                batch += self._taken_of_opened(most - len(batch), now)
            elif not queue:
                return
            elif type(queue[0]) is Folded:
                if len(batch) + len(queue[0].payloads) <= most:
                    batch += self._taken_whole(queue.popleft(), now)
                else:
                    self._unfold()
            elif isinstance(queue[0], Message):
                batch.append(queue.popleft())
                self._took(batch[-1], now)
            elif batch:
                return
            else:
                queue.popleft()()
                return

    @property
    def _empty(self) -> bool:
        return not self._opened and not self._queue

    def _next(self) -> Message[Any] | Interrupt:
        """What is first, taken from its place."""
        if not self._opened:
            first: Message[Any] | Interrupt | Folded = self._queue[0]
            if not isinstance(first, Folded):
                self._queue.popleft()
                return first
            self._unfold()
        return self._opened.pop()

    def _took(self, message: Message[Any], now: Nanoseconds) -> None:
        """It goes to the application."""
        self._dwell.add(now - message.came_ns)
        message.taken()
        if self._acknowledge is None:
            self._free(message)

    def _unfold(self) -> None:
        """Make the messages of the run that is next; all of the one before are taken."""
        self._add_up()
        self._folded -= 1
        run: Folded = self._queue.popleft()
        self._opened = run.messages(self._acknowledge)
        self._opened.reverse()
        self._opened_came, self._opened_own = run.came_ns, run.origin == self._name

    def _add_up(self) -> None:
        if self._opened_taken:
            self._dwell.add_each(self._opened_taken, self._opened_came)
            self._opened_taken = []

    def _taken_of_opened(self, most: int, now: Nanoseconds) -> list[Message[Any]]:
        """So many messages of the run whose messages are made, or all that are left, taken at once."""
        taken = self._opened[-most:]
        del self._opened[-most:]
        taken.reverse()
        self._dwell.add(now - self._opened_came, len(taken))
        if self._acknowledge is None:
            self._free_all(taken[0].origin, len(taken), sum(len(each.payload) for each in taken))
        return taken

    def _taken_whole(self, run: Folded, now: Nanoseconds) -> list[Message[Any]]:
        """The messages of a run, all taken at once."""
        self._folded -= 1
        self._dwell.add(now - run.came_ns, len(run.payloads))
        if self._acknowledge is None:
            self._free_all(run.origin, len(run.payloads), run.size)
        return run.messages(self._acknowledge)

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
        """The application has done with it: its place is free."""
        self._free(message)

    def _free(self, message: Message[Any]) -> None:
        size = len(message.payload)
        self.messages -= 1
        self.bytes -= size
        if message.origin == self._name:
            self._own_messages -= 1
            self._own_bytes -= size

    def _free_all(self, origin: Process, count: int, size: int) -> None:
        self.messages -= count
        self.bytes -= size
        if origin == self._name:
            self._own_messages -= count
            self._own_bytes -= size

    async def _something(self) -> bool:
        """Returns when there is a message, or will be none: False."""
        while self._empty or self.handing:
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
