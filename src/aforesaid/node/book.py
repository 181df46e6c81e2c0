"""Where processes can be reached, as far as this one was told: in a changing group nobody is configured.

Peer sampling hands out names. So whoever sends a frame that names others sends their addresses ahead of it on
the same stream, once for each stream. The newest incarnation's address counts; the book is bounded, and what
was not used for longest leaves first.
"""

import random
from collections.abc import Collection, Iterable
from typing import Any

from aforesaid.core import Misuse, Process
from aforesaid.node.notes import Entry
from aforesaid.protocols.overlay.frames import Buffer
from aforesaid.transport import Address

BOOK_MAX = 2**16


class Book:
    """Addresses by name."""

    def __init__(self) -> None:
        self._entries: dict[Process, Entry] = {}

    def learn(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            known = self._entries.get(entry.name)
            if entry.address and (known is None or known.incarnation < entry.incarnation):
                self._entries.pop(entry.name, None)
                self._entries[entry.name] = entry
        while len(self._entries) > BOOK_MAX:
            del self._entries[next(iter(self._entries))]

    def address(self, name: Process) -> Address | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        self._entries[name] = self._entries.pop(name)
        return _parsed(entry)

    def forget(self, name: Process, incarnation: int) -> None:
        """That incarnation is not there any more."""
        entry = self._entries.get(name)
        if entry is not None and entry.incarnation <= incarnation:
            del self._entries[name]

    def latest(self, count: int, but: Process) -> list[Address]:
        """The addresses that were learned or used last, the last one first."""
        names = [name for name in reversed(self._entries) if name != but][:count]
        return [address for name in names if (address := _parsed(self._entries[name])) is not None]

    def anyone(self, but: Collection[Process]) -> Process | None:
        """Somebody by chance, except those."""
        names = [name for name in self._entries if name not in but]
        return random.choice(names) if names else None

    def entry(self, name: Process) -> Entry | None:
        return self._entries.get(name)

    def named_in(self, frame: Any) -> list[Process]:
        """Whom a frame names that may have to be reached because of it: not those of mere copies."""
        if getattr(frame, "control", False) or type(frame) is Buffer:
            return [name for name in _texts(frame) if name in self._entries]
        return []


def _parsed(entry: Entry) -> Address | None:
    try:
        return Address.parse(entry.address)
    except Misuse:
        return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in _texts(item)]
    return []
