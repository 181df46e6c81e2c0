"""Whom a process has heard of, and in which order it looks for them: the book of addresses without addresses.

The newest incarnation of a name counts. Who says goodbye is remembered as gone, for others that have not
heard of it still tell of it. Who is lost, or called in vain, may only be cut off, and may bring two parts of
a group together again: it stays, as the last to be tried. Who was reached is tried first. The book is
bounded; what would be tried last leaves first.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from aforesaid.core import Process

BOOK_MAX = 2**16

Choose: TypeAlias = Callable[[str, int], int]
"""A number below count, as `Effects.choose` gives it: the only chance there is."""


class Acquaintance(Protocol):
    """Where one incarnation of a process can be reached, in the words of whoever keeps the book."""

    @property
    def name(self) -> Process: ...
    @property
    def incarnation(self) -> int: ...
    @property
    def address(self) -> str: ...


Entry = TypeVar("Entry", bound=Acquaintance)


class Gone(NamedTuple):
    """That incarnation has left for good."""

    incarnation: int


class Acquaintances(Generic[Entry]):
    """Entries by name."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Process, Entry | Gone] = OrderedDict()
        """The best last."""
        self._others: tuple[Collection[Process], list[Process]] | None = None
        """Besides whom somebody was asked for last, and all others; None: they may have changed. At rest
        nothing changes, and a member asks with every heartbeat."""

    def learn(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            known = self._entries.get(entry.name)
            if entry.address and (known is None or known.incarnation < entry.incarnation):
                self._entries[entry.name] = entry
                self.reached(entry.name)
        while len(self._entries) > BOOK_MAX:
            self._entries.popitem(last=False)

    def entry(self, name: Process) -> Entry | None:
        entry = self._entries.get(name)
        return None if isinstance(entry, Gone) else entry

    def reached(self, name: Process) -> None:
        """There is a stream to it."""
        if name in self._entries:
            self._entries.move_to_end(name)
            self._others = None

    def doubt(self, name: Process) -> None:
        """Its stream was lost, or it was called in vain."""
        if name in self._entries:
            self._entries.move_to_end(name, last=False)
            self._others = None

    def forget(self, name: Process, incarnation: int) -> None:
        """That incarnation is not there any more, whatever others tell."""
        entry = self._entries.get(name)
        if entry is None or entry.incarnation <= incarnation:
            self._entries[name] = Gone(incarnation)
            self.doubt(name)

    def likeliest(self, but: Process) -> Iterator[Entry]:
        """Those who are there most likely, the likeliest first."""
        for name in reversed(self._entries):
            entry = self.entry(name)
            if entry is not None and name != but:
                yield entry

    def anyone(self, but: Collection[Process], choose: Choose) -> Process | None:
        """Somebody by chance, except those."""
        if self._others is None or self._others[0] != but:
            entries = self._entries.items()
            self._others = but, [name for name, each in entries if type(each) is not Gone and name not in but]
        names = self._others[1]
        return names[choose("stranger", len(names))] if names else None
