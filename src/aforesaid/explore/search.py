"""Every schedule of the shipped protocol objects, within a scope: breadth-first search over worlds.

Worlds are visited in the order of the length of the shortest schedule that leads to them, so the first
violation met is a shortest one: no step can be taken out of it.

Safety is looked at on every delivery (`guard`). Liveness is judged at every *possible end*: all have said
their part, nothing else is due, and what is left in the network has no effect, or comes from a crashed
process and may be lost (any part of what a process had under way may be lost when it crashes; of a queue,
any tail), or is as little as the network may drop. Loss needs no step of its own where frames arrive in any
order: what is lost is what never arrives. An end is run again once for each distinct outcome (who delivered
what, who is gone, who has links to whom), and the checker judges it; agreement and validity depend on nothing
else. Where links open and close, both are required if the links end strongly connected, and empty memory too.
Whoever is isolated is evicted: it says and hears nothing more, for in a scope nobody joins twice.

Worlds are numbered as they are met. Each remembers the world it was first reached from and by which move, and
nothing more. Many are looked at together (`levels`); the order of numbers is that of a walk from one to the
next, so that neither verdict nor schedule depends on how many.
"""

import gc
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.explore.guard import FAILURE, Guard
from aforesaid.explore.levels import Levels, Transitions
from aforesaid.explore.rerun import Rerun
from aforesaid.explore.result import Counterexample, Outcome, Progress
from aforesaid.explore.schedule import Step
from aforesaid.explore.scope import Subject
from aforesaid.explore.tables import Memo, Numbers, keys
from aforesaid.explore.worlds import World, Worlds

WORLDS_MAX = 8_000
"""So many worlds are looked at together, at most."""
CHECKPOINT_FIRST = 1_000
CHECKPOINT_FACTOR = 8
"""Assumptions are audited at so many worlds, and again at so many times as many: early ones cost little."""


