"""Worlds: where they begin, where they may end, and what a move is in words.

A *world* is a tuple of cells, one per process, and last the budget: how many duplicates, drops, timer
firings, crashes, lost connections and false suspicions may still be spent. All are numbers that stand for
whole values. What leads from one to the next is in `levels`.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from aforesaid.explore.cells import (
    DISCONNECT,
    FIRING,
    FREE,
    LOSE,
    Cells,
    Move,
)
from aforesaid.explore.local import CALL, EXPIRE, LINK_DOWN, MISTRUST, RECEIVE, SPEAK, SUSPECT
from aforesaid.explore.postpone import Postponer
from aforesaid.explore.prompt import Prompter
from aforesaid.explore.result import End, Outcome
from aforesaid.explore.schedule import Step, shown
from aforesaid.explore.tables import Column, Flags, Numbers, PairMemo

World: TypeAlias = tuple[int, ...]


@dataclass
class Worlds:
    """The worlds of a scope, and who says which moves need be looked at."""

    cells: Cells
    postponer: Postponer | None = None
    prompter: Prompter | None = None
    budgets: "Budgets" = field(init=False)

    def __post_init__(self) -> None:
        scope = self.cells.scope
        self.budgets = Budgets()
        self.calm = self.budgets.number((0,) * 6)
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

    def may_end(self, worlds: Numbers) -> Flags:
        """Of which worlds nothing more need happen, if what can be lost is lost."""
        return self._are_owed_little(worlds, self.cells.owed)

    def are_stuck(self, worlds: Numbers) -> Flags:
        """In which, if what can be lost is lost, only timers are due, and none may fire any more."""
        if not self.cells.timed:
            return np.zeros(len(worlds), bool)
        spent = self.budgets.spent_by(worlds[:, -1], np.full(len(worlds), FIRING)) < 0
        little = self._are_owed_little(worlds, self.cells.owed_in_time)
        return spent & little & ~self.may_end(worlds)

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

    def _are_owed_little(self, worlds: Numbers, owed: Column) -> Flags:
        """In which worlds no more frames are owed than may be lost, and nothing else is."""
        little: Flags = owed.array[worlds[:, :-1]].sum(axis=1) <= self._droppable
        return little

    def _loss(self, number: int) -> Step:
        frame, names = self.cells.graph.frames[number], self.cells.graph.cast.names
        return Step(LOSE, names[frame.target], names[frame.source], shown(frame.message))


class Budgets:
    """Numbered budgets: what is left to spend, in the order of `cells`."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._spent = PairMemo(self._less)

    def number(self, budget: tuple[int, ...]) -> int:
        if budget not in self._rows:
            self._rows.append(budget)
        return self._rows.index(budget)

    def spent_by(self, budgets: Numbers, costs: Numbers) -> Numbers:
        """Each budget after one more move of its cost; -1 if nothing is left for it."""
        left = budgets.copy()
        paid = np.flatnonzero(costs != FREE)
        left[paid] = self._spent.of_pairs(budgets[paid], costs[paid])
        return left

    def _less(self, budget: int, cost: int) -> int:
        left = self._rows[budget]
        less = (*left[:cost], left[cost] - 1, *left[cost + 1 :])
        return self.number(less) if left[cost] else -1
