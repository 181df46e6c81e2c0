"""Every schedule of the shipped protocol objects, within a scope: breadth-first search over worlds.

A *world* is a tuple of cells, one per process (`cells`), and the budget that is left. Tuples of numbers stand
for whole states and are compared by equality. Worlds are visited in the order of the length of the shortest
schedule that leads to them, so the first violation met is a shortest one: no step can be taken out of it.

Safety is looked at on every delivery (`guard`). Liveness is judged at every *possible end*: all have said their
part, nothing else is due, and what is left in the network has no effect, or comes from a crashed process and
may be lost (any part of what a process had under way may be lost when it crashes; with queues, any tail), or
is as little as the network may drop. Loss needs no step of its own where frames arrive in any order: what is
lost is what never arrives. An end is run again once for each distinct outcome (who delivered what, who
crashed), and the checker judges it; agreement and validity depend on nothing else.

A world remembers the world it was first reached from, and nothing more. The schedule is rebuilt by looking
again which move leads from each to the next.
"""

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.explore.audit import has_cycle, unmet
from aforesaid.explore.cells import CRASH, FREE, LOSE, Cells, Move
from aforesaid.explore.guard import FAILURE, Guard
from aforesaid.explore.local import BROADCAST, EXPIRE, RECEIVE, SUSPECT
from aforesaid.explore.postpone import Postponer
from aforesaid.explore.rerun import Rerun
from aforesaid.explore.result import Counterexample, Progress
from aforesaid.explore.schedule import Step, shown
from aforesaid.explore.scope import Scope, Subject

World: TypeAlias = tuple[int, ...]

PROGRESS_WORLDS = 20_000


