"""How a part of a changing group that fell apart finds out: by the elder of the group.

Connections that are cut, or many members gone at once, may leave two parts of an overlay that both hold
together and cannot be linked any more: no link leads from one to the other on which the control messages of a
new link could travel. So whoever is in the part with the younger elder begins again in the other one.

The *elder* of a group is its oldest incarnation. It counts heartbeats, and at each heartbeat every member
tells its neighbours in the overlay which elder it knows of and the highest count it has heard. An elder whose
count stands still is gone, and the next one takes its place.

Now and then a member tells a stranger, someone it knows of and has no link to, who answers if it knows of an
older elder. What an elder counts reaches everyone in its part before long. So who is told of an older elder
by a stranger, and does not hear of that count from a neighbour within some heartbeats, is in another part, or
the elder is gone and the stranger did not know. It asks again: if that elder has counted on, it lives.

What holds, as long as a count reaches everyone in its part within `REACH_BEATS`:

- Everyone comes to know the oldest living incarnation of its part, and forgets it when it is gone.
- Nobody begins again in whose part the oldest living incarnation of all is, unless a still older one was
  there a moment ago (`GONE_BEATS + REACH_BEATS + ASK_BEATS`) and its last words are still on their way.
- Parts whose members know of each other become one.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from aforesaid.core import Process

GONE_BEATS = 15
"""An elder whose count has stood still for so many heartbeats is gone."""

REACH_BEATS = 15
"""Within so many heartbeats a count reaches everyone in the same part of the overlay."""

ASK_BEATS = 5
"""For so many heartbeats a stranger is asked again; then what it told is forgotten."""

PAST_MAX = 64
"""Elders that are remembered to be gone."""

Age: TypeAlias = tuple[int, Process]
"""One incarnation of a process; the lesser is the older."""


@dataclass(frozen=True, slots=True)
class Word:
    """What is told of an elder."""

    incarnation: int
    name: Process
    count: int


class Rumour(NamedTuple):
    """What a stranger told of an older elder, and at which heartbeat."""

    stranger: Process
    age: Age
    told: int
    """The elder's count."""
    beat: int


class Elder:
    """What one member knows of the elder of its part of the group."""

    def __init__(self, name: Process, incarnation: int) -> None:
        self._me: Age = (incarnation, name)
        self._beats = 0
        self._age = self._me
        self._count = 0
        self._rose = 0
        """At which heartbeat the count rose."""
        self._past: dict[Age, int] = {}
        """Elders that are gone, and their last counts."""
        self._rumour: Rumour | None = None
        self._elsewhere: Process | None = None

    @property
    def word(self) -> Word:
        """What to tell others."""
        incarnation, name = self._age
        return Word(incarnation, name, self._count)

    def beat(self) -> None:
        """It is time to tell the neighbours again."""
        self._beats += 1
        if self._rumour is not None and self._beats - self._rumour.beat > REACH_BEATS + ASK_BEATS:
            self._rumour = None
        if self._age != self._me and self._beats - self._rose > GONE_BEATS:
            self._past[self._age] = self._count
            if len(self._past) > PAST_MAX:
                del self._past[next(iter(self._past))]
            self._age = self._me
        if self._age == self._me:
            self._count, self._rose = self._beats, self._beats

    def hear(self, word: Word) -> None:
        """From a neighbour."""
        age = (word.incarnation, word.name)
        if self._rumour is not None and age == self._rumour.age and word.count >= self._rumour.told:
            self._rumour = None
        if self._news(word) and (age < self._age or (age == self._age and word.count > self._count)):
            self._age, self._count, self._rose = age, word.count, self._beats

    def meet(self, stranger: Process, word: Word) -> bool:
        """From a stranger; true if it should be told of our elder."""
        age, rumour = (word.incarnation, word.name), self._rumour
        if age < self._age and self._news(word):
            if rumour is None:
                self._rumour = Rumour(stranger, age, word.count, self._beats)
            elif self.doubted and age == rumour.age and word.count > rumour.told:
                self._elsewhere, self._rumour = stranger, None
        return self._age < age

    @property
    def doubted(self) -> Process | None:
        """A stranger to be asked again: what it told of an older elder was not heard from a neighbour."""
        rumour = self._rumour
        return None if rumour is None or self._beats - rumour.beat <= REACH_BEATS else rumour.stranger

    def apart(self) -> Process | None:
        """A member of an older part of the group, if this one is not in it; said once."""
        elsewhere, self._elsewhere = self._elsewhere, None
        return elsewhere

    def _news(self, word: Word) -> bool:
        """False for what is still said of an elder that is gone."""
        age = (word.incarnation, word.name)
        return age != self._me and word.count > self._past.get(age, -1)