@dataclass
class Search:
    """One breadth-first search."""

    subject: Subject
    worlds: Worlds
    states_max: int | None = None
    progress: Callable[[Progress], None] | None = None
    audited: Callable[[], bool] = lambda: True
    """Called now and then: whether what the search assumes is still tenable. If not, it stops."""
    began: float = field(default_factory=time.perf_counter)
    outcomes: set[Outcome] = field(default_factory=set)
    transitions: int = 0
    depth: int = 0
    cut: int = 0
    exhausted: bool = False
    """Every world was visited."""
    refuted: bool = False
    """An audit on the way has failed."""
    mistaken: str = ""
    """A schedule that did not, when run again, do what the search says it does."""
    violation: Counterexample | None = None

    def __post_init__(self) -> None:
        self._levels = Levels(self.worlds)
        self._guard = Guarding(Guard(self.worlds.cells, self.subject.promises), self._levels)
        self._number_of: dict[bytes, int] = defaultdict(count().__next__)
        self._rows: list[Numbers] = []
        """Worlds by number, in pieces."""
        self._edges: list[tuple[Numbers, Numbers]] = []
        """Worlds by number, and those that moves lead to, in pieces; if it is asked whether they go round."""
        self._came_from, self._mover, self._move = array("q"), array("q"), array("q")
        """By number: from where, by whom and by which move a world was first reached."""

    @property
    def states(self) -> int:
        return len(self._number_of)

    @property
    def known(self) -> Numbers:
        """All worlds met, by number, as rows."""
        return np.concatenate(self._rows)

    def run(self) -> None:
        """Search until a violation, the end, or a bound."""
        with _no_collection():
            self._search()

    def schedule(self, number: int) -> tuple[Step, ...]:
        """The steps by which a world was first reached."""
        steps = []
        while self._came_from[number] >= 0:
            steps.append(self._step(self._mover[number], self._move[number]))
            number = self._came_from[number]
        return tuple(reversed(steps))

    def goes_round(self) -> bool:
        """Whether the moves that were looked at lead from some world back to it."""
        sources, targets = (np.concatenate(parts) for parts in zip(*self._edges, strict=True))
        # Transitions were found in the order of the worlds they start from.
        first = np.searchsorted(sources, np.arange(self.states + 1))
        leading = np.bincount(targets, minlength=self.states)
        ready, done = np.flatnonzero(leading == 0), 0
        while len(ready):
            done += len(ready)
            spans = zip(first[ready].tolist(), first[ready + 1].tolist(), strict=True)
            reached = np.concatenate([targets[begin:end] for begin, end in spans])
            np.subtract.at(leading, reached, 1)
            ready = np.unique(reached[leading[reached] == 0])
        return done < self.states

    def _search(self) -> None:
        start = np.array([self.worlds.start()], np.int64)
        frontier, base = start, 0
        self._met(Transitions(np.array([-1]), np.array([-1]), np.array([-1]), start), 0)
        checkpoint = CHECKPOINT_FIRST
        while len(frontier):
            following: list[Numbers] = []
            for done in range(0, len(frontier), WORLDS_MAX):
                self._report(len(frontier) - done + sum(map(len, following)))
                worlds = frontier[done : done + WORLDS_MAX]
                if not self._all_as_promised(worlds, base + done):
                    return
                found = self._levels.transitions(worlds)
                self.transitions += len(found.move)
                if not self._all_in_order(found, base + done):
                    return
                following.append(self._met(found, base + done))
                if self.states_max and self.states > self.states_max:
                    return
                if self.states >= checkpoint:
                    checkpoint *= CHECKPOINT_FACTOR
                    self.refuted = not self.audited()
                    if self.refuted:
                        return
            base += len(frontier)
            frontier = np.concatenate(following)
            self.depth += bool(len(frontier))
        self.exhausted = True

    def _met(self, found: Transitions, base: int) -> Numbers:
        """Number the worlds that moves lead to; those not met before."""
        known = self.states
        numbers = np.fromiter(map(self._number_of.__getitem__, keys(found.after)), np.int64, len(found.move))
        # Numbers grow as worlds are met: the first that is higher than all before it is a new world's first.
        highest = np.maximum.accumulate(np.concatenate(([known - 1], numbers)))
        new = np.flatnonzero(highest[1:] > highest[:-1])
        self._came_from.extend((found.source[new] + base).tolist())
        self._mover.extend(found.process[new].tolist())
        self._move.extend(found.move[new].tolist())
        self._rows.append(found.after[new])
        if known and (self.worlds.prompter or self.worlds.postponer):
            self._edges.append((found.source + base, numbers))
        return found.after[new]

    def _all_in_order(self, found: Transitions, base: int) -> bool:
        """Whether no move seems to break a promise; if one does, the checker speaks."""
        suspect = self._guard.first_broken(found)
        if suspect is None:
            return True
        place, suspicion = suspect
        step = self._step(int(found.process[place]), int(found.move[place]))
        self._convict((*self.schedule(base + int(found.source[place])), step), suspicion)
        return False

    def _all_as_promised(self, worlds: Numbers, base: int) -> bool:
        """Whether the outcomes at all possible ends among the worlds are what was promised."""
        ends = self.worlds.may_end(worlds)
        self.cut += int(np.count_nonzero(self.worlds.are_stuck(worlds)))
        return all(
            self._as_promised(tuple(worlds[place].tolist()), base + place)
            for place in np.flatnonzero(ends).tolist()
        )

    def _step(self, process: int, move: int) -> Step:
        return self.worlds.step(process, self._levels.moves.all[move])

    def _as_promised(self, world: World, number: int) -> bool:
        """Whether the outcome at a possible end is what was promised."""
        outcome = self.worlds.outcome(world)
        if outcome not in self.outcomes:
            self.outcomes.add(outcome)
            steps = (*self.schedule(number), *self.worlds.losses(world))
            example = self._run_again(steps, outcome)
            if example is None or example.trace.run.ended != "drained":
                self.mistaken = f"no such end: {_told(steps)}"
            elif example.report.value() == "unknown":
                self.mistaken = f"the checker cannot tell: {_told(steps)}"
            elif example.properties or example.failure:
                self.violation = example
        return not (self.mistaken or self.violation)

    def _convict(self, steps: tuple[Step, ...], suspicion: str) -> None:
        """Run the schedule again and let the checker speak."""
        example = self._run_again(steps)
        if example and (example.properties or (suspicion == FAILURE and example.failure)):
            self.violation = example
        else:
            self.mistaken = f"{suspicion} not broken: {_told(steps)}"

    def _run_again(self, steps: tuple[Step, ...], outcome: Outcome | None = None) -> Counterexample | None:
        """What the checker makes of a schedule; None if it cannot happen, or has another outcome."""
        rerun = Rerun(self.subject, self.worlds.cells.scope)
        try:
            trace = rerun.run(steps)
        except Misuse:
            return None
        if outcome and rerun.outcome(self.worlds.cells.graph.remember_order) != outcome:
            return None
        return Counterexample(steps, check(trace, rerun.promised()), trace, rerun.failure or rerun.kept())

    def _report(self, waiting: int) -> None:
        if self.progress:
            seconds = time.perf_counter() - self.began
            self.progress(Progress(self.states, self.transitions, self.depth, waiting, seconds))


class Guarding:
    """The guard over many transitions: what looks the same to it is looked at once."""

    def __init__(self, guard: Guard, levels: Levels) -> None:
        self._guard, self._levels = guard, levels
        self._facets: dict[object, int] = defaultdict(count().__next__)
        local_of = levels.cells.local_of
        self._facet_of = Memo(lambda cell: self._facets[guard.facet(local_of[cell])])
        self._broken: dict[bytes, str] = {}

    def first_broken(self, found: Transitions) -> tuple[int, str] | None:
        """The first transition that seems to break a promise, and which."""
        moves = self._levels.moves
        judged = moves.judged.array[found.move]
        rows = np.flatnonzero(judged >= 0)
        cells = found.after[rows, :-1]
        facets = self._facet_of.of(cells.ravel()).reshape(cells.shape)
        looks = keys(np.column_stack((judged[rows], facets)))
        for place, key in zip(rows.tolist(), looks, strict=True):
            if key not in self._broken:
                step, after = moves.step_of[judged[place]], tuple(found.after[place].tolist())
                self._broken[key] = self._guard.broken(step, after)
            if self._broken[key]:
                return place, self._broken[key]
        return None


def _told(steps: tuple[Step, ...]) -> str:
    return "; ".join(map(str, steps))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of live tuples and no cycles: the collector would look at them all, again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
