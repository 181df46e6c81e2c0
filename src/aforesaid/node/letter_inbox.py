"""The inbox of a node with a payload type: opens what comes, and takes what is the node's own to take.

Law: one queue, one order. What the application is not to see (answers, subscriptions, what cannot be read)
has its place in the queue like everything else, and leaves it when it has come to the head: so an answer is
handed over when, and only when, all that was delivered before it has been taken. Nobody needs to take it:
what has come to the head leaves by itself. And nothing that was delivered after it is taken before the task
that asked has gone on with it.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from aforesaid.core import SECOND, Ids, MessageId, Misbehaviour, Nanoseconds, PartialOrder, Process
from aforesaid.node.endings import Closed
from aforesaid.node.inbox import Inbox, Interrupt
from aforesaid.node.letters import Answered, Letter, Letters, Published, Subscribed, opened
from aforesaid.node.messages import Message
from aforesaid.node.operating.logs import tell
from aforesaid.node.requests import Requests
from aforesaid.node.topics import Topics

UNREADABLE = "payload"
"""Under which what cannot be read is counted in `node.refused`."""
TELL_AGAIN: Nanoseconds = 10 * SECOND
"""Of one origin it is not told again before."""
TOLD_MAX = 1024
"""Origins that are remembered for that."""


class LetterInbox(Inbox):
    """As `Inbox`, with letters in it."""

    made = Letter

    def __init__(
        self,
        messages_max: int,
        bytes_max: int,
        acknowledge: Callable[[Message[Any]], None],
        name: Process,
        letters: Letters[Any],
        topics: Topics,
        requests: Requests,
    ) -> None:
        super().__init__(messages_max, bytes_max, acknowledge, name)
        self._letters = letters
        self.topics = topics
        self.requests = requests
        requests.gone_on = self._gone_on
        self._told: dict[Process, Nanoseconds] = {}
        """By origin, when it was last told of it."""

    def put(
        self,
        message_id: MessageId,
        payload: bytes,
        after: Ids = (),
        order: PartialOrder | None = None,
        offset: int | None = None,
    ) -> None:
        super().put(message_id, payload, after, order, offset)
        letter = self._queue[-1]
        letter.letters, letter.size = self._letters, len(payload)
        try:
            letter.form = opened(payload)
        except Exception as error:
            self._unreadable(letter, error)
        self._sort(letter)
        self._leave_by_itself()

    def put_run(self, origin: Process, incarnation: int, first: int, payloads: Sequence[bytes]) -> None:
        """Each letter is opened as it is delivered."""
        for number, payload in enumerate(payloads, first):
            self.put(MessageId(origin, incarnation, number), payload)

    async def take(self) -> Message[Any] | None:
        letter = await super().take()
        self._leave_by_itself()
        return letter

    async def take_all(self, most: int) -> list[Message[Any]]:
        """As there, up to where an answer stands: who asked goes on before what follows is taken."""
        first = await self.take()
        batch: list[Message[Any]] = [] if first is None else [first]
        while batch and len(batch) < most and not self.handing and self._is_letter_next():
            batch.append(self._queue.popleft())
            self._took(batch[-1], self._now())
            self._leave_by_itself()
        return batch

    def _is_letter_next(self) -> bool:
        return bool(self._queue) and isinstance(self._queue[0], Message)

    def close(self, error: Exception | None = None) -> None:
        super().close(error)
        self.requests.end(error or Closed(f"{self._name} is closed"))

    def done(self, message: Message[Any]) -> None:
        """As there, by the size that it came with."""
        size = message.size if isinstance(message, Letter) else 0
        self.messages -= 1
        self.bytes -= size
        if message.origin == self._name:
            self._own_messages -= 1
            self._own_bytes -= size

    def before(self, key: bytes) -> int | None:
        """How many messages the application has to take before it has the answer; None: it is not here."""
        for place, letter in enumerate(self._queue):
            if isinstance(letter, Letter) and isinstance(letter.form, Answered) and letter.form.key == key:
                ours = sum(isinstance(each, Letter) and each.ours for each in islice(self._queue, place))
                return place - ours
        return None

    # ----------------------------------------------------------------------------------------- the parts

    def _sort(self, letter: Letter[Any]) -> None:
        """Whose it is, as it is delivered: what is subscribed to counts from its place in the order on."""
        match letter.form:
            case Subscribed(topics):
                self.topics.wants(letter.origin, topics)
                letter.ours = True
            case Published(topic):
                letter.ours = self.topics.leaves_out(topic)
            case None | Answered():
                letter.ours = True

    def _leave_by_itself(self) -> None:
        """Until the application's next message is at the head, with its value as payload. Of several answers
        the tasks that asked go on in the order in which they are answered here."""
        while self._queue and not self._is_for_application(self._queue[0]):
            letter = self._queue.popleft()
            letter.taken()
            if isinstance(letter.form, Answered):
                self._answer(letter, letter.form)
            # Whoever calls us is in the middle of a turn.
            asyncio.get_running_loop().call_soon(letter.ack)

    def _is_for_application(self, item: Letter[Any] | Interrupt) -> bool:
        return not isinstance(item, Letter) or (not item.ours and (item.read or self._read(item)))

    def _answer(self, letter: Letter[Any], form: Answered) -> None:
        if self._read(letter):
            answer = letter.payload
        else:
            answer = Misbehaviour(f"what {letter.origin} answered cannot be read; see the log")
        self.handing += self.requests.answered(letter.origin, form.key, answer)

    def _gone_on(self) -> None:
        """Who asked has its answer, and has come to where it waits for something else."""
        self.handing -= 1
        self._leave_by_itself()
        self._wake()

    def _read(self, letter: Any) -> bool:
        """Put the value in the place of the bytes; False: it is none."""
        try:
            letter.payload, letter.read = self._letters.codec.decode(letter.form.body), True
        except Exception as error:
            self._unreadable(letter, error)
            return False
        return True

    def _unreadable(self, letter: Letter[Any], error: Exception) -> None:
        """Its author misbehaves, or speaks of something else: count it, tell it, and go on without."""
        self.refused[UNREADABLE] += 1
        now, origin = self._now(), letter.origin
        if now - self._told.get(origin, now - TELL_AGAIN) >= TELL_AGAIN:
            if len(self._told) >= TOLD_MAX:
                self._told.clear()
            self._told[origin] = now
            fields = {"peer": origin, "message": str(letter.id), "error": str(error)}
            tell(self._name, "payload refused", level="warning", **fields)
