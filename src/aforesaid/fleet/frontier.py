"""The causal frontiers of a whole fleet: what every message would carry, and what it costs to keep.

The rule is that of `protocols.frontier`: a message carries F of its origin, then F = {m}; on delivery of m,
F = (F \\ P) ∪ {m}. A process that enters, or begins again, has F empty. The kernel tells what was delivered,
in order, and a second kernel follows it, chunk by chunk: so the fleet itself knows nothing of it.

F and P are rows of bits, one for each of the last `window` messages said: a delivery takes a few words. What
is in some F when its bit is needed again is dropped from it and counted in `forgotten`; where nobody crashes
and the overlay holds together there is none, for what everyone delivers is soon followed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aforesaid.fleet.compiled import compiled_once, entry
from aforesaid.fleet.fleet import Outcome, Progress, simulate_fleet
from aforesaid.fleet.layout import FLOODED, Event
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.records import Int32s, Int64s, Record, Records, Rows
from aforesaid.fleet.states import What

WINDOW_MIN = 256
HOPS = 16
"""For so many a message may be in a frontier: to reach everyone, and its followers after it."""


class Counts(Record):
    said: int
    forgotten: int


@dataclass(frozen=True)
class Frontiers:
    """What messages carried."""

    carried: Int32s
    """By broadcast of the plan, how many ids; -1 if it was not said."""
    after: list[list[int]]
    """By broadcast, which; empty lists unless asked for."""
    forgotten: int

    @property
    def mean(self) -> float:
        said = self.carried[self.carried >= 0]
        return float(said.mean()) if len(said) else 0.0

    @property
    def largest(self) -> int:
        return int(self.carried.max(initial=0))


def simulate_frontiers(
    plan: Plan, progress: Progress | None = None, keep: bool = False
) -> tuple[Outcome, Frontiers]:
    """Run a plan to its end with the frontiers of all; `keep` says which ids, not only how many."""
    follower = _Follower(plan, keep)
    outcome = simulate_fleet(follower.plan, progress, follower.take)
    return outcome, Frontiers(follower.carried, follower.after, int(follower.counts["forgotten"][0]))


class _Follower:
    """Hears what the kernel tells."""

    def __init__(self, plan: Plan, keep: bool) -> None:
        # All are traced, whatever the plan says: a frontier is of all that was delivered.
        self.plan = Plan(**{**vars(plan), "traced": None})
        says = plan.steps(What.SAY)
        self.window = window_of(plan, says)
        words = self.window // 64
        self.origins = np.ascontiguousarray(says["who"], np.int64)
        self.fronts = np.zeros((plan.processes, words), np.int64)
        self.places = np.zeros((self.window, words), np.int64)
        """P of each message, by its number modulo the window."""
        self.carried = np.full(len(says), -1, np.int32)
        self.kept = np.zeros((len(says) if keep else 0, words), np.int64)
        self.counts = np.zeros(1, Counts.dtype)
        with compiled_once(_follow):
            self.take(np.zeros(0, Event.dtype))

    def take(self, events: Records) -> None:
        tables = self.origins, self.fronts, self.places, self.carried, self.kept
        _follow(events, *tables, self.counts[0])

    @property
    def after(self) -> list[list[int]]:
        """A bit stands for the last message of that number, modulo the window, before the one that has it."""
        bits = np.unpackbits(self.kept.view(np.uint8), axis=1, bitorder="little")
        before = ((said - 1, np.flatnonzero(row)) for said, row in enumerate(bits))
        return [sorted((last - (last - places) % self.window).tolist()) for last, places in before]


def window_of(plan: Plan, says: Records) -> int:
    """A power of two, and as many as are said while a message may be in a frontier."""
    said, longest = says["at"], plan.slowest
    within = np.searchsorted(said, said + HOPS * longest) - np.arange(len(said))
    return max(WINDOW_MIN, 1 << int(within.max(initial=1)).bit_length())


def _make(sources: str) -> Callable[..., None]:
    def kernel(
        events: Rows[Event],
        origins: Int64s,
        fronts: Int64s,
        places: Int64s,
        carried: Int32s,
        kept: Int64s,
        counts: Counts,
    ) -> None:
        words = fronts.shape[1]
        for row in range(events.shape[0] if sources else 0):
            p, said = events[row].process, events[row].what
            if said == -1 - p:
                for word in range(words):
                    fronts[p, word] = 0
            if said < 0 or said >= FLOODED:
                continue
            place = said & (places.shape[0] - 1)
            mine, bit = place >> 6, 1 << (place & 63)
            if origins[said] == p and carried[said] < 0:
                count = 0
                for q in range(fronts.shape[0]):
                    if fronts[q, mine] & bit:
                        fronts[q, mine] ^= bit
                        counts.forgotten += 1
                for word in range(words):
                    front = fronts[p, word]
                    places[place, word] = front
                    if kept.shape[0]:
                        kept[said, word] = front
                    while front:
                        front &= front - 1
                        count += 1
                carried[said] = count
                counts.said += 1
                for word in range(words):
                    fronts[p, word] = 0
            else:
                for word in range(words):
                    fronts[p, word] &= ~places[place, word]
            fronts[p, mine] |= bit

    return kernel


_follow = entry(_make)
