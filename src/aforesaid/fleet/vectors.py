"""Vector clocks over a whole fleet: what they would hold and carry over the same flood, and whom they delay.

The rule is that of `protocols.broadcast.waiting`: a message carries its sender's vector, and waits where one
of its entries is ahead of the receiver's. Here a vector has an entry for each process that has said something
in its owner's causal past, and no other: it grows to the classical fixed vector, which has one for each
process of the group from the start. An incarnation that begins anew is a speaker of its own, for its numbers
do, too. A newcomer takes its contact's vector as its own beginning. The vector also tells copies apart; where
counters do that (`waiting` over `reliable`), there are twice as many entries.

The kernel of the fleet tells what arrived first, where and when, and a second kernel follows it, chunk by
chunk: so the fleet itself knows nothing of it. Since a process delivers a speaker's messages in their order,
a vector is also the set of what was delivered; and of that set only the last `window` messages can make a
difference. So vectors are compared as rows of bits, one for each of these. A message that is older when it
comes, or still waits then, is counted in `forgotten`, and delivered at once.

Over preventive broadcast, which tells copies apart by a counter for each process that ever spoke, the entries
are these counters; and one more for each that ever flooded control messages, which have numbers of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from aforesaid.fleet.compiled import compiled_once, entry, inner
from aforesaid.fleet.fleet import Floats, Outcome, Progress, simulate_fleet
from aforesaid.fleet.frontier import window_of
from aforesaid.fleet.layout import FLOODED, Event, Step
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.records import Int32s, Int64s, Record, Records, Rows
from aforesaid.fleet.states import What

GROWTH = 1_024
"""For so many speakers the table of who knows whom gets longer at a time, at least."""


class Clock(Record):
    """The vector of a process."""

    entries: int
    """Of its own vector, of those of the messages that wait here, and of the floods it has counted."""
    size: int
    """Of its own vector alone."""
    waits: int
    """How many messages wait here."""
    speaker: int
    """Its number among the speakers, plus 1; 0: it has said nothing in this incarnation."""


class Tally(Record):
    """What is summed up over all processes."""

    time: int
    entries: int
    speakers: int
    delayed: int
    forgotten: int
    crashed: int
    """How many of the planned crashes were."""
    bucket: int


@dataclass(frozen=True)
class Vectors:
    """What vector clocks would hold and carry."""

    carried: Int32s
    """By broadcast of the plan, how many entries; -1 if it was not said."""
    entries: Floats
    """By bucket, entries over all processes, messages that wait included: the mean over the bucket's time."""
    delayed: int
    """Deliveries that the rule put off: none where every link is safe before it is used."""
    forgotten: int
    waiting: int
    """Messages that wait still."""

    @property
    def mean(self) -> float:
        said = self.carried[self.carried >= 0]
        return float(said.mean()) if len(said) else 0.0


def simulate_vectors(plan: Plan, progress: Progress | None = None) -> tuple[Outcome, Vectors]:
    """Run a plan to its end with the vectors of all."""
    clocks = VectorClocks(plan)
    outcome = simulate_fleet(clocks.plan, progress, clocks.take)
    return outcome, clocks.vectors()


