"""Frames whose receipt need not wait: persistent sets of one move.

A frame f on its way to p is *prompt* if its receipt commutes with everything else p may do before it: for
each other input i, "f, then i" leads to the same local state as "i, then f", and the two steps together
send the same frames and deliver the same messages in the same order. Acknowledgments are like that, once
they can no longer change what will be said. If f cannot be lost, to receive it at once is enough: in any
run, move its receipt to the front. (What other processes do does not matter: their steps commute with it
anyway.) Of n such frames one order is tried instead of n!, and n worlds are visited instead of 2^n.

That two inputs commute in one local state can be seen by trying. That they do in every later state is
assumed first and proved at the end over local states (`Commuting.bad`). A pair (l, f) is good if f commutes
in l with each input i known at the state after f, and the pair (state after i, f) is good in turn; the
states after i, in which f is late, may never have been visited, so the proof visits them. The inputs known
are enough: a run in which f is late has the inputs of the run with f at its beginning. That one is shorter by
one step, f, once f is received; if f is not received in the run at all, it is as long, but begins at a world
further on. Explored moves lead from no world back to it (`Search.goes_round`), so by induction on the length,
and then on how far the explored moves lead, its local steps are known.

Where stability is promised, nobody may call a message stable before others have delivered it. A prompt
receipt moves calls forward and never back, which hides nothing; but then it must not move a delivery, so a
receipt that ever delivers is not prompt.

Pairs that turn out bad are remembered and the exploration starts over; where most frames of a kind of
message fail, that kind is given up. Early audits are cheap, so they are made early (`explorer`).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

import numpy as np

from aforesaid.explore.cells import FREE, Cells, Move
from aforesaid.explore.local import EXPIRE, RECEIVE, LocalGraph, LocalStep
from aforesaid.explore.moves import Moves
from aforesaid.explore.tables import Memo, Numbers

Pair: TypeAlias = tuple[int, int]
"""A local state and a frame."""


@dataclass
class Prompter:
    """Finds, cell by cell, a frame whose receipt need not wait."""

    cells: Cells
    commuting: "Commuting"
    bad: set[Pair]
    """Pairs that an audit has found bad."""
    bad_kinds: set[str]
    """Kinds of messages of which too many turned out bad."""
    roots: set[Pair] = field(default_factory=set)
    """Pairs that the search relied on."""
    prompted: int = 0
    """In how many worlds only one move was looked at."""

    def __post_init__(self) -> None:
        self._places = Memo(self._place)

    def moves(self, moves: Moves, cells: Numbers) -> Numbers:
        """By cell of a world in which nothing is left to spend: a receipt that suffices, or -1."""
        place = self._places.of(cells)
        found = np.flatnonzero(place >= 0)
        self.prompted += len(found)
        place[found] += moves.of(cells[found])[0]
        return place

    def hasty(self) -> set[Pair]:
        """The pairs, of those relied on and those that follow from them, that are bad."""
        return self.commuting.bad(self.roots)

    def _place(self, cell: int) -> int:
        """Where among the moves of a cell the receipt is that suffices; -1 if there is none."""
        for place, move in enumerate(self.cells.moves(cell)):
            if self._is_prompt(cell, move):
                self.roots.add((self.cells.local_of[cell], move.what))
                return place
        return -1

    def _is_prompt(self, cell: int, move: Move) -> bool:
        if move.do != RECEIVE or move.cost != FREE or move.step.deliveries:
            return False
        graph, row = self.cells.graph, self.cells.rows[cell]
        kind, local = graph.frames[move.what].kind, row.local
        if self.cells.is_lossy(row, move.what) or kind in self.bad_kinds or (local, move.what) in self.bad:
            return False
        others = {(other.do, other.what) for other in self.cells.moves(cell) if other.cost == FREE}
        others.discard((RECEIVE, move.what))
        return all(self.commuting.holds(local, move.what, *other) for other in others)


class Commuting:
    """Which frames and inputs have the same effect in either order."""

    def __init__(self, graph: LocalGraph, fifo: bool, promises: tuple[str, ...]) -> None:
        self.graph, self.fifo = graph, fifo
        self.ordered = any(name in promises for name in ("fifo", "causal", "causal_unless_lost"))
        """Whether an order of deliveries is promised; if not, it need not be kept."""
        self.stability = "stability" in promises
        """Whether stability is promised; if so, no delivery may move to another step."""
        # A fact about local steps, which outlives the search that asked for it.
        self.holds = cache(self._holds)

    def _holds(self, local: int, frame: int, do: str, what: int) -> bool:
        """Whether a frame commutes with another input in a local state."""
        first, *more = self.graph.step(local, RECEIVE, frame)
        if more or first.failure or (do == EXPIRE and not self._fires_freely(first.after, what)):
            return False
        before, after = self.graph.step(local, do, what), self.graph.step(first.after, do, what)
        return [step.choices for step in before] == [step.choices for step in after] and all(
            self._meet(frame, first, late, early) for early, late in zip(before, after, strict=True)
        )

    def bad(self, roots: Iterable[Pair]) -> set[Pair]:
        """The bad pairs among the roots and all that follow from them."""
        reached_from: dict[Pair, set[Pair]] = {pair: set() for pair in roots}
        looked_at: dict[Pair, int] = defaultdict(int)
        bad: set[Pair] = set()
        waiting = list(reached_from)
        while waiting:
            for pair in waiting:
                inputs = self._inputs_after(pair)
                while looked_at[pair] < len(inputs) and pair not in bad:
                    followers = self._followers(pair, *inputs[looked_at[pair]])
                    looked_at[pair] += 1
                    if followers is None:
                        bad.add(pair)
                    for follower in followers or ():
                        reached_from.setdefault(follower, set()).add(pair)
            # Trying makes more inputs known, also of pairs that were done with.
            known = (pair for pair in reached_from if pair not in bad)
            waiting = [pair for pair in known if looked_at[pair] < len(self._inputs_after(pair))]
        spreading = list(bad)
        while spreading:
            reached = reached_from[spreading.pop()] - bad
            bad |= reached
            spreading += reached
        return bad

    def _followers(self, pair: Pair, do: str, what: int) -> list[Pair] | None:
        """The pairs that must be good too, since an input may come first; None if then the frame is bad."""
        local, frame = pair
        if do == RECEIVE and self._cannot_overtake(what, frame):
            return []
        if do == EXPIRE and not self._fires_freely(local, what):
            # Where a frame is prompt no timer fires any more, but for those whose firing costs nothing.
            return []
        if not self.holds(local, frame, do, what):
            return None
        return [(step.after, frame) for step in self.graph.step(local, do, what)]

    def _fires_freely(self, local: int, timer: int) -> bool:
        armed = timer in self.graph.rows[local].armed
        return armed and any(
            self.graph.is_quiet(local, step) for step in self.graph.step(local, EXPIRE, timer)
        )

    def _cannot_overtake(self, one: int, other: int) -> bool:
        frames = self.graph.frames
        return one == other or (self.fifo and frames[one].channel == frames[other].channel)

    def _inputs_after(self, pair: Pair) -> list[tuple[str, int]]:
        return self.graph.inputs[self.graph.step(pair[0], RECEIVE, pair[1])[0].after]

    def _meet(self, frame: int, first: LocalStep, late: LocalStep, early: LocalStep) -> bool:
        """Whether the frame and then the late step come to the same as the early step and then the frame."""
        last, *more = self.graph.step(early.after, RECEIVE, frame)
        if more or early.failure or late.failure or last.failure:
            return False
        if self.stability and (first.deliveries or last.deliveries):
            return False
        return (
            last.after == late.after
            and self._frames(early, last) == self._frames(first, late)
            and sorted(early.stable_calls + last.stable_calls)
            == sorted(first.stable_calls + late.stable_calls)
            and self._deliveries(early, last) == self._deliveries(first, late)
        )

    def _frames(self, one: LocalStep, other: LocalStep) -> list[int]:
        """What two steps send; in queues the order on each channel matters, and sorting keeps it."""
        frames = self.graph.frames
        return sorted(one.sent + other.sent, key=(lambda frame: frames[frame].channel) if self.fifo else None)

    def _deliveries(self, one: LocalStep, other: LocalStep) -> object:
        deliveries = one.deliveries + other.deliveries
        if self.ordered:
            return deliveries
        # Without a promise of order it matters only what was delivered, and whether it had been before.
        return sorted((message, message >= 0 and before >> message & 1) for message, before in deliveries)
