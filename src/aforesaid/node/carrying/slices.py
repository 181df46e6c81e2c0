"""Frames of very many datagrams, which leave a few at a time.

A megabyte is 800 datagrams. Said at once they hold the loop, and overrun the socket of their receiver: of a
frame that is larger than that socket the end would be lost each time, and the frame would never arrive. So a
large frame leaves in slices, with time between them for both ends. One that is said again while it is still
leaving is not begun again; how many there are is bounded by what may be under way.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from aforesaid.core import Process
from aforesaid.wire import pack

SLICE_DATAGRAMS = 32
SLICE_S = 0.001
"""So many datagrams at a time, and so often: up to 45 MB a second, to all peers together."""


class Slices:
    """What is leaving; `say(peer, body)` sends one datagram."""

    def __init__(self, body_max: int, say: Callable[[Process, bytes], None]) -> None:
        self._body_max = body_max
        self._frame_max = SLICE_DATAGRAMS * body_max
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._leaving: dict[tuple[Process, int], deque[bytes]] = {}
        """By peer and frame, its bodies that have not left. Who was served last is the last."""
        self._timer: asyncio.TimerHandle | None = None

    def take_large(self, peer: Process, frames: list[bytes]) -> list[bytes]:
        """Let the large ones of these leave in slices; the others are returned."""
        if max(map(len, frames)) <= self._frame_max:
            return frames
        for frame in frames:
            name = peer, hash(frame)
            if len(frame) > self._frame_max and name not in self._leaving:
                self._leaving[name] = deque(pack([frame], self._body_max))
        if self._timer is None:
            self._send_slice()
        return [frame for frame in frames if len(frame) <= self._frame_max]

    def forget(self, peer: Process) -> None:
        for name in [each for each in self._leaving if each[0] == peer]:
            del self._leaving[name]

    def close(self) -> None:
        self._leaving.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _send_slice(self) -> None:
        self._timer = None
        if not self._leaving:
            return
        name = next(iter(self._leaving))
        bodies = self._leaving.pop(name)
        for _ in range(min(SLICE_DATAGRAMS, len(bodies))):
            self._say(name[0], bodies.popleft())
        if bodies:
            self._leaving[name] = bodies
        self._timer = self._loop.call_later(SLICE_S, self._send_slice)
