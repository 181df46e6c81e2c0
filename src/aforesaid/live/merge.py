"""All logs in one order in which causes come first, as far as they are there; and what came before what.

It does what the merge and the tracer of `ingest` do, step by step as logs grow: a delivery waits until its
message has been said; the *frontier* of a process, the maximal messages that it said or delivered, is what
its next message comes after. A log waits for what is not there yet, until

- the log of the message's origin has ended without it: nobody said it;
- logs wait for each other in a circle: they contradict each other, and the one that stands earliest goes on;
- a grace time has passed: then the message is overdue. If it is said after all, it is what was delivered.

In each case the log goes on, with a phantom in the message's place.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from aforesaid.live.logs import Key
from aforesaid.live.members import NOWHERE, NUMBER, NUMBER_BITS, PHANTOM, Member, row_of
from aforesaid.live.spans import ADMITTED, DELIVERED, OWN, SAID, STABLE
from aforesaid.trace.model import Int64s

PHANTOMS_MAX = 100_000
"""So many messages that nobody said are looked at; whoever makes up more has been found out long before."""


class Late(NamedTuple):
    """A delivery, or a stable call, of a message that had been settled before."""

    member: Member
    origin: int
    number: int
    position: int
    call: bool
    lacked: bool = False
    """Whether it was settled without this member."""


class Merge:
    """Lets events happen. What happened is in the members, and here."""

    def __init__(self, register: Callable[[Key], int]) -> None:
        """`register` gives the row of somebody who may not have been heard of before."""
        self._register = register
        self.members: list[Member] = []
        self.after: dict[int, tuple[int, ...]] = {}
        """The messages in flight in the order in which they were said, each with what came before it."""
        self.phantoms: dict[int, None] = {}
        self.overdue: set[int] = set()
        """Phantoms that may be said yet."""
        self.late: list[Late] = []
        self.said: list[tuple[int, int, int, tuple[str, ...] | None]] = []
        """What was said since somebody asked: key, deliveries before it, time, audience."""
        self._waiting: dict[Any, list[Member]] = defaultdict(list)
        self._ready: deque[Member] = deque()
        self._since: dict[tuple[int, Any], float] = {}
        """Since when a member waits for something, by its row and what it is."""
        self._moved: dict[int, Member] = {}
        """Those to whom something happened that is not put down yet."""

    def run(self, grown: Iterable[Member], now_s: float) -> None:
        """Let happen what can, now that some logs have grown."""
        blocked = {id(member) for members in self._waiting.values() for member in members}
        self._ready.extend(member for member in grown if id(member) not in blocked)
        self._go_on(now_s)

    def give_up_waiting(self, patience_s: float, now_s: float) -> list[Member]:
        """Who has waited so long goes on without what it waits for; gives those."""
        without = []
        while overdue := [
            (key, member)
            for key, member in self.waits()
            if self._since[member.row, key] <= now_s - patience_s
        ]:
            key, member = min(overdue, key=lambda wait: _stands_at(wait[1]))
            without.append(member)
            self._force(key, member, overdue=True)
            self._go_on(now_s)
        return without

    def waits(self) -> Iterator[tuple[Any, Member]]:
        """Who waits, and for what."""
        return ((key, member) for key, members in self._waiting.items() for member in members)

    def ended(self) -> None:
        """No log will grow any more: everything happens, with what is there."""
        while waits := list(self.waits()):
            lost = [
                wait for wait in waits if not isinstance(wait[0], tuple) and not self._will_be_said(wait[0])
            ]
            key, member = min(lost or waits, key=lambda wait: _stands_at(wait[1]))
            self._force(key, member)
            self._go_on(0.0)

    def _go_on(self, now_s: float) -> None:
        self._until_all_wait()
        # What a log waits for may be known by now to be in no log; or nowhere but behind what waits for it.
        while (hopeless := self._hopeless()) is not None:
            self._force(*hopeless)
            self._until_all_wait()
        self._put_down()
        # Who always waits at the end of a batch, but each time for something else, is only behind.
        waiting = [(member.row, key) for key, member in self.waits()]
        self._since = {wait: self._since.get(wait, now_s) for wait in waiting}

    def _until_all_wait(self) -> None:
        while self._ready:
            member = self._ready.popleft()
            if not member.admitted:
                self._wait(("admission", member.row), member)
            else:
                self._advance(member)

    def _advance(self, member: Member) -> None:
        """Go on with a log until it ends or has to wait. Here every event passes: it is kept short."""
        tape, after, frontier, edits = member.tape, self.after, member.frontier, member.edits
        kinds, keys = tape.lists()
        place, end, position = tape.at, len(kinds), member.delivered
        while place < end:
            kind, key = kinds[place], keys[place]
            if kind == DELIVERED:
                before = after.get(key)
                if before is None:
                    if place not in edits and not self._strange(member, place, position):
                        break
                    if edits[place] != NOWHERE:
                        frontier.add(edits[place])
                else:
                    frontier.difference_update(before)
                    frontier.add(key)
                position += 1
            elif kind == OWN:
                if key not in after and place not in edits:
                    self._strange(member, place, position)
                position += 1
            elif kind == SAID:
                if not self._say(member, place, key, position):
                    break
                frontier = member.frontier
            elif kind == STABLE:
                missing = key not in after and place not in edits
                if missing and not self._strange(member, place, position):
                    break
            elif kind == ADMITTED:
                self._admit(member, *tape.rare[tape.facts[place]][1:])
            else:
                member.see(tape.rare[tape.facts[place]])
            place += 1
        tape.at, member.delivered = place, position
        self._moved[member.row] = member

    def _say(self, member: Member, place: int, key: int, position: int) -> bool:
        number = key & NUMBER
        if number != member.said + 1:
            member.broken = f"said {number} after {member.said}: events are missing"
            member.tape.end_at(place)
            return False
        tape = member.tape
        time, audience = int(tape.time_ns[place]), int(tape.facts[place])
        member.saw_said(number, time)
        self.after[key] = tuple(member.frontier)
        member.frontier = {key}
        self.said.append((key, position, time, None if audience < 0 else tape.audiences[audience]))
        if key | PHANTOM in self.overdue:
            self._said_after_all(key)
        if key in self._waiting:
            self._ready.extend(self._waiting.pop(key))
        return True

    def _strange(self, member: Member, place: int, position: int) -> bool:
        """What to do with a message that is not in flight. False: wait for it."""
        key, call = int(member.tape.key[place]), int(member.tape.kind[place]) == STABLE
        origin, number = self._of(key), key & NUMBER
        edits = member.edits
        if 0 < number <= origin.settled:
            edits[place] = NOWHERE
            lacked = not call and member.lacked_one(origin.row, number)
            self.late.append(Late(member, origin.row, number, position, call, lacked))
            return True
        never = origin.ended is not None and not len(origin.tape) and number > origin.said
        if key | PHANTOM in self.overdue or number < 1 or never or origin is member:
            edits[place] = self._phantom(key)
            return True
        self._wait(key, member)
        return False

    def _phantom(self, key: int) -> int:
        if len(self.phantoms) < PHANTOMS_MAX:
            self.phantoms.setdefault(key | PHANTOM)
        return key | PHANTOM if key | PHANTOM in self.phantoms else NOWHERE

    def _will_be_said(self, key: int) -> bool:
        return self._of(key).tape.will_say(key & NUMBER)

    def _of(self, key: int) -> Member:
        return self.members[row_of(key)]

    def _wait(self, key: Any, member: Member) -> None:
        self._waiting[key].append(member)

    def _force(self, key: Any, member: Member, overdue: bool = False) -> None:
        """A member goes on without what it waits for."""
        self._waiting[key].remove(member)
        if not self._waiting[key]:
            del self._waiting[key]
        if isinstance(key, tuple):
            member.admitted = True
        else:
            phantom = member.edits[member.tape.at] = self._phantom(key)
            if overdue and phantom != NOWHERE:
                self.overdue.add(phantom)
        self._ready.append(member)

    def _hopeless(self) -> tuple[int, Member] | None:
        """What no log will say before whoever waits for it goes on, and who that is; None: there is hope."""
        needs = {member.row: key for key, member in self.waits() if not isinstance(key, tuple)}
        for row, key in needs.items():
            origin = self._of(key)
            if origin.ended is not None and not len(origin.tape) and (key & NUMBER) > origin.said:
                return key, self.members[row]
        for start in needs:
            circle, row = [start], row_of(needs[start])
            while (
                row in needs and row not in circle and self.members[row].tape.will_say(_number(needs, circle))
            ):
                circle.append(row)
                row = row_of(needs[row])
            if row in circle and self.members[row].tape.will_say(_number(needs, circle)):
                earliest = min(circle[circle.index(row) :], key=lambda each: _stands_at(self.members[each]))
                return needs[earliest], self.members[earliest]
        return None

    def _admit(self, contact: Member, name: str, incarnation: int | None) -> None:
        if incarnation is not None:
            self._register((name, incarnation))
        named = [member for member in self.members if member.origin.name == name]
        meant = [member for member in named if incarnation in (None, member.origin.incarnation)]
        for member in sorted(meant, key=lambda member: member.origin.incarnation)[-1:]:
            if member.origin.joined and not member.delivered:
                member.base = tuple({*contact.base, *contact.frontier})
                member.let_in = True
            member.admitted = True
            self._ready.extend(self._waiting.pop(("admission", member.row), ()))

    def _said_after_all(self, key: int) -> None:
        """It was delivered while it was overdue: the phantom is no other than it."""
        phantom = key | PHANTOM
        self.overdue.discard(phantom)
        self.phantoms.pop(phantom, None)
        for member in self.members:
            for seen in (member.log, member.calls):
                seen.key[seen.key == phantom] = key
            member.edits.update(
                dict.fromkeys([at for at, each in member.edits.items() if each == phantom], key)
            )
            member.base = tuple(key if each == phantom else each for each in member.base)
            if phantom in member.frontier:
                member.frontier = (member.frontier - {phantom}) | {key}
        for later, before in self.after.items():
            if phantom in before:
                self.after[later] = tuple(key if each == phantom else each for each in before)

    def _put_down(self) -> None:
        """Write what happened into the logs of those whom it happened to."""
        for member in self._moved.values():
            tape, edits = member.tape, member.edits
            kind, key, time_ns = (column[: tape.at] for column in (tape.kind, tape.key, tape.time_ns))
            delivered = (kind == DELIVERED) | (kind == OWN)
            self._heard(member, key[delivered], time_ns[delivered])
            if edits:
                key = key.copy()
                key[list(edits)] = list(edits.values())
                edits.clear()
            position = np.cumsum(delivered, dtype=np.int32) - delivered
            position += np.int32(member.delivered - np.count_nonzero(delivered))
            for seen, rows in ((member.log, delivered), (member.calls, kind == STABLE)):
                rows &= key != NOWHERE
                seen.add(key[rows], position[rows], time_ns[rows])
            member.newest_ns = max(member.newest_ns, int(time_ns.max(initial=0)))
            tape.cut()
        self._moved = {}

    def _heard(self, member: Member, key: Int64s, time_ns: Int64s) -> None:
        """Of each author the last."""
        rows, places = np.unique((key >> NUMBER_BITS)[::-1], return_index=True)
        last = len(key) - 1 - places
        told = zip(rows.tolist(), (key[last] & NUMBER).tolist(), time_ns[last].tolist(), strict=True)
        for row, number, time in told:
            origin = self.members[row].origin
            member.saw_heard((origin.name, origin.incarnation), number, time)


def _number(needs: dict[int, int], circle: list[int]) -> int:
    """The number of what the last of a chain waits for."""
    return needs[circle[-1]] & NUMBER


def _stands_at(member: Member) -> int:
    tape = member.tape
    return int(tape.time_ns[tape.at]) if len(tape) and member.admitted else member.origin.began_ns
