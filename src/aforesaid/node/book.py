"""Where processes can be reached, as far as this one was ever told: in a changing group nobody is configured.

Peer sampling hands out names. So whoever sends a frame that names others sends their addresses ahead of it on
the same stream, once for each stream and incarnation. The newest incarnation's address counts.

Who says goodbye is remembered as gone, for others that have not heard of it still tell its address. Who is
lost, or called in vain, may only be cut off, and its address may bring two parts of a group together again:
it stays, as the last to be tried. The book is bounded; what would be tried last leaves first.
"""

import random
from collections import OrderedDict
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

from aforesaid.core import Misuse, Process
from aforesaid.node.notes import Entry
from aforesaid.protocols.overlay.frames import Buffer
from aforesaid.transport import Address

BOOK_MAX = 2**16
BEST = 32
"""How many addresses are tried in search of a group."""


class Book:
    """Addresses by name."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Process, Entry] = OrderedDict()
        """The best last. Without an address: that incarnation is gone."""

    def learn(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            known = self._entries.get(entry.name)
            if entry.address and (known is None or known.incarnation < entry.incarnation):
                self._entries[entry.name] = entry
                self._entries.move_to_end(entry.name)
        while len(self._entries) > BOOK_MAX:
            self._entries.popitem(last=False)

    def address(self, name: Process) -> Address | None:
        entry = self.entry(name)
        return None if entry is None else _parsed(entry)

    def entry(self, name: Process) -> Entry | None:
        entry = self._entries.get(name)
        return entry if entry is not None and entry.address else None

    def reached(self, name: Process) -> None:
        """There is a stream to it."""
        if name in self._entries:
            self._entries.move_to_end(name)

    def doubt(self, name: Process) -> None:
        """Its stream was lost, or it was called in vain."""
        if name in self._entries:
            self._entries.move_to_end(name, last=False)

    def forget(self, name: Process, incarnation: int) -> None:
        """That incarnation is not there any more, whatever others tell."""
        entry = self._entries.get(name)
        if entry is None or entry.incarnation <= incarnation:
            self._entries[name] = Entry(name, incarnation, "")
            self.doubt(name)

    def best(self, but: Process, count: int = BEST) -> list[Address]:
        """Where somebody is most likely to be found, the likeliest first."""
        likely = (self._entries[name] for name in reversed(self._entries) if name != but)
        found = (address for entry in likely if (address := _parsed(entry)) is not None)
        return list(islice(found, count))

    def anyone(self, but: Collection[Process]) -> Process | None:
        """Somebody by chance, except those."""
        names = [name for name, entry in self._entries.items() if entry.address and name not in but]
        return random.choice(names) if names else None

    def named_in(self, frame: Any) -> list[Entry]:
        """Those whom a frame names and who may have to be reached because of it: not those of mere copies."""
        if getattr(frame, "control", False) or type(frame) is Buffer:
            return [entry for name in _texts(frame) if (entry := self.entry(name)) is not None]
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
