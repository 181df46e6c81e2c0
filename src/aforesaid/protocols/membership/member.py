"""Whom a member of a changing group tells of its elder, and whom it answers.

At each heartbeat a member tells its neighbours in the overlay. It asks a stranger whose word it doubts again
at each heartbeat until that is settled; else, once in ten heartbeats by chance, it tells somebody it knows of
and has no link to. It answers a stranger, and only a stranger, that knows of a younger elder than it does.
What of all this means that the group is in pieces is the `elders`' business.
"""

from collections.abc import Set
from typing import Generic, NamedTuple

from aforesaid.core import Process
from aforesaid.protocols.membership.acquaintances import Acquaintances, Choose, Entry
from aforesaid.protocols.membership.elders import Elder, Word

STRANGER_BEATS = 10
"""Once in so many heartbeats a member of a changing group tells a stranger who its elder is."""


class Telling(NamedTuple):
    """What a member does at one heartbeat."""

    word: Word
    """For every neighbour."""
    stranger: Process | None
    """Who is told besides."""
    elsewhere: Process | None
    """A member of the older part of the group, if this member is to begin again there."""


class Member(Generic[Entry]):
    """One incarnation in a changing group."""

    def __init__(self, name: Process, incarnation: int, book: Acquaintances[Entry]) -> None:
        self._name = name
        self._book = book
        self.elder = Elder(name, incarnation)

    def beat(self, neighbours: Set[Process], choose: Choose) -> Telling:
        self.elder.beat()
        stranger = self.elder.doubted
        if stranger is None and choose("tell a stranger", STRANGER_BEATS) == 0:
            stranger = self._book.anyone({self._name, *neighbours}, choose)
        return Telling(self.elder.word, stranger, self.elder.apart())

    def heard(self, source: Process, word: Word, neighbours: Set[Process]) -> Word | None:
        """What to answer, if anything."""
        if source in neighbours:
            self.elder.hear(word)
            return None
        return self.elder.word if self.elder.meet(source, word) else None