class VectorClocks:
    """Hears what the kernel tells."""

    def __init__(self, plan: Plan, keep: bool = False) -> None:
        # All are traced, whatever the plan says: a vector is of all that was delivered.
        self.plan = replace(plan, traced=None)
        says, n = plan.steps(What.SAY), plan.processes
        self.window = window_of(plan, says)
        words = self.window // 64
        self.origins = np.ascontiguousarray(says["who"], np.int64)
        self.speakers = np.zeros(len(says), np.int64)
        """By broadcast, the number of its speaker."""
        self.crashes = np.ascontiguousarray(plan.steps(What.CRASH))
        self.clocks = np.zeros(n, Clock.dtype)
        self.have, self.late = np.zeros((n, words), np.int64), np.zeros((n, words), np.int64)
        """What each process has delivered, and what waits there."""
        self.speakers_max = len(np.unique(self.origins))
        """So many incarnations may have said something, as far as has been told."""
        self.known = np.zeros((n, 1 + self.speakers_max // 64), np.int64)
        """By process, a bit for each speaker that has an entry in its vector."""
        self.flooders: dict[int, int] = {}
        """Their numbers, in the order in which they were first told of."""
        self.floods = np.zeros((n, 1), np.int64)
        """By process, a bit for each flooder of whom it has heard."""
        self.places = np.zeros((self.window, words), np.int64)
        """What its sender had when it said the message that has this place."""
        self.numbers = np.full(self.window, -1, np.int64)
        self.carried = np.full(len(says), -1, np.int32)
        self.sums = np.zeros(-(-plan.until // plan.bucket), np.float64)
        self.tally = np.zeros(1, Tally.dtype)
        self.order = np.zeros((n * len(says) if keep else 0, 2), np.int64)
        """Rows (process, broadcast) in the order in which the rule delivers them, if asked for."""
        self.delivered = np.zeros(1, np.int64)
        with compiled_once(_follow):
            self.take(np.zeros(0, Event.dtype))

    def take(self, events: Records) -> None:
        self._follow(events, 0)

    def _follow(self, events: Records, until: int) -> None:
        self.speakers_max += int(np.count_nonzero(events["what"] == -1 - events["process"]))
        self.known = _grown(self.known, self.speakers_max)
        _follow(
            self._numbered(events),
            until,
            self.plan.bucket,
            self.origins,
            self.speakers,
            self.crashes,
            self.clocks,
            self.have,
            self.late,
            self.known,
            self.floods,
            self.places,
            self.numbers,
            self.carried,
            self.sums,
            self.order,
            self.delivered,
            self.tally[0],
        )

    def _numbered(self, events: Records) -> Records:
        """The same events, with a flooder's number in place of its name."""
        floods = np.flatnonzero(events["what"] >= FLOODED)
        if not len(floods):
            return events
        events = events.copy()
        names, places = np.unique(events["what"][floods], return_inverse=True)
        numbers = [self.flooders.setdefault(name, len(self.flooders)) for name in names.tolist()]
        events["what"][floods] = FLOODED + np.array(numbers)[places]
        self.floods = _grown(self.floods, len(self.flooders))
        return events

    def entries_at(self, time: int) -> int:
        """Over all processes, at a moment up to which everything was told."""
        self._follow(np.zeros(0, Event.dtype), time)
        return int(self.tally["entries"][0])

    def vectors(self) -> Vectors:
        """What it all came to, at the end of the plan."""
        plan, tally = self.plan, self.tally
        self.entries_at(plan.until)
        ends = np.minimum((np.arange(len(self.sums)) + 1) * plan.bucket, plan.until)
        return Vectors(
            self.carried,
            self.sums / np.diff(ends, prepend=0),
            int(tally["delayed"][0]),
            int(tally["forgotten"][0]),
            int(self.clocks["waits"].sum()),
        )


def _grown(bits: Int64s, count: int) -> Int64s:
    """A row of bits for each process, with room for so many."""
    lacking = count - 64 * bits.shape[1]
    if lacking <= 0:
        return bits
    return np.concatenate([bits, np.zeros((len(bits), (GROWTH + lacking) // 64), np.int64)], 1)


@inner
def _advance(tally: Tally, sums: Floats, bucket: int, time: int) -> None:
    """Time moves on: integrate what was held meanwhile, bucket by bucket."""
    while tally.time < time:
        place = tally.time // bucket
        until = min(time, (place + 1) * bucket)
        if place < sums.shape[0]:
            sums[place] += float(tally.entries) * float(until - tally.time)
        tally.time = until


@inner
def _forget(tally: Tally, clock: Clock, known: Int64s, floods: Int64s, have: Int64s, late: Int64s) -> None:
    """The process, or this incarnation of it, is no more."""
    tally.entries -= clock.entries
    clock.entries, clock.size, clock.waits, clock.speaker = 0, 0, 0, 0
    known[:], floods[:], have[:], late[:] = 0, 0, 0, 0


@inner
def _count_flood(tally: Tally, clock: Clock, floods: Int64s, flooder: int) -> None:
    """The flooder has a counter from now on."""
    bit = 1 << (flooder & 63)
    if not floods[flooder >> 6] & bit:
        floods[flooder >> 6] |= bit
        clock.entries += 1
        tally.entries += 1


@inner
def _covered(needed: Int64s, have: Int64s) -> bool:
    """Whether no entry of the message's vector is ahead of the process's."""
    lacking = 0
    for word in range(needed.shape[0]):
        lacking |= needed[word] & ~have[word]
    return lacking == 0


@inner
def _deliver(tally: Tally, clock: Clock, known: Int64s, speaker: int) -> None:
    """The speaker has an entry in the vector from now on."""
    bit = 1 << (speaker & 63)
    if not known[speaker >> 6] & bit:
        known[speaker >> 6] |= bit
        clock.size += 1
        clock.entries += 1
        tally.entries += 1


@inner
def _wait(tally: Tally, clock: Clock, carried: int, waits: int) -> None:
    """A message begins to wait with its vector, or ends."""
    clock.waits += waits
    clock.entries += waits * carried
    tally.entries += waits * carried


@inner
def _give_place(
    tally: Tally,
    clocks: Rows[Clock],
    have: Int64s,
    late: Int64s,
    places: Int64s,
    place: int,
    carried: int,
) -> None:
    """The place of an old message is another's from here on."""
    word, bit = place >> 6, 1 << (place & 63)
    for q in range(have.shape[0]):
        have[q, word] &= ~bit
        if late[q, word] & bit:
            late[q, word] ^= bit
            tally.forgotten += 1
            _wait(tally, clocks[q], carried, -1)
    for other in range(places.shape[0]):
        places[other, word] &= ~bit


def _make(sources: str) -> Callable[..., None]:
    def kernel(
        events: Rows[Event],
        until: int,
        bucket: int,
        origins: Int64s,
        speakers: Int64s,
        crashes: Rows[Step],
        clocks: Rows[Clock],
        have: Int64s,
        late: Int64s,
        known: Int64s,
        floods: Int64s,
        places: Int64s,
        numbers: Int64s,
        carried: Int32s,
        sums: Floats,
        order: Int64s,
        delivered: Int64s,
        tally: Tally,
    ) -> None:
        last = places.shape[0] - 1
        for row in range(events.shape[0] + 1 if sources else 0):
            time = events[row].time if row < events.shape[0] else until
            while tally.crashed < crashes.shape[0] and crashes[tally.crashed].at <= time:
                q = crashes[tally.crashed].who
                _advance(tally, sums, bucket, crashes[tally.crashed].at)
                _forget(tally, clocks[q], known[q], floods[q], have[q], late[q])
                tally.crashed += 1
            _advance(tally, sums, bucket, time)
            if row == events.shape[0]:
                break
            p, said = events[row].process, events[row].what
            if said < 0:
                q = -1 - said
                _forget(tally, clocks[q], known[q], floods[q], have[q], late[q])
                if q != p:
                    known[q], floods[q], have[q], late[q] = known[p], floods[p], have[p], late[p]
                    clocks[q].entries, clocks[q].size = clocks[p].entries, clocks[p].size
                    clocks[q].waits = clocks[p].waits
                    tally.entries += clocks[p].entries
                continue
            if said >= FLOODED:
                _count_flood(tally, clocks[p], floods[p], said - FLOODED)
                continue
            place, me = said & last, clocks[p]
            word, bit = place >> 6, 1 << (place & 63)
            if origins[said] == p and carried[said] < 0:
                former = numbers[place]
                if former >= 0:
                    _give_place(tally, clocks, have, late, places, place, int(carried[former]))
                numbers[place] = said
                places[place] = have[p]
                if me.speaker == 0:
                    tally.speakers += 1
                    me.speaker = tally.speakers
                speakers[said] = me.speaker - 1
                _deliver(tally, me, known[p], speakers[said])
                carried[said] = me.size
            elif numbers[place] != said:
                tally.forgotten += 1
                _deliver(tally, me, known[p], speakers[said])
                continue
            elif _covered(places[place], have[p]):
                _deliver(tally, me, known[p], speakers[said])
            else:
                late[p, word] |= bit
                tally.delayed += 1
                _wait(tally, me, int(carried[said]), 1)
                continue
            have[p, word] |= bit
            if order.shape[0]:
                order[delivered[0], 0], order[delivered[0], 1] = p, said
                delivered[0] += 1
            # What waits may be free now; and what that sets free, in the order of saying.
            freed = me.waits > 0
            while freed:
                freed = False
                for place in range(last + 1):
                    word, bit = place >> 6, 1 << (place & 63)
                    if late[p, word] & bit and _covered(places[place], have[p]):
                        late[p, word] ^= bit
                        have[p, word] |= bit
                        _wait(tally, me, int(carried[numbers[place]]), -1)
                        _deliver(tally, me, known[p], speakers[numbers[place]])
                        if order.shape[0]:
                            order[delivered[0], 0], order[delivered[0], 1] = p, numbers[place]
                            delivered[0] += 1
                        freed = me.waits > 0

    return kernel


_follow = entry(_make)