@dataclass
class Search:
    """One breadth-first search."""

    subject: Subject
    scope: Scope
    cells: Cells
    states_max: int | None = None
    progress: Callable[[Progress], None] | None = None
    began: float = field(default_factory=time.perf_counter)
    came_from: dict[World, World | None] = field(default_factory=dict)
    """Each world met, with the one it was first reached from."""
    outcomes: set[tuple[object, ...]] = field(default_factory=set)
    transitions: int = 0
    depth: int = 0
    cut: int = 0
    exhausted: bool = False
    violation: Counterexample | None = None
    mistaken: str = ""
    """A schedule that did not, when run again, do what the search says it does."""

    def __post_init__(self) -> None:
        scope = self.scope
        self._cast = self.cells.graph.cast
        self._guard = Guard(self._cast, self.cells, self.subject.promises)
        self._budgets: list[tuple[int, ...]] = []
        whole = (scope.duplicates_max, scope.drops_max if scope.fifo else 0, scope.timer_firings_max)
        self._budget = self._numbered_budget((*whole, scope.crashes_max))
        self._droppable = 0 if scope.fifo else scope.drops_max
        postponing = self.cells.reductions.postponing and not self._droppable
        calm = self._numbered_budget((0, 0, 0, 0))
        self._postponer = Postponer(self.cells, calm) if postponing else None

    @property
    def postponed(self) -> int:
        return self._postponer.postponed if self._postponer else 0

    def unsure(self) -> bool:
        """Whether what postponing assumed is not so."""
        if self._postponer is None:
            return False
        return unmet(self.cells, self._postponer.obligations) or has_cycle(self.cells.graph)

    def run(self) -> None:
        """Search until a violation, the end, or a bound."""
        collecting = gc.isenabled()
        # Millions of live tuples and no cycles: the collector would look at them all, again and again.
        gc.disable()
        try:
            self._search()
        except KeyboardInterrupt:
            self.exhausted = False
        finally:
            if collecting:
                gc.enable()

    def _search(self) -> None:
        graph = self.cells.graph
        ranks = range(self.scope.processes)
        start = (*(self.cells.cell(graph.start(rank), (), 0) for rank in ranks), self._budget)
        came_from = self.came_from
        came_from[start] = None
        frontier = [start]
        broken = self._guard.broken
        bound = self.states_max or float("inf")
        while frontier:
            following: list[World] = []
            for done, world in enumerate(frontier):
                if self._may_end(world) and not self._judged(world):
                    return
                moved = False
                for _, move, after in self._successors(world):
                    moved = True
                    self.transitions += 1
                    if move.deliveries or move.failure:
                        suspicion = broken(move, after)
                        if suspicion:
                            self._convict(world, move, after, suspicion)
                            return
                    if after not in came_from:
                        came_from[after] = world
                        following.append(after)
                if not moved and not self._may_end(world):
                    self.cut += 1
                if len(came_from) > bound:
                    return
                if done % PROGRESS_WORLDS == 0:
                    self._report(len(frontier) - done + len(following))
            frontier = following
            self.depth += bool(frontier)
        self.exhausted = True

    def _successors(self, world: World) -> Iterator[tuple[int, Move, World]]:
        """Every move that need be looked at, with the process that makes it and the world it leads to."""
        cells, budget = self.cells, world[-1]
        moves, arrived = cells.moves, cells.arrived
        movers = self._postponer.movers(world) if self._postponer else range(len(world) - 1)
        for process in movers:
            for move in moves(world[process]):
                after = list(world)
                if move.cost != FREE:
                    after[-1] = self._spent(budget, move.cost)
                    if after[-1] < 0:
                        continue
                after[process] = move.cell
                for target, frames in move.sends:
                    after[target] = arrived(after[target], frames)
                yield process, move, tuple(after)
        left = self._spent(budget, CRASH)
        if left >= 0:
            for process in range(len(world) - 1):
                if cells.is_up(world[process]):
                    yield process, *self._crash(world, process, left)

    def _crash(self, world: World, process: int, left: int) -> tuple[Move, World]:
        crashed = self.cells.crashed(world[process])
        after = [self.cells.noticed(cell, process) for cell in world[:-1]]
        after[process] = crashed
        return Move(crashed, (), (), "", CRASH, "crash", 0, False, ()), (*after, left)

    def _may_end(self, world: World) -> bool:
        owed, total = self.cells.owed, 0
        for cell in world[:-1]:
            total += owed[cell]
            if total > self._droppable:
                return False
        return True

    def _judged(self, world: World) -> bool:
        """Whether the outcome at a possible end is as promised; if not, the search is over."""
        rows, local_of = self.cells.graph.rows, self.cells.local_of
        locals_ = [rows[local_of[cell]] for cell in world[:-1]]
        outcome = tuple((len(row.pasts), row.delivered, row.log, row.crashed) for row in locals_)
        if outcome in self.outcomes:
            return True
        self.outcomes.add(outcome)
        steps = (*self.schedule(world), *self._losses(world))
        example = self._run_again(steps)
        if example is None or example.trace.run.ended != "drained":
            self.mistaken = "; ".join(map(str, steps))
        elif example.report.value() == "violated":
            self.violation = example
        return not (self.mistaken or self.violation)

    def _convict(self, world: World, move: Move, after: World, suspicion: str) -> None:
        """Run the schedule again and let the checker speak."""
        process = next(rank for rank, m, w in self._successors(world) if m is move and w == after)
        steps = (*self.schedule(world), self._step(process, move))
        example = self._run_again(steps)
        told = "; ".join(map(str, steps))
        if example is None:
            self.mistaken = told
        elif example.properties or (suspicion == FAILURE and example.failure):
            self.violation = example
        else:
            raise RuntimeError(f"the guard saw {suspicion} broken, the checker did not: {told}")

    def _run_again(self, steps: tuple[Step, ...]) -> Counterexample | None:
        """What the checker makes of a schedule; None if it cannot happen."""
        rerun = Rerun(self.subject, self.scope)
        try:
            trace = rerun.run(steps)
        except Misuse:
            return None
        return Counterexample(steps, check(trace, self.subject.promises), trace, rerun.failure)

    def schedule(self, world: World) -> tuple[Step, ...]:
        """The steps by which a world was first reached."""
        steps = []
        came_from = self.came_from[world]
        while came_from is not None:
            process, move, _ = next(found for found in self._successors(came_from) if found[2] == world)
            steps.append(self._step(process, move))
            world, came_from = came_from, self.came_from[came_from]
        return tuple(reversed(steps))

    def _step(self, process: int, move: Move) -> Step:
        graph, names = self.cells.graph, self._cast.names
        peer = what = ""
        if move.do == LOSE:
            return self._loss(move.what)
        if move.do == BROADCAST:
            said = len(graph.rows[self.cells.local_of[move.cell]].pasts)
            what = str(self._cast.message_ids[self._cast.firsts[process] + said - 1])
        elif move.do == RECEIVE:
            frame = graph.frames[move.what]
            peer, what = names[frame.source], shown(frame.message)
        elif move.do == EXPIRE:
            what = shown(graph.timers[move.what])
        elif move.do == SUSPECT:
            peer = names[move.what]
        return Step(move.do, names[process], peer, what, move.keep, move.choices)

    def _losses(self, world: World) -> Iterator[Step]:
        for cell in world[:-1]:
            yield from map(self._loss, self.cells.left_over(cell))

    def _loss(self, number: int) -> Step:
        frame, names = self.cells.graph.frames[number], self._cast.names
        return Step("lose", names[frame.target], names[frame.source], shown(frame.message))

    def _numbered_budget(self, budget: tuple[int, ...]) -> int:
        if budget not in self._budgets:
            self._budgets.append(budget)
        return self._budgets.index(budget)

    def _spent(self, budget: int, cost: int) -> int:
        """The budget after one more move of that cost; -1 if there is none left."""
        left = self._budgets[budget]
        if not left[cost]:
            return -1
        return self._numbered_budget((*left[:cost], left[cost] - 1, *left[cost + 1 :]))

    def _report(self, waiting: int) -> None:
        if self.progress:
            seconds = time.perf_counter() - self.began
            self.progress(Progress(len(self.came_from), self.transitions, self.depth, waiting, seconds))
