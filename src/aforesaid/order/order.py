"""The rule itself: an event is handed on once, when all that it follows has been.

Each step costs what it hands on and what the event names, whatever is waiting or remembered. All
that is kept has a bound: those that wait (`waiting_max`) and the ids of what was handed on (`remember`). An
event that follows a forgotten id waits for it like for any that has not come, and a repetition of a forgotten
one is taken for new: remember as far back as your events come late.
"""

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, Self

from aforesaid.core import AforesaidError, Misuse
from aforesaid.order.words import DeadLetter, Event, Ordered, Why

WAITING_MAX = 100_000
REMEMBER = 1_000_000
DEADLINES_SLACK = 1_000
_ITSELF: Any = object()


class Full(AforesaidError):
    """So many wait that no other may, and nobody's patience ends: the event was not taken."""


class Unfinished(AforesaidError):
    """No more will come, and some wait that were to wait for ever. They are still there, in `waiting`."""


class _Entry(Generic[Event]):
    """One that waits."""

    __slots__ = ("came", "event", "follows", "id", "lacks")

    def __init__(self, id: Hashable, follows: tuple[Hashable, ...], event: Event, came: float) -> None:
        self.id = id
        self.follows = follows
        self.event = event
        self.came = came
        self.lacks = 0
        """How many of those it follows were not handed on; 0 once it does not wait any more."""


class _Past:
    """The last ids of a kind, so many at most."""

    __slots__ = ("_count", "_line", "ids")

    def __init__(self, count: int) -> None:
        self.ids: dict[Hashable, None] = {}
        self._line: deque[Hashable] = deque()
        self._count = count

    def add(self, id: Hashable) -> None:
        self.ids[id] = None
        self._line.append(id)
        if len(self._line) > self._count:
            self.ids.pop(self._line.popleft(), None)


