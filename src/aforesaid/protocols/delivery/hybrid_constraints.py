"""Which messages of a process's past may be undelivered, as far as it knows: the constraints it may name.

A constraint (X, S, k): X must first deliver what S said to X up to number k. Of each pair (X, S) only the
youngest counts, since X delivers what S says in order; it is the pair's *candidate*. A process learns
constraints from messages that name them, and makes one with each message it sends, whose S it is itself.

All constraints are in one order, that in which they came to be known, and everything rests on it:
- a message names the youngest candidates, so that what it does not name are all up to some place of the
  order, the *boundary*; it is permitted when no constraint up to there is left open;
- a candidate is *superseded* by a younger one of its pair. It still counts for those whose boundary is not
  below it; if there are none it does not count any more, for whoever comes later has the younger one. It is
  *not* superseded by a message sent from here to X, though that waits for it: whoever has evicted us would
  wait for neither. But X need not be told again;
- towards j, constraints on j, by j, or told by j do not count: j knows them. How far the order is closed but
  for those is looked for only while the oldest open constraint is one of them, and from where the search for
  j ended the last time. Whoever passes a place is concerned by all that is open before it, so that at most
  three processes pass each: the work is amortised constant, however many constraints there are.
"""

from collections import deque
from collections.abc import Iterable

from aforesaid.core import Process
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Name, Rec
from aforesaid.structures import SlidingArray

LOOK_MAX = 4
"""How many candidates that the receiver knows are passed over, for each that a message may name."""

Pair = tuple[Process, Process]


class Constraint:
    """One constraint, known here."""

    __slots__ = ("at", "below", "by", "number", "open", "place", "recs", "told_by")

    def __init__(self, at: Process, by: Process, number: int, told_by: Process) -> None:
        self.at = at
        self.by = by
        self.number = number
        self.told_by = told_by
        self.place = 0
        self.open = True
        """Whether permits wait for it."""
        self.recs: list[Rec] = []
        """The messages that named it."""
        self.below: list[Process] = []
        """To whom messages were sent whose boundary it is."""

    @property
    def name(self) -> Name:
        return Name(self.at, self.by, self.number)

    def concerns(self, peer: Process) -> bool:
        return self.at == peer or self.by == peer or self.told_by == peer


class Constraints:
    """All that one process knows (K, own, idx)."""

    def __init__(self, me: Process) -> None:
        self.me = me
        self.order: SlidingArray[Constraint] = SlidingArray()
        self.candidates: dict[Pair, Constraint] = {}
        """By pair, in the order of places."""
        self.on: dict[Process, dict[Process, Constraint]] = {}
        """Those that were learnt, by the process they are on and the one whose message it is; but for those
        for which a message sent there waits already."""
        self.learnt: dict[Pair, deque[Constraint]] = {}
        """All that were learnt and are not known to hold, superseded ones too; numbers ascend."""
        self.concerned: dict[Process, int] = {}
        """How many candidates concern a process."""
        self.boundary = 0
        """The highest of all boundaries so far."""
        self.dirty: dict[Process, None] = {}
        """To whom something may be told by now."""

    # --------------------------------------------------------------------------------- what comes to be known

    def sent(self, at: Process, number: int) -> Constraint:
        """A message leaves for a process, and waits there for all that it must: so will what follows it."""
        self.on.pop(at, None)
        return self._enter(Constraint(at, self.me, number, self.me))

    def learn(self, at: Process, by: Process, number: int, told_by: Process) -> None:
        pair = at, by
        known = self.learnt.get(pair)
        if known is None:
            known = self.learnt[pair] = deque()
        elif known[-1].number >= number:
            return
        constraint = Constraint(at, by, number, told_by)
        known.append(constraint)
        self._enter(constraint)
        self.on.setdefault(at, {})[by] = constraint

    def acknowledged(self, constraint: Constraint) -> None:
        """A message sent from here is delivered."""
        if self.candidates.get((constraint.at, self.me)) is constraint:
            self._withdraw(constraint)
        self._close(constraint)

    def fact(self, at: Process, by: Process, number: int) -> None:
        """This constraint holds, and so do all that it implies."""
        pair = at, by
        known = self.learnt.get(pair)
        if known is None:
            return
        while known and known[0].number <= number:
            constraint = known.popleft()
            if self.candidates.get(pair) is constraint:
                self._withdraw(constraint)
                on = self.on.get(at)
                if on and on.pop(by, None) and not on:
                    del self.on[at]
            self._close(constraint)
        if not known:
            del self.learnt[pair]

    def gone(self, process: Process) -> None:
        """What is on or by a process that is gone counts as delivered."""
        for at, by in [pair for pair in self.learnt if process in pair]:
            self.fact(at, by, self.learnt[at, by][-1].number)

    # ------------------------------------------------------------------------------------------- what is told

    def chosen(self, peer: Process, room: int) -> tuple[list[Constraint], Constraint | None]:
        """What a message to the peer names, the youngest first, and the boundary of what it does not."""
        chosen: list[Constraint] = []
        available = len(self.candidates) - self.concerned.get(peer, 0)
        if not available:
            return chosen, None
        look = LOOK_MAX * (room + 1)
        for constraint in reversed(self.candidates.values()):
            if constraint.concerns(peer):
                look -= 1
                if not look:
                    break
            elif len(chosen) == room:
                break
            else:
                chosen.append(constraint)
                if len(chosen) == available:
                    return chosen, None
        self.boundary = max(self.boundary, constraint.place)
        constraint.below.append(peer)
        return chosen, constraint

    def settled(self) -> Iterable[Process]:
        """Whom to look after, since constraints were closed."""
        order = self.order
        while order.first < order.next and not order.peek.open:
            for peer in order.remove().below:
                self.dirty[peer] = None
        if order.first < order.next:
            for peer in _concerned(order.peek):
                self.dirty[peer] = None
        dirty, self.dirty = self.dirty, {}
        return dirty

    def closed_below(self, peer: Process, run: int) -> int:
        """All constraints before this place are closed, or concern the peer; `run`: what was said last."""
        order = self.order
        place, end = order.first, order.next
        if place == end or not order.peek.concerns(peer):
            return place
        place = max(place, run)
        while place < end:
            constraint = order[place]
            if constraint.open and not constraint.concerns(peer):
                break
            place += 1
        return place

    # ---------------------------------------------------------------------------------------------- the parts

    def _enter(self, constraint: Constraint) -> Constraint:
        pair = constraint.at, constraint.by
        older = self.candidates.get(pair)
        if older is not None:
            self._withdraw(older)
            self._supersede(older)
        constraint.place = self.order.add(constraint)
        self.candidates[pair] = constraint
        concerned = self.concerned
        for process in _concerned(constraint):
            concerned[process] = concerned.get(process, 0) + 1
        return constraint

    def _withdraw(self, constraint: Constraint) -> None:
        """It is no candidate any more."""
        del self.candidates[constraint.at, constraint.by]
        concerned = self.concerned
        for process in _concerned(constraint):
            count = concerned[process] - 1
            if count:
                concerned[process] = count
            else:
                del concerned[process]

    def _supersede(self, constraint: Constraint) -> None:
        if constraint.place > self.boundary:
            constraint.open = False

    def _close(self, constraint: Constraint) -> None:
        """It holds."""
        constraint.open = False
        for rec in constraint.recs:
            rec.open -= 1
            if not rec.open:
                self.dirty[rec.peer] = None
        constraint.recs = []


def _concerned(constraint: Constraint) -> Iterable[Process]:
    """Whom it concerns, each once."""
    return dict.fromkeys((constraint.at, constraint.by, constraint.told_by))
