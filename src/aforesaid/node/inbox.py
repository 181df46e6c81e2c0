"""Messages delivered and not taken by the application yet: bounded, in messages and in bytes.

The bound is not enforced here but by the host, which feeds nothing to the protocol while the inbox is full:
what a protocol delivers cannot be refused. What the node says to itself has a bound of its own, as large:
a busy talker waits when it has reached that, and does not keep out what others say.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from aforesaid.core import Ids, MessageId, PartialOrder, Process
from aforesaid.core import Message as Frame
from aforesaid.core.fields import PAYLOAD, marked
from aforesaid.node.messages import Message


class Inbox:
    """The queue between the protocol and `async for message in node`."""

    def __init__(
        self, messages_max: int, bytes_max: int, acknowledge: Callable[[Message], None], name: Process
    ) -> None:
        self.messages_max = messages_max
        self.bytes_max = bytes_max
        self.messages = 0
        """How many count against the bound: those that the application has not acknowledged."""
        self.bytes = 0
        self._own_messages = 0
        """How many of them this node said itself."""
        self._own_bytes = 0
        self._name = name
        self.closing = False
        """Its node closes: whether anybody takes them or not, what others still say must come in, or neither
        would the last words to it come, nor could it take leave in order."""
        self._acknowledge = acknowledge
        self._queue: deque[Message] = deque()
        self._taker: asyncio.Future[None] | None = None
        self._closed: Exception | None = None

    @property
    def full(self) -> bool:
        """True if there is no room for what others say."""
        messages, size = self.messages - self._own_messages, self.bytes - self._own_bytes
        return (messages >= self.messages_max or size >= self.bytes_max) and not self.closing

    @property
    def room_for_own(self) -> int:
        """For how many more messages of this node itself there is room."""
        return 0 if self._own_bytes >= self.bytes_max else self.messages_max - self._own_messages

    def put(
        self,
        message_id: MessageId,
        payload: bytes,
        after: Ids = (),
        order: PartialOrder | None = None,
    ) -> None:
        self._queue.append(Message(message_id, payload, self._acknowledge, after, order))
        self.messages += 1
        self.bytes += len(payload)
        if message_id.origin == self._name:
            self._own_messages += 1
            self._own_bytes += len(payload)
        self._wake()

    async def take(self) -> Message | None:
        """The next message; None once the inbox is closed and empty."""
        while not self._queue:
            if self._closed is not None:
                if isinstance(self._closed, StopAsyncIteration):
                    return None
                raise self._closed
            if self._taker is None or self._taker.done():
                self._taker = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._taker)
        message = self._queue.popleft()
        message.taken()
        return message

    def close(self, error: Exception | None = None) -> None:
        """No more will come; what is here can still be taken, and then the error is raised, if any."""
        if self._closed is None:
            self._closed = error or StopAsyncIteration()
        self._wake()

    def done(self, message: Message) -> None:
        self.messages -= 1
        self.bytes -= len(message.payload)
        if message.origin == self._name:
            self._own_messages -= 1
            self._own_bytes -= len(message.payload)

    def _wake(self) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)


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
