"""Worlds, and what leads from one to the next.

A *world* is a tuple of cells, one per process, and last the budget: how many duplicates, drops, timer
firings, crashes, lost connections and false suspicions may still be spent. All are numbers that stand for
whole values. `Worlds` knows every move, says in words what a move is, and leaves out the moves that need not
be looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from aforesaid.explore.cells import (
    CRASH,
    CRASHES,
    DISCONNECT,
    DISCONNECTION,
    FIRING,
    FREE,
    LOSE,
    NOTHING,
    Cells,
    Move,
)
from aforesaid.explore.local import CALL, EXPIRE, LINK_DOWN, MISTRUST, RECEIVE, SPEAK, SUSPECT
from aforesaid.explore.postpone import Postponer
from aforesaid.explore.prompt import Prompter
from aforesaid.explore.result import End, Outcome
from aforesaid.explore.schedule import Step, shown

World: TypeAlias = tuple[int, ...]


@dataclass
class Worlds:
    """The moves between worlds."""

    cells: Cells
    postponer: Postponer | None = None
    prompter: Prompter | None = None
    budgets: "Budgets" = field(init=False)

    def __post_init__(self) -> None:
        scope = self.cells.scope
        self.budgets = Budgets()
        self._calm = self.budgets.number((0,) * 6)
        self._droppable = 0 if self.cells.losses_are_moves else scope.drops_max
        if self._droppable:
            # Any frame may be lost, so none is certain to arrive: nobody can be made to wait for it.
            self.postponer = self.prompter = None

    def start(self) -> World:
        scope, cells = self.cells.scope, self.cells
        drops = scope.drops_max if cells.losses_are_moves else 0
        whole = (
            scope.duplicates_max,
            drops,
            scope.timer_firings_max,
            scope.crashes_max,
            scope.disconnections_max,
            scope.suspicions_max,
        )
        return (*map(cells.start, range(scope.processes)), self.budgets.number(whole))

    def successors(self, world: World) -> Iterator[tuple[int, Move, World]]:
        """Every move that need be looked at: the process that makes it, the move, the world it leads to."""
        cells, budget = self.cells, world[-1]
        movers: Sequence[int] = range(len(world) - 1)
        if budget == self._calm:
            if self.prompter:
                prompt = self.prompter.move(world)
                if prompt is not None:
                    yield *prompt, self._after(world, *prompt, budget)
                    return
            if self.postponer:
                movers = self.postponer.movers(world)
        for process in movers:
            for move in cells.moves(world[process]):
                left = budget if move.cost == FREE else self.budgets.spent(budget, move.cost)
                if left >= 0:
                    yield process, move, self._after(world, process, move, left)
        left = self.budgets.spent(budget, CRASH)
        if left >= 0:
            for process in range(len(world) - 1):
                if cells.is_up(world[process]):
                    yield process, *self._crash(world, process, left)
        left = self.budgets.spent(budget, DISCONNECTION)
        if left >= 0:
            yield from self._disconnections(world, left)

    def may_end(self, world: World) -> bool:
        """Whether nothing more need happen, if what can be lost is lost."""
        return self._is_owed_little(world, self.cells.owed)

    def is_stuck(self, world: World) -> bool:
        """Whether, if what can be lost is lost, only timers are due, and none may fire any more."""
        if not self.cells.timed or self.budgets.spent(world[-1], FIRING) >= 0:
            return False
        return self._is_owed_little(world, self.cells.owed_in_time) and not self.may_end(world)

    def outcome(self, world: World) -> Outcome:
        graph, local_of = self.cells.graph, self.cells.local_of
        return tuple(
            End(row.audiences, row.delivered, row.stable, row.log, row.gone, *graph.at_rest(local))
            for local, row in ((local_of[cell], graph.rows[local_of[cell]]) for cell in world[:-1])
        )

    def losses(self, world: World) -> tuple[Step, ...]:
        """What the network must have lost if this world is the end."""
        return tuple(self._loss(frame) for cell in world[:-1] for frame in self.cells.left_over(cell))

    def step(self, process: int, move: Move) -> Step:
        """A move in words."""
        graph, cast = self.cells.graph, self.cells.graph.cast
        peer = what = ""
        if move.do == LOSE:
            return self._loss(move.what)
        if move.do == SPEAK:
            return self._speech(process, move)
        if move.do == DISCONNECT:
            (_, end), lid = graph.links[move.what]
            return Step(DISCONNECT, cast.names[process], cast.names[end], shown(lid))
        if move.do == CALL:
            call = cast.calls[process][move.what]
            return Step(
                call.do, call.process, call.peer, ", ".join(call.route or ()), choices=move.step.choices
            )
        if move.do == RECEIVE:
            frame = graph.frames[move.what]
            peer, what = cast.names[frame.source], shown(frame.message)
        elif move.do == EXPIRE:
            what = shown(graph.timers[move.what])
        elif move.do in (SUSPECT, MISTRUST):
            peer = cast.names[move.what]
        elif move.do == LINK_DOWN:
            what = shown(graph.links[move.what].lid)
        return Step(move.do, cast.names[process], peer, what, move.keep, move.step.choices)

    def _speech(self, process: int, move: Move) -> Step:
        cast, audiences = (
            self.cells.graph.cast,
            self.cells.graph.rows[self.cells.local_of[move.cell]].audiences,
        )
        said = str(cast.message_ids[cast.firsts[process] + len(audiences) - 1])
        audience, choices = cast.named(audiences[-1]), move.step.choices
        if audience is None:
            return Step("broadcast", cast.names[process], what=said, choices=choices)
        return Step("send", cast.names[process], what=said, choices=choices, audience=audience)

    def _is_owed_little(self, world: World, owed: list[int]) -> bool:
        """Whether no more frames are owed than may be lost, and nothing else is."""
        total = 0
        for cell in world[:-1]:
            total += owed[cell]
            if total > self._droppable:
                return False
        return True

    def _loss(self, number: int) -> Step:
        frame, names = self.cells.graph.frames[number], self.cells.graph.cast.names
        return Step(LOSE, names[frame.target], names[frame.source], shown(frame.message))

    def _after(self, world: World, process: int, move: Move, left: int) -> World:
        after = list(world)
        after[process] = move.cell
        for target, frames in move.step.sends:
            after[target] = self.cells.arrived(after[target], frames)
        if move.step.leaves:
            after[:-1] = [
                cell if other == process else self.cells.noticed(cell, process, True)
                for other, cell in enumerate(after[:-1])
            ]
        after[-1] = left
        return tuple(after)

    def _crash(self, world: World, process: int, left: int) -> tuple[Move, World]:
        crashed = self.cells.crashed(world[process])
        after = [self.cells.noticed(cell, process) for cell in world[:-1]]
        after[process] = crashed
        return Move(crashed, NOTHING, CRASH, CRASHES, 0), (*after, left)

    def _disconnections(self, world: World, left: int) -> Iterator[tuple[int, Move, World]]:
        """Any connection between two that are up is lost."""
        cells = self.cells
        for link in sorted(frozenset().union(*(cells.connections(cell) for cell in world[:-1]))):
            ends = cells.graph.links[link].ends
            if all(cells.is_up(world[end]) for end in ends):
                after = [*world[:-1], left]
                for end in ends:
                    after[end] = cells.disconnected(world[end], link)
                yield ends[0], Move(after[ends[0]], NOTHING, DISCONNECTION, DISCONNECT, link), tuple(after)


class Budgets:
    """Numbered budgets: what is left to spend, in the order of `cells`."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._spent: dict[tuple[int, int], int] = {}

    def number(self, budget: tuple[int, ...]) -> int:
        if budget not in self._rows:
            self._rows.append(budget)
        return self._rows.index(budget)

    def spent(self, budget: int, cost: int) -> int:
        """The budget after one more move of that cost; -1 if nothing is left for it."""
        key = (budget, cost)
        if key not in self._spent:
            left = self._rows[budget]
            less = (*left[:cost], left[cost] - 1, *left[cost + 1 :])
            self._spent[key] = self.number(less) if left[cost] else -1
        return self._spent[key]
