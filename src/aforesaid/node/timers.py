"""All timers of a protocol on one timer of the loop.

A loop that stood still, with its process or its machine, comes late, and what a timer waits for may have
arrived meanwhile. So what is due then is put off, once, by as much as the loop was late, a second at most.

Arming again only notes the later deadline; the heap learns of it when the earlier one comes up. So a timer
that is moved with every acknowledgment costs a dictionary entry, not a heap operation.
"""

import asyncio
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count

from aforesaid.core import SECOND, Nanoseconds, Timer
from aforesaid.ground import ground

STOOD_STILL: Nanoseconds = SECOND // 10
"""A loop that is later than this stood still."""


class Timers:
    """Armed timers; `expired(timer)` is called when one is due."""

    def __init__(self, expired: Callable[[Timer], None]) -> None:
        self._expired = expired
        self._loop = asyncio.get_running_loop()
        self._now = ground().monotonic_ns
        self._deadlines: dict[Timer, Nanoseconds] = {}
        self._queued: dict[Timer, Nanoseconds] = {}
        """Of each timer in the heap, the deadline that counts there."""
        self._heap: list[tuple[Nanoseconds, int, Timer]] = []
        self._order = count()
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_at: Nanoseconds = 0
        self._put_off = False
        """True while what was due waits a little longer, because the loop stood still."""

    def __len__(self) -> int:
        return len(self._deadlines)

    def arm(self, timer: Timer, deadline: Nanoseconds) -> None:
        self._deadlines[timer] = deadline
        queued = self._queued.get(timer)
        if queued is None or deadline < queued:
            self._push(timer, deadline)
            if self._handle is None or deadline < self._wakes_at:
                self._sleep()

    def disarm(self, timer: Timer) -> None:
        self._deadlines.pop(timer, None)

    def hurry(self, timers: Iterable[Timer]) -> None:
        """These are due at once, if they are armed: in an asynchronous system any timer may be early."""
        for timer in timers:
            if timer in self._deadlines:
                self.arm(timer, self._now())

    def clear(self) -> None:
        """Forget them all."""
        self._deadlines.clear()
        self._queued.clear()
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _push(self, timer: Timer, deadline: Nanoseconds) -> None:
        self._queued[timer] = deadline
        heappush(self._heap, (deadline, next(self._order), timer))

    def _sleep(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._wakes_at = self._heap[0][0]
        wait = max(0, self._wakes_at - self._now()) / SECOND
        self._handle = self._loop.call_later(wait, self._wake)

    def _wake(self) -> None:
        self._handle = None
        now = self._now()
        late = now - self._wakes_at
        if late > STOOD_STILL and not self._put_off:
            self._put_off = True
            self._handle = self._loop.call_later(min(late, SECOND) / SECOND, self._wake)
            return
        self._put_off = False
        heap = self._heap
        due = []
        while heap and heap[0][0] <= now:
            queued, _, timer = heappop(heap)
            if self._queued.get(timer) != queued:
                continue
            del self._queued[timer]
            deadline = self._deadlines.get(timer)
            if deadline is None:
                continue
            if deadline > now:
                self._push(timer, deadline)
            else:
                del self._deadlines[timer]
                due.append(timer)
        for timer in due:
            self._expired(timer)
        if heap and self._handle is None:
            self._sleep()
