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

A world remembers the world it was first reached from, and nothing more. The schedule is rebuilt by looking
again which move leads from each to the next.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.explore.guard import FAILURE, Guard
from aforesaid.explore.rerun import Rerun
from aforesaid.explore.result import Counterexample, Outcome, Progress
from aforesaid.explore.schedule import Step
from aforesaid.explore.scope import Subject
from aforesaid.explore.worlds import World, Worlds

PROGRESS_WORLDS = 20_000
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
    came_from: dict[World, World | None] = field(default_factory=dict)
    """Each world met, with the one it was first reached from."""
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

    def run(self) -> None:
        """Search until a violation, the end, or a bound."""
        with _no_collection():
            self._search()

    def schedule(self, world: World) -> tuple[Step, ...]:
        """The steps by which a world was first reached."""
        steps = []
        came_from = self.came_from[world]
        while came_from is not None:
            successors = self.worlds.successors(came_from)
            process, move, _ = next(found for found in successors if found[2] == world)
            steps.append(self.worlds.step(process, move))
            world, came_from = came_from, self.came_from[came_from]
        return tuple(reversed(steps))

    def _search(self) -> None:
        came_from, successors = self.came_from, self.worlds.successors
        may_end, is_stuck = self.worlds.may_end, self.worlds.is_stuck
        broken = Guard(self.worlds.cells, self.subject.promises).broken
        frontier = [self.worlds.start()]
        came_from[frontier[0]] = None
        checkpoint = CHECKPOINT_FIRST
        while frontier:
            following: list[World] = []
            for done, world in enumerate(frontier):
                if may_end(world):
                    if not self._as_promised(world):
                        return
                elif is_stuck(world):
                    self.cut += 1
                for process, move, after in successors(world):
                    self.transitions += 1
                    _, _, deliveries, stable_calls, _, failure, _ = move.step
                    if deliveries or stable_calls or failure:
                        suspicion = broken(move.step, after)
                        if suspicion:
                            step = self.worlds.step(process, move)
                            self._convict((*self.schedule(world), step), suspicion)
                            return
                    if after not in came_from:
                        came_from[after] = world
                        following.append(after)
                if self.states_max and len(came_from) > self.states_max:
                    return
                if len(came_from) >= checkpoint:
                    checkpoint *= CHECKPOINT_FACTOR
                    self.refuted = not self.audited()
                    if self.refuted:
                        return
                if done % PROGRESS_WORLDS == 0:
                    self._report(len(frontier) - done + len(following))
            frontier = following
            self.depth += bool(frontier)
        self.exhausted = True

    def _as_promised(self, world: World) -> bool:
        """Whether the outcome at a possible end is what was promised."""
        outcome = self.worlds.outcome(world)
        if outcome not in self.outcomes:
            self.outcomes.add(outcome)
            steps = (*self.schedule(world), *self.worlds.losses(world))
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
            self.progress(Progress(len(self.came_from), self.transitions, self.depth, waiting, seconds))


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
