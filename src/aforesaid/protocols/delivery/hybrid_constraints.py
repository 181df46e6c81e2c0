"""Which messages of a process's past may be undelivered, as far as it knows: the constraints it may name.

A constraint (X, S, k): X must first deliver what S said to X up to number k. Of each pair (X, S) only the
youngest counts, since X delivers what S says in order; it is the pair's *candidate*. A process learns
constraints from messages that name them, and makes one with each message it sends, whose S it is itself.

All constraints are in one order, that in which they came to be known, and everything rests on it:
- a message names the youngest candidates, so that what it does not name are all up to some place of the
  order, and what it knows at all up to another. It is permitted when no constraint up to the first place is
  left open, and all that it named is told to hold when none is up to the second;
- a candidate is *superseded* by a younger one of its pair. It still counts for those who wait up to its
  place or beyond; if nobody does it does not count any more, for whoever comes later has the younger one. It
  is *not* superseded by a message from here to X that waits for it there: who evicts us waits for neither;
- towards j, constraints on j, by j, or told by j do not count: j knows them. How far the order is closed but
  for those is looked for only while the oldest open constraint is one of them, and from where the search for
  j ended the last time. Whoever passes a place is concerned by all that is open before it, so that at most
  three processes pass each: the work is amortised constant, however many constraints there are.

A constraint is known to hold by acks, by the word of whoever told it, and by what *its own* S says later: S
names all its messages that may be undelivered, unless its message is opaque. So if a message of S that is not
opaque does not name X, then X has delivered all that S said to it before. What holds is remembered for some
time, for those who have not heard yet will go on naming it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from msgspec import Struct

from aforesaid.core import Process, new
from aforesaid.protocols.delivery.hybrid_adaptive_frames import Name
from aforesaid.structures import SlidingArray

LOOK_MAX = 4
"""How many candidates are looked at in vain, for each that a message may name."""
FACTS_MAX = 1024
"""How many pairs are remembered of which something is known to hold."""

Pair = tuple[Process, Process]


class Constraint(Struct, eq=False, gc=False):
    """One constraint, known here."""

    at: Process
    by: Process
    number: int
    told_by: Process
    name: Name
    place: int
    open: bool = True
    """Whether anybody waits for it, or may yet."""
    waiting: list[Process] = []
    """To whom messages were sent that wait up to here."""

    def concerns(self, peer: Process) -> bool:
        return self.at == peer or self.by == peer or self.told_by == peer


class Constraints:
    """All that one process knows (K, own, idx)."""

    def __init__(self, me: Process, bound: int) -> None:
        self.me = me
        self.bound = bound
        """How many a message may name (B)."""
        self.order: SlidingArray[Constraint] = SlidingArray()
        self.candidates: dict[Pair, Constraint] = {}
        """By pair, in the order of places."""
        self.on: dict[Process, dict[Process, Constraint]] = {}
        """Those that were learnt, by X and S, but for those that a message sent to X waits for already."""
        self.learnt: dict[Process, dict[Process, deque[Constraint]]] = {}
        """All that were learnt and are not known to hold, superseded ones too, by S and X; numbers ascend."""
        self.facts: dict[Pair, int] = {}
        """What is known to hold, by pair."""
        self.concerned: dict[Process, int] = {}
        """How many of the candidates that were learnt concern a process."""
        self.awaited = 0
        """The last place up to which anybody waits."""
        self.news = False
        """Whether constraints were closed of late."""

    # --------------------------------------------------------------------------------- what comes to be known

    def sent(self, at: Process, number: int) -> Constraint:
        """A message leaves for a process, and waits there for all that it must: so will what follows it."""
        if self.on:
            self.on.pop(at, None)
        return self._enter(at, self.me, number, self.me)

    def learn(self, at: Process, by: Process, number: int, told_by: Process) -> None:
        if self.facts.get((at, by), 0) >= number:
            return
        known = self.learnt.setdefault(by, {}).setdefault(at, deque())
        if known and known[-1].number >= number:
            return
        older = self.candidates.get((at, by))
        if older is not None:
            self._count(older, -1)
        constraint = self._enter(at, by, number, told_by)
        known.append(constraint)
        self.on.setdefault(at, {})[by] = constraint
        self._count(constraint, 1)

    def acknowledged(self, constraint: Constraint) -> None:
        """A message sent from here is delivered."""
        self.news = True
        if constraint.open:
            constraint.open = False
            pair = constraint.at, self.me
            if self.candidates.get(pair) is constraint:
                del self.candidates[pair]

    def hold(self, names: Sequence[Name]) -> None:
        """These constraints hold, and so do all that they imply."""
        facts, learnt = self.facts, self.learnt
        known = facts.get
        for at, by, number in names:
            pair = at, by
            if known(pair, 0) < number:
                facts[pair] = number
        for at, by, number in names if learnt else ():
            if by in learnt and at in learnt[by]:
                self._close(at, by, number)
        while len(facts) > FACTS_MAX:
            del facts[next(iter(facts))]

    def unnamed(self, by: Process, number: int, names: Sequence[Name]) -> bool:
        """A message that is not opaque names these: what else its sender said before is delivered. Whether
        that is news; not too many are looked at."""
        of = self.learnt.get(by)
        if of is None:
            return False
        named = {name.at for name in names if name.by == by}
        fulfilled = [at for at in islice(of, LOOK_MAX + len(names)) if at not in named]
        self.hold([new(Name, (at, by, number)) for at in fulfilled])
        return bool(fulfilled)

    def gone(self, process: Process) -> None:
        """What is on or by a process that is gone counts as delivered; and nothing is known of the next."""
        for by, of in list(self.learnt.items()):
            for at, known in list(of.items()):
                if process in (at, by):
                    self._close(at, by, known[-1].number)
        self.facts = {pair: number for pair, number in self.facts.items() if process not in pair}

    # ------------------------------------------------------------------------------------------- what is told

    def chosen(self, peer: Process, room: int) -> tuple[tuple[Name, ...], int, int]:
        """What a message to the peer names, the youngest first; and up to which places it waits, for what it
        does not name, and for that, too. 0: there is nothing."""
        candidates, concerned = self.candidates, self.concerned.get(peer, 0)
        own = candidates.get((peer, self.me))
        available = len(candidates) - concerned - (own is not None)
        if not available:
            return (), 0, 0
        if not concerned:
            youngest = list(islice(reversed(candidates.values()), room + 2))
            if own in youngest:
                youngest.remove(own)
            unnamed = self._wait(peer, youngest[room]) if available > room else 0
            if not room:
                return (), unnamed, 0
            return tuple([it.name for it in youngest[:room]]), unnamed, self._wait(peer, youngest[0])
        chosen: list[Name] = []
        look, last = LOOK_MAX * (room + 1), 0
        for constraint in reversed(candidates.values()):
            if constraint.at == peer or constraint.by == peer or constraint.told_by == peer:
                look -= 1
                if not look:
                    break
            elif len(chosen) == room:
                break
            else:
                chosen.append(constraint.name)
                last = last or self._wait(peer, constraint)
                if len(chosen) == available:
                    return tuple(chosen), 0, last
        return tuple(chosen), self._wait(peer, constraint), last

    def settled(self) -> Iterable[Process]:
        """Whom to look after, since constraints may have been closed."""
        if not self.news:
            return ()
        self.news = False
        order, end = self.order, self.order.next
        dirty: dict[Process, None] = {}
        while order.first < end:
            head = order[order.first]
            if head.open:
                # Towards these it does not count: if anybody waits for more, it may be one of them.
                if head.place <= self.awaited:
                    dirty[head.at] = None
                    if head.by != self.me:
                        dirty[head.by] = dirty[head.told_by] = None
                break
            order.remove()
            for peer in head.waiting:
                dirty[peer] = None
        return dirty

    def closed_below(self, peer: Process, run: int) -> int:
        """All constraints before this place are closed, or concern the peer; `run`: what was said last."""
        order = self.order
        place, end = order.first, order.next
        if place == end:
            return place
        head = order[place]
        if head.at != peer and head.by != peer and head.told_by != peer:
            return place
        place = place + 1 if place >= run else run
        while place < end:
            constraint = order[place]
            if constraint.open and not constraint.concerns(peer):
                break
            place += 1
        return place

    # ---------------------------------------------------------------------------------------------- the parts

    def _wait(self, peer: Process, constraint: Constraint) -> int:
        """A message to the peer waits up to this one."""
        constraint.waiting.append(peer)
        place = constraint.place
        if place > self.awaited:
            self.awaited = place
        return place

    def _enter(self, at: Process, by: Process, number: int, told_by: Process) -> Constraint:
        """One more: the candidate of its pair, and the youngest of all."""
        candidates, pair, order = self.candidates, (at, by), self.order
        older = candidates.pop(pair, None)
        if older is not None:
            self._supersede(older)
        constraint = Constraint(at, by, number, told_by, new(Name, (at, by, number)), order.next)
        order.add(constraint)
        candidates[pair] = constraint
        return constraint

    def _supersede(self, constraint: Constraint) -> None:
        if constraint.place > self.awaited:
            constraint.open = False

    def _close(self, at: Process, by: Process, number: int) -> None:
        """What was learnt of a pair up to this number holds."""
        of = self.learnt[by]
        known = of[at]
        while known and known[0].number <= number:
            constraint = known.popleft()
            if self.candidates.get((at, by)) is constraint:
                self._withdraw(constraint)
            constraint.open = False
            self.news = True
        if not known:
            del of[at]
            if not of:
                del self.learnt[by]

    def _withdraw(self, constraint: Constraint) -> None:
        """One that was learnt is no candidate any more."""
        at, by = constraint.at, constraint.by
        del self.candidates[at, by]
        on = self.on.get(at)
        if on and on.pop(by, None) and not on:
            del self.on[at]
        self._count(constraint, -1)

    def _count(self, constraint: Constraint, change: int) -> None:
        concerned = self.concerned
        for process in dict.fromkeys((constraint.at, constraint.by, constraint.told_by)):
            count = concerned.get(process, 0) + change
            if count:
                concerned[process] = count
            else:
                del concerned[process]
