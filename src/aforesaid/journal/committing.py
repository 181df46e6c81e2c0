"""Group commit: one force of the disk for the inputs of many turns, and nothing leaves before it.

Effects rest on all that the machine was told before them. So they are held until a commit, which makes all of
it durable and lets all of them go, in order. What a machine asks for and nobody outside can see, a timer or a
choice, is not held. The window says how long the first may wait, and how many inputs one commit takes.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from aforesaid.core import MILLISECOND, Nanoseconds
from aforesaid.journal.journal import Journal

Effect = TypeVar("Effect")


@dataclass(frozen=True)
class Window:
    """When a commit is due."""

    records_max: int
    wait_ns_max: Nanoseconds


WINDOWS = {"always": Window(1, 0), "batch": Window(256, MILLISECOND)}
"""By the setting `durability`. With `always` a commit is due at the end of every turn."""


class GroupCommit(Generic[Effect]):
    """What waits for the disk."""

    def __init__(self, journal: Journal, window: Window) -> None:
        self.journal = journal
        self._window = window
        self._full_at = journal.last + window.records_max
        """With the record of this number a commit has all that it takes."""
        self.held: deque[Effect] = deque()
        self.hold: Callable[[Effect], None] = self.held.append
        """Keep an effect until the next commit."""
        self.due_ns: Nanoseconds | None = None
        """When the next commit is due, by the clock of who calls; None: nothing waits."""

    def add(self, record: bytes, now: Nanoseconds) -> None:
        """The machine was told this."""
        if self.journal.append(record) >= self._full_at:
            self.due_ns = now
        elif self.due_ns is None:
            self.due_ns = now + self._window.wait_ns_max

    def soon(self, now: Nanoseconds) -> None:
        """Something is to be on the disk when the window has passed."""
        if self.due_ns is None:
            self.due_ns = now + self._window.wait_ns_max

    def due(self, now: Nanoseconds) -> bool:
        return self.due_ns is not None and self.due_ns <= now

    def begin(self) -> tuple[list[bytes], int]:
        """A commit begins: what is to be forced, and how many effects rest on it."""
        self.due_ns = None
        self._full_at = self.journal.last + self._window.records_max
        return self.journal.gathered(), len(self.held)

    def free(self, count: int) -> list[Effect]:
        """It has been forced: what may leave now. If the disk takes nothing more, nothing ever does again."""
        return [self.held.popleft() for _ in range(count)]

    def commit(self) -> list[Effect]:
        """All of this at once."""
        batch, count = self.begin()
        self.journal.force(batch)
        return self.free(count)
