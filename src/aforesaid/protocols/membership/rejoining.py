"""Where a process that has lost its group looks for it, and who founds the group anew if nobody is left.

An incarnation that has lost its group ends. The next one calls whoever it knows of, the likeliest first, some
rounds long. Everyone who takes the call is a member, for who is not says so. Then:

- Of those who all look for the group and know of each other, exactly one founds it anew: the first by name of
  those who look at the same time. The others find it at their next search. Who was alone in looking founds
  if it was the founder, without a contact to go back to; anyone else once it despairs, after a time that it
  is told: all it knows of may be dead, and if they were only cut off, the parts meet again as the parts of
  any group do (`elders`). This needs two rules. Who was called meanwhile
  founds nothing before the caller itself has told it that it looks for the group as well: else two whose
  searches overlap by so little that only one of them reached the other would both found. And who is to found
  does so at once: during a pause others would search in vain and found too.
- Newcomers, who never were in the group, found nothing, and say so when they call and when they are called:
  nobody leaves the founding to them, nor waits to hear whether they are members.
- Who leaves the younger part of a group that fell apart calls the older part first, where it was told of it,
  and founds nothing because of that one call: its group is there, perhaps at another address.
- Who was not let in somewhere asks there last the next time.
- Who knows of nobody else at all is the whole group, and stays.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Generic, TypeVar

from aforesaid.core import Process
from aforesaid.protocols.membership.epochs import NEWCOMER, OUTSIDE

ROUNDS_MAX = 6
"""How often a newcomer calls all it knows of, over some two seconds."""

ROUNDS_MIN, ROUNDS_S = 3, 3.0
"""Where calls take long: after so many rounds none begins that would be later than this. Whether somebody is
to found the group is known at the end of a search only, and one search may not be enough."""

Place = TypeVar("Place", bound=Hashable)


def is_the_whole_group(known: Collection[Hashable]) -> bool:
    """True for who has lost its last link because everybody has left: it need not begin again."""
    return not known


class Search:
    """What comes of the calls of one search."""

    def __init__(self) -> None:
        self.outsiders: set[Process] = set()
        """Who was there, and no member either."""
        self._callers: set[Process] = set()

    def refused(self, name: Process, reason: str) -> None:
        """A call was answered so."""
        if reason == OUTSIDE:
            self.outsiders.add(name)
        elif reason == NEWCOMER:
            self._callers.discard(name)

    def called_by(self, name: Process, newcomer: bool = False) -> None:
        """Somebody called here: it looks for the group, or is a member that knows of this process."""
        if not newcomer:
            self._callers.add(name)

    @property
    def undecided(self) -> bool:
        """True if somebody called of whom is not known whether it is a member."""
        return not self._callers <= self.outsiders


class Rejoining(Generic[Place]):
    """The searches of one process, from the loss of its group until it is in one again."""

    def __init__(self, me: Process, founder: bool, elsewhere: Place | None) -> None:
        self._me = me
        self._founder = founder
        """It joined nobody when it began."""
        self._elsewhere = elsewhere
        """Where the older part of the group is, if this process left a younger one."""
        self._founds = False
        self._refusals = 0

    def places(self, known: Sequence[Place]) -> list[Place]:
        """Whom to call of those known, in this order; nobody: found the group."""
        if self._founds:
            return []
        if self._elsewhere is not None:
            # Of a group that fell apart not just any member will do, unless the right one is gone.
            return [self._elsewhere]
        first = self._refusals % len(known) if known else 0
        return [*known[first:], *known[:first]]

    def unreached(self, search: Search, despairs: bool = False) -> bool:
        """No member answered; true: found the group now, without a pause."""
        first = self._is_first(search.outsiders, despairs)
        self._founds = self._elsewhere is None and not search.undecided and first
        self._elsewhere = None
        return self._founds

    def not_let_in(self) -> None:
        """A member answered, and this process did not become one."""
        self._refusals += 1
        self._elsewhere = None

    def _is_first(self, outsiders: Collection[Process], despairs: bool) -> bool:
        return self._me < min(outsiders) if outsiders else self._founder or despairs
