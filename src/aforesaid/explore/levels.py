"""What leads from many worlds to the next: a level of the search, or a part of it, at once.

Worlds are rows of an array, one column for each process and the last for the budget. Every move of every row
is found by table lookup (`moves`), in the order in which a walk from world to world would find them: so the
first schedule to each world is the same however many worlds are looked at together.
"""

from typing import NamedTuple

import numpy as np

from aforesaid.explore.cells import CRASH, DISCONNECTION
from aforesaid.explore.moves import Moves
from aforesaid.explore.tables import Flags, Memo, Numbers
from aforesaid.explore.worlds import Worlds


class Transitions(NamedTuple):
    """Moves of many worlds, those of one world after the other."""

    source: Numbers
    """By transition: the row of the world it starts from."""
    process: Numbers
    move: Numbers
    after: Numbers
    """By transition: the world it leads to, as a row."""


class Levels:
    """The transitions of many worlds."""

    def __init__(self, worlds: Worlds) -> None:
        self.worlds, self.cells = worlds, worlds.cells
        self.moves = Moves(worlds.cells)
        self._is_up = Memo(worlds.cells.is_up)
        self._lost: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def transitions(self, worlds: Numbers) -> Transitions:
        """Every move that need be looked at."""
        allowed = np.ones((len(worlds), worlds.shape[1] - 1), bool)
        found = self._reduced(worlds, allowed)
        for process in range(allowed.shape[1]):
            found.append(self._moves_of(worlds, np.flatnonzero(allowed[:, process]), process))
        found += self._crashes(worlds) + self._disconnections(worlds)
        joined = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        return Transitions(*(part[order] for part in joined))

    def _reduced(self, worlds: Numbers, allowed: Flags) -> list[Transitions]:
        """Where nothing is left to spend, moves that suffice; and who else may move where there are none."""
        found: list[Transitions] = []
        prompter, postponer = self.worlds.prompter, self.worlds.postponer
        calm = np.flatnonzero(worlds[:, -1] == self.worlds.calm)
        if prompter:
            for process in range(allowed.shape[1]):
                prompt = prompter.moves(self.moves, worlds[calm, process])
                rows, calm = calm[prompt >= 0], calm[prompt < 0]
                found.append(self._after(worlds, rows, process, prompt[prompt >= 0]))
                allowed[rows] = False
        if postponer:
            allowed[calm] = postponer.movers(worlds[calm])
        return found

    def _moves_of(self, worlds: Numbers, rows: Numbers, process: int) -> Transitions:
        first, count = self.moves.of(worlds[rows, process])
        ends = np.cumsum(count)
        places = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - count, count)
        return self._after(worlds, np.repeat(rows, count), process, np.repeat(first, count) + places)

    def _after(self, worlds: Numbers, rows: Numbers, process: int, move: Numbers) -> Transitions:
        """The worlds to which moves of a process lead, where the budget allows them."""
        left = self.worlds.budgets.spent_by(worlds[rows, -1], self.moves.cost.array[move])
        paid = left >= 0
        rows, move = rows[paid], move[paid]
        after = worlds[rows]
        after[:, process] = self.moves.cell.array[move]
        after[:, -1] = left[paid]
        for target, column in enumerate(self.moves.parcels):
            parcel = column.array[move]
            sent = np.flatnonzero(parcel)
            after[sent, target] = self.moves.arrived.of_pairs(after[sent, target], parcel[sent])
        return Transitions(rows, np.full(len(rows), process), move, after)

    def _crashes(self, worlds: Numbers) -> list[Transitions]:
        found = []
        able = self._able(worlds, CRASH)
        for process in range(worlds.shape[1] - 1) if len(able) else ():
            rows = able[self._is_up.of(worlds[able, process]) > 0]
            crashed = self._after(worlds, rows, process, self.moves.crashes.of(worlds[rows, process]))
            for other in range(worlds.shape[1] - 1):
                if other != process:
                    column = crashed.after[:, other]
                    column[:] = self.moves.noticed.of_pairs(column, np.full(len(column), process))
            found.append(crashed)
        return found

    def _disconnections(self, worlds: Numbers) -> list[Transitions]:
        """Any connection between two that are up is lost."""
        found = []
        able = self._able(worlds, DISCONNECTION)
        for one in range(worlds.shape[1] - 1) if len(able) else ():
            for other in range(one + 1, worlds.shape[1] - 1):
                both = self._is_up.of(worlds[able, one]) & self._is_up.of(worlds[able, other])
                rows = able[both > 0]
                pairs = zip(worlds[rows, one].tolist(), worlds[rows, other].tolist(), strict=True)
                lost = [self._connections_lost(*pair) for pair in pairs]
                source = np.repeat(rows, np.fromiter(map(len, lost), np.int64, len(lost)))
                each = np.array([move for moves in lost for move in moves], np.int64).reshape(-1, 2)
                disconnected = self._after(worlds, source, one, each[:, 0])
                disconnected.after[:, other] = each[:, 1]
                found.append(disconnected)
        return found

    def _able(self, worlds: Numbers, cost: int) -> Numbers:
        return np.flatnonzero(self.worlds.budgets.spent_by(worlds[:, -1], np.full(len(worlds), cost)) >= 0)

    def _connections_lost(self, one: int, other: int) -> list[tuple[int, int]]:
        key = (one, other)
        if key not in self._lost:
            self._lost[key] = self.moves.disconnections(one, other)
        return self._lost[key]
