"""Requests that wait for their answers: each with a key, a peer and a deadline.

An answer is a message like any other, and comes in its place in the order. So whoever has an answer has been
given all that was said before it, as far as it was said to this node: the inbox hands an answer over when
all that was delivered before it has been taken (`letter_inbox.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aforesaid.core import Misbehaviour, Misuse, Process
from aforesaid.ground import ground
from aforesaid.node.endings import NoAnswer
from aforesaid.node.letters import KEY_BYTES

REQUESTS_MAX = 4096
"""Of one node, that wait at a time; further ones wait until there is room, within their deadlines."""

LIFE_BYTES = 8
"""Of a key: one life of a node is told from the next by chance, for answers may come late."""


class Requests:
    """Of one node."""

    def __init__(self, gone: Callable[[Process], Exception | None], look_s: float) -> None:
        """`gone`: why a peer will not answer any more; it is asked of each, every so often."""
        self.gone_on: Callable[[], None] = _nobody_waits
        """Called for each answer that was handed over, when the task that asked has gone on with it."""
        self._gone, self._look_s = gone, look_s
        self._looking: asyncio.TimerHandle | None = None
        self._life = ground().urandom(LIFE_BYTES)
        self._count = 0
        self._room = asyncio.Semaphore(REQUESTS_MAX)
        self._waiting: dict[bytes, tuple[Process, asyncio.Future[Any]]] = {}
        self._handed: set[bytes] = set()
        """Of those that are answered, who has not gone on."""
        self._ended: Exception | None = None

    async def ask(
        self,
        peer: Process,
        timeout_s: float,
        say: Callable[[bytes], Awaitable[object]],
        why_late: Callable[[bytes], str],
    ) -> Any:
        """The answer to what is said with a key."""
        self._count += 1
        key = self._life + self._count.to_bytes(KEY_BYTES - LIFE_BYTES)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        said = False
        try:
            async with asyncio.timeout(timeout_s), self._room:
                if self._ended is not None:
                    raise self._ended
                self._waiting[key] = peer, answer
                await say(key)
                said = True
                if self._looking is None:
                    self._look()
                return await answer
        except TimeoutError:
            if answer.done() and not answer.cancelled():
                return answer.result()  # In the same moment.
            late = why_late(key) if said else "too much is under way, and it was not said"
            raise NoAnswer(f"{peer} has not answered within {timeout_s:g} s: {late}") from None
        finally:
            self._forget(key)

    def answered(self, peer: Process, key: bytes, answer: Any) -> bool:
        """An answer has come, or the error of one that could not be read. False: nobody waits for it."""
        asked, future = self._waiting.get(key, (None, None))
        if future is None or asked != peer or future.done():
            return False
        if isinstance(answer, Misbehaviour):
            _fail(future, answer)
        else:
            future.set_result(answer)
        self._handed.add(key)
        return True

    def end(self, error: Exception) -> None:
        """The node has ended: nothing will be answered."""
        self._ended = self._ended or error
        for _, future in self._waiting.values():
            if not future.done():
                _fail(future, self._ended)

    def _forget(self, key: bytes) -> None:
        self._waiting.pop(key, None)
        if key in self._handed:
            self._handed.discard(key)
            # After what the caller does with it before it awaits something.
            asyncio.get_running_loop().call_soon(self.gone_on)
        if not self._waiting and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _look(self) -> None:
        """Whoever is gone will not answer; look again later, as long as anybody waits."""
        for peer, future in self._waiting.values():
            if not future.done() and (error := self._gone(peer)) is not None:
                _fail(future, error)
        self._looking = asyncio.get_running_loop().call_later(self._look_s, self._look)


def _nobody_waits() -> None: ...


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # Whoever waited may have been cancelled.


def check_deadline(timeout_s: float) -> None:
    if not isinstance(timeout_s, int | float) or not 0 < timeout_s <= 1e6:
        raise Misuse(f"timeout_s: {timeout_s!r} is no time to wait for; seconds above 0, as 5.0")
