"""Whoever waits for room to say something: first come, first served."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice


class Senders:
    """A queue of those that wait; `room` says for how many more there is room, `check` raises if for none."""

    def __init__(self, room: Callable[[], int], check: Callable[[], None]) -> None:
        self._room = room
        self._check = check
        self.waiting: deque[asyncio.Event] = deque()
        """Each with the event that it may be its turn."""

    async def wait(self) -> None:
        """Returns when it is this sender's turn and there is room; nobody who came later goes first."""
        self._check()
        if not self.waiting and self._room() > 0:
            return
        turn = asyncio.Event()
        self.waiting.append(turn)
        try:
            while self._room() <= 0 or self.waiting[0] is not turn:
                turn.clear()
                await turn.wait()
                self._check()
        finally:
            self.waiting.remove(turn)
            # There may be more room than for this one, or this one was cancelled.
            if self.waiting:
                self.waiting[0].set()

    def wake(self) -> None:
        """There may be room."""
        for turn in islice(self.waiting, max(0, self._room())):
            turn.set()

    def end(self) -> None:
        """There will be none: all are to hear it."""
        for turn in self.waiting:
            turn.set()