class Order(Generic[Event]):
    """Takes events as they come and hands them on in causal order, each once.

    Who waits for something that never comes waits for ever; or, with `patience_s`, so long: then it is handed
    on with what it is `lacking`, or, if `dead_letters` is given, that is called with it and with all that
    follows it. When `waiting_max` wait, patience with the eldest is over; without patience `put` is `Full`.
    """

    def __init__(
        self,
        *,
        patience_s: float | None = None,
        dead_letters: Callable[[DeadLetter[Event]], object] | None = None,
        waiting_max: int = WAITING_MAX,
        remember: int = REMEMBER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if patience_s is not None and not patience_s >= 0:
            raise Misuse(f"patience_s is {patience_s}: give seconds, or None to wait for ever")
        if dead_letters is not None and patience_s is None:
            raise Misuse("dead_letters is never called without patience_s: nobody is given up")
        if waiting_max < 1 or remember < 1:
            raise Misuse("waiting_max and remember are at least 1")
        self._patience_s = patience_s
        self._endures_s = float("inf") if patience_s is None else patience_s
        self._dead_letters = dead_letters
        self._waiting_max = waiting_max
        self._clock = clock
        self._waiting: dict[Hashable, _Entry[Event]] = {}
        """In the order in which they came."""
        self._followers: dict[Hashable, dict[Hashable, _Entry[Event]]] = {}
        """Who waits for an id."""
        self._deadlines: deque[_Entry[Event]] = deque()
        """Those that wait, and some that did, as they came."""
        self._handed = _Past(remember)
        self._given_up = _Past(remember)
        self._missed = _Past(remember)
        """What others were handed on without, and has not come since."""
        self.repeated = 0
        """How many came again and were not handed on again."""

    def put(
        self, id: Hashable, follows: Iterable[Hashable] = (), event: Event = _ITSELF
    ) -> list[Ordered[Event]]:
        """An event has come: what may be handed on now, in order. The event is its id if none is given."""
        now, deadlines = self._clock(), self._deadlines
        handed, given_up = self._handed.ids, self._given_up.ids
        what: Any = id if event is _ITSELF else event
        if isinstance(follows, str | bytes):
            raise Misuse(f"{id} follows {follows!r}, which would be its letters: give a list of ids")
        follows, known = tuple(follows), id in handed or id in self._waiting or id in given_up
        done: list[Ordered[Event]] = []
        # Mostly the eldest waits, and may go on waiting.
        if deadlines and deadlines[0].came <= now - self._endures_s:
            # What cannot be taken is refused first: with it what is handed on now would be lost.
            if not known and id in {*follows}:
                raise Misuse(f"{id} follows itself")
            done = self.overdue()
        if known:
            self.repeated += 1
            return done
        lacking = [each for each in follows if each not in handed]
        if lacking:
            if id in lacking:
                raise Misuse(f"{id} follows itself")
            if len(self._waiting) >= self._waiting_max:
                done += self._make_room()
                lacking = [each for each in lacking if each not in handed]
        if not lacking:
            ready = self._hand_on(id, what)
            return done + ready if done else ready
        entry = _Entry(id, follows, what, now)
        if given_up and any(each in given_up for each in lacking):
            self._give_up(entry, tuple(lacking))
        else:
            self._wait(entry, lacking)
        return done

    def overdue(self) -> list[Ordered[Event]]:
        """What may be handed on because patience is over. `put` looks, too; ask if nothing comes for long."""
        done: list[Ordered[Event]] = []
        until = self._clock() - self._endures_s
        while (eldest := self._eldest()) is not None and eldest.came <= until:
            done += self._lose_patience(eldest)
        return done

    def close(self) -> list[Ordered[Event]]:
        """No more will come: patience with all that waits is over. `Unfinished` if it was to be endless."""
        if self._waiting and self._patience_s is None:
            eldest = next(iter(self._waiting))
            raise Unfinished(f"no more will come, and {len(self._waiting)} wait; {self.why(eldest)}")
        done: list[Ordered[Event]] = []
        while (eldest := self._eldest()) is not None:
            done += self._lose_patience(eldest)
        return done

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def due_s(self) -> float | None:
        """In how many seconds `overdue` has something to do, if nothing comes; None if it never has."""
        eldest = self._eldest()
        return None if eldest is None else max(0.0, eldest.came + self._endures_s - self._clock())

    def why(self, id: Hashable) -> Why:
        """What became of an event, or what it waits for."""
        entry = self._waiting.get(id)
        if entry is None:
            if id in self._handed.ids:
                return Why(id, "handed on")
            if id in self._given_up.ids:
                return Why(id, "given up")
            return Why(id, "not here", held_up=len(self._followers.get(id, ())))
        lacking, roots = self._lacking(entry), dict[Hashable, None]()
        seen, look = {id}, list(lacking)
        while look:
            cause = look.pop()
            if cause in seen:
                continue
            seen.add(cause)
            if cause in self._waiting:
                look += self._lacking(self._waiting[cause])
            else:
                roots[cause] = None
        held_up = len(self._followers.get(id, ()))
        return Why(id, "waits", self._clock() - entry.came, lacking, tuple(roots), held_up)

    # ------------------------------------------------------------------------------- to be kept elsewhere

    def saved(self) -> dict[str, Any]:
        """All that it knows, as lists of ids and events: write it as JSON, msgpack, pickle, as they allow."""
        now = self._clock()
        return {
            "handed": list(self._handed.ids),
            "given_up": list(self._given_up.ids),
            "missed": list(self._missed.ids),
            "waiting": [
                [entry.id, list(self._lacking(entry)), entry.event, now - entry.came]
                for entry in self._waiting.values()
            ],
        }

    @classmethod
    def loaded(cls, saved: Mapping[str, Any], **options: Any) -> Self:
        """As it was saved, with the same options as before, or others. Ids that are lists become tuples."""
        order = cls(**options)
        now = order._clock()
        pasts = {"handed": order._handed, "given_up": order._given_up, "missed": order._missed}
        for name, past in pasts.items():
            for id in saved[name]:
                past.add(_hashable(id))
        for id, follows, event, waited_s in saved["waiting"]:
            names = tuple(map(_hashable, follows))
            entry = _Entry(_hashable(id), names, event, now - waited_s)
            order._wait(entry, [each for each in names if each not in order._handed.ids])
        return order

    # ------------------------------------------------------------------------------------------ the steps

    def _wait(self, entry: _Entry[Event], lacking: list[Hashable]) -> None:
        self._waiting[entry.id] = entry
        for each in lacking:
            followers = self._followers.get(each)
            if followers is None:
                self._followers[each] = {entry.id: entry}
                entry.lacks += 1
            elif entry.id not in followers:
                followers[entry.id] = entry
                entry.lacks += 1
        if self._patience_s is not None:
            self._deadlines.append(entry)
            if len(self._deadlines) > 2 * len(self._waiting) + DEADLINES_SLACK:
                self._deadlines = deque(each for each in self._deadlines if each.lacks)

    def _hand_on(
        self, id: Hashable, event: Event, lacking: tuple[Hashable, ...] = ()
    ) -> list[Ordered[Event]]:
        """This one, and whoever waited for nothing else."""
        missed, followers, handed = self._missed.ids, self._followers, self._handed.add
        turn = [Ordered(id, event, lacking, bool(missed) and self._is_late(id))]
        for id, _, _, _ in turn:
            handed(id)
            if id in followers:
                for entry in followers.pop(id).values():
                    entry.lacks -= 1
                    if not entry.lacks:
                        del self._waiting[entry.id]
                        late = bool(missed) and self._is_late(entry.id)
                        turn.append(Ordered(entry.id, entry.event, (), late))
        return turn

    def _lose_patience(self, entry: _Entry[Event]) -> list[Ordered[Event]]:
        lacking = self._part(entry)
        if self._dead_letters is not None:
            self._give_up(entry, lacking)
            return []
        for each in lacking:
            if each not in self._missed.ids:
                self._missed.add(each)
        return self._hand_on(entry.id, entry.event, lacking)

    def _give_up(self, entry: _Entry[Event], lacking: tuple[Hashable, ...]) -> None:
        """This one, and all that follows it: what it waits for will not be handed on."""
        self._bury(entry, lacking)
        lost = [entry.id]
        for id in lost:
            # One by one: whom a call that fails did not come to still waits, and is given up in its time.
            for follower in list(self._followers.get(id, {}).values()):
                lost.append(follower.id)
                self._bury(follower, self._part(follower))

    def _bury(self, entry: _Entry[Event], lacking: tuple[Hashable, ...]) -> None:
        self._given_up.add(entry.id)
        if self._dead_letters is not None:
            self._dead_letters(DeadLetter(entry.id, entry.event, lacking))

    def _make_room(self) -> list[Ordered[Event]]:
        eldest = self._eldest()
        if eldest is None:
            first = next(iter(self._waiting))
            raise Full(f"{len(self._waiting)} wait, and no more may; {self.why(first)}")
        return self._lose_patience(eldest)

    def _eldest(self) -> _Entry[Event] | None:
        """Who waits longest, if patience ends."""
        deadlines = self._deadlines
        while deadlines and not deadlines[0].lacks:
            deadlines.popleft()
        return deadlines[0] if deadlines else None

    def _part(self, entry: _Entry[Event]) -> tuple[Hashable, ...]:
        """It waits no more; what for."""
        lacking = self._lacking(entry)
        entry.lacks = 0
        del self._waiting[entry.id]
        for each in lacking:
            followers = self._followers[each]
            del followers[entry.id]
            if not followers:
                del self._followers[each]
        return lacking

    def _lacking(self, entry: _Entry[Event]) -> tuple[Hashable, ...]:
        return tuple(
            each for each in dict.fromkeys(entry.follows) if entry.id in self._followers.get(each, ())
        )

    def _is_late(self, id: Hashable) -> bool:
        if id in self._missed.ids:
            del self._missed.ids[id]
            return True
        return False


def _hashable(id: Any) -> Hashable:
    return tuple(map(_hashable, id)) if isinstance(id, list) else id
