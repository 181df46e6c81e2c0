"""Which of the streams between two processes counts: either end decides alone, and both come to the same.

Who calls says which stream between the two it knew last, its *epoch*; who is called gives the new stream the
next one. A call by someone who knows the present stream tells that it is lost; a call by someone who does not
crossed it on the way and is refused. If both have said hello and wait for an answer, the call of the lesser
name counts. What holds:

- When no call, answer or loss is under way between two ends, both hold the same stream for the present one,
  or neither holds any; and both know it by the same epoch.
- An end that has a stream gives it up only for one of a higher epoch, and only if something was lost.
- Of one incarnation an end never goes back to an earlier start: one that survives its starts has its state,
  and whoever still speaks for an earlier one has been superseded.
- Of one name an end never goes back to an earlier incarnation. In a changing group a later one takes the
  place of an earlier one; in a fixed group the first one that is heard counts, for a later one has lost its
  state and only the operator can say what that means.
- Who is not a member yet takes no calls: what those who join through it say before it is one, the members of
  its group would never hear.
- Whoever was evicted is not let in again: in a changing group that incarnation, in a fixed group that name.

In a fixed group every peer is called until it is there. In a changing group a peer is given up after some
calls in vain; but a peer that says that its own call is on its way must come, unless it has ended.
"""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

from aforesaid.core import Process, Refused

CALLS_MAX = 3
"""How often a peer of a changing group is called in vain before what was said to it is given up."""

CROSSINGS_MAX = 100
"""How often a peer of a changing group may say that its own call is on its way."""

OUTSIDE = "no member yet"
"""Why who has lost its group takes no calls."""

NEWCOMER = "no member ever"
"""Why who was in no group yet takes no calls."""

EVICTED = "evicted"
"""Why who was evicted is not let in."""

STRANGER = "stranger"
"""Why who is no member of a fixed group is not let in; of one that changes, it may not be known yet."""

REMINDER_BEATS = 10
"""Once in so many heartbeats who was evicted is told so, for it may live, and have nothing to say to us."""

CROSSED = "crossed"
"""Why a call is not taken if there is a stream already, or a call on its way that counts."""


SUPERSEDED = "superseded"
"""Why nothing of a start is let in: a later one was heard, or another one of the same count."""

START_COUNT_BIT = 32
"""A start is a count, from 1, above this bit, and chance below it: of two with one count, one began with what
the other had when it began. One of them is a backup that was put back. 0: its first one is its last."""


def supersedes(start: int, known: int) -> bool:
    """Whether this start of an incarnation takes the place of the known one; Refused if it must not."""
    if start != known and (not known or start >> START_COUNT_BIT <= known >> START_COUNT_BIT):
        raise Refused(SUPERSEDED)
    return start != known


class Restarted(Refused):
    """A later incarnation of a member of a fixed group."""

    def __init__(self, name: Process) -> None:
        super().__init__("incarnation")
        self.name = name


class TurnedAway(Refused):
    """The word of the other end that our call is not taken."""


class Line:
    """One end's view of the streams to one peer."""

    __slots__ = ("epoch", "hailed", "incarnation", "name", "start", "stream")

    stream: object | None
    """The present one, whatever a stream is to the host."""

    def __init__(self, name: Process) -> None:
        self.name = name
        self.stream = None
        self.epoch = 0
        """Of the last stream there was."""
        self.incarnation = 0
        """The one that was heard; 0: none yet."""
        self.start = 0
        """Which start of it."""
        self.hailed = False
        """True while it has our hello and we have not its answer."""

    def meet(self, incarnation: int, start: int = 0) -> bool:
        """This incarnation is there, in this start; true if it is news."""
        news = (incarnation, start) != (self.incarnation, self.start)
        self.incarnation, self.start = incarnation, start
        return news

    def stand(self, stream: object, epoch: int) -> None:
        """A stream that is to count; the one before was lost."""
        self.stream, self.epoch = stream, epoch

    def lose(self, stream: object) -> bool:
        """The stream is lost; true if it was the present one."""
        if self.stream is not stream:
            return False
        self.stream = None
        return True


