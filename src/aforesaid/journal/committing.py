"""Group commit: one force of the disk for the inputs of many turns, and nothing leaves before it.

Effects rest on all that the machine was told before them. So they are held until a commit, which makes all of
it durable and lets all of them go, in order. What a machine asks for and nobody outside can see, a timer or a
choice, is not held. The window says how long the first may wait, and how many inputs one commit takes.
"""

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


WINDOWS = {"always": Window(1, 0), "batch": Window(256, 5 * MILLISECOND)}
"""By the setting `durability`. With `always` a commit is due at the end of every turn."""


class GroupCommit(Generic[Effect]):
    """What waits for the disk."""

    def __init__(self, journal: Journal, window: Window) -> None:
        self.journal = journal
        self._window = window
        self._held: list[Effect] = []
        self.hold: Callable[[Effect], None] = self._held.append
        """Keep an effect until the next commit."""
        self.due_ns: Nanoseconds | None = None
        """When the next commit is due, by the clock of who calls; None: nothing waits."""

    def add(self, record: bytes, now: Nanoseconds) -> None:
        """The machine was told this."""
        self.journal.append(record)
        if self.due_ns is None:
            self.due_ns = now + self._window.wait_ns_max
        if self.journal.pending >= self._window.records_max:
            self.due_ns = now

    def due(self, now: Nanoseconds) -> bool:
        return self.due_ns is not None and self.due_ns <= now

    def commit(self) -> list[Effect]:
        """What may leave now. If the disk takes nothing more, nothing ever leaves again."""
        self.journal.commit()
        self.due_ns = None
        free = self._held.copy()
        self._held.clear()
        return free