AnyLine = TypeVar("AnyLine", bound=Line)


class Epochs(Generic[AnyLine]):
    """The lines of one process. A call that is not to be taken raises Refused, with the reason to tell."""

    def __init__(
        self, me: Process, fixed: Collection[Process] | None, new_line: Callable[[Process], AnyLine]
    ) -> None:
        self._me = me
        self._fixed = fixed is not None
        self._new_line = new_line
        self.lines: dict[Process, AnyLine] = {name: new_line(name) for name in fixed or ()}
        self.gone: dict[Process, int] = {}
        """Evicted names, each with its incarnation."""

    def hail(self, line: AnyLine) -> int:
        """The epoch to call with; until `hail_over` the peer may answer."""
        if line.stream is not None:
            raise Refused(CROSSED)
        line.hailed = True
        return line.epoch

    def hail_over(self, line: AnyLine) -> None:
        """The answer is here, or none will come."""
        line.hailed = False

    def answered(self, name: Process, incarnation: int, epoch: int, refusal: str, start: int = 0) -> AnyLine:
        """Our call has this answer; the line on which the new stream is to stand."""
        if refusal:
            raise TurnedAway(refusal)
        line = self._line(name)
        if line.stream is not None and epoch <= line.epoch:
            raise Refused(CROSSED)
        self._compare_incarnations(line, incarnation, start)
        return line

    def called(
        self, name: Process, incarnation: int, epoch: int, inside: bool, start: int = 0
    ) -> tuple[AnyLine, int]:
        """Somebody calls; the line on which the new stream is to stand, and its epoch."""
        if name == self._me:
            raise Refused("claimed")
        if not inside:
            raise Refused(OUTSIDE)
        if name in self.gone and (self._fixed or incarnation <= self.gone[name]):
            raise Refused(EVICTED)
        if self._fixed and name not in self.lines:
            raise Refused(STRANGER)
        line = self._line(name)
        resumed = self._compare_incarnations(line, incarnation, start)
        if (not resumed and self._knows_less(line, incarnation, epoch)) or self._calls_first(line):
            raise Refused(CROSSED)
        return line, max(line.epoch, epoch) + 1

    def evict(self, name: Process) -> AnyLine:
        """Nothing of this peer is let in any more; its line, to be ended."""
        line = self.lines.pop(name, None) or self._new_line(name)
        self.gone[name] = line.incarnation
        return line

    def _line(self, name: Process) -> AnyLine:
        if name not in self.lines:
            self.lines[name] = self._new_line(name)
        return self.lines[name]

    def _knows_less(self, line: AnyLine, incarnation: int, epoch: int) -> bool:
        """A call that the present stream crossed on the way: its caller did not know of it."""
        return line.stream is not None and incarnation == line.incarnation and epoch < line.epoch

    def _calls_first(self, line: AnyLine) -> bool:
        """True if our own call is on its way and counts."""
        return line.hailed and self._me < line.name

    def _compare_incarnations(self, line: AnyLine, incarnation: int, start: int) -> bool:
        """Refused unless it counts; true if it is the known one, in a later start."""
        if line.incarnation and incarnation < line.incarnation:
            raise Refused("incarnation")
        if line.incarnation and incarnation > line.incarnation and self._fixed:
            raise Restarted(line.name)
        return incarnation == line.incarnation and supersedes(start, line.start)


class Patience:
    """How long a peer is called that is not there."""

    def __init__(self, endless: bool) -> None:
        self._endless = endless
        self._failed: Counter[bool] = Counter()

    def spent(self, crossed: bool) -> bool:
        """One more call came to nothing; true if it was the last."""
        self._failed[crossed] += 1
        return not self._endless and self._failed[crossed] >= (CROSSINGS_MAX if crossed else CALLS_MAX)
