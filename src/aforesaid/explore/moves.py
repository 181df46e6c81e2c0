"""Moves as columns of numbers, so that those of many worlds are looked up at once.

What a process can do depends on its cell alone (`cells`), and what comes of it is a number: the cell it leads
to, the budget it is paid from, and for each process a *parcel*, the frames that are on their way to it from
then on. So the next worlds of thousands are a few gathers from these columns. A cell is worked out when it
is first asked for.
"""

import numpy as np

from aforesaid.explore.cells import CRASH, CRASHES, DISCONNECT, DISCONNECTION, NOTHING, Cells, Move
from aforesaid.explore.local import LocalStep
from aforesaid.explore.tables import Column, Memo, Numbers, PairMemo


class Moves:
    """Every move met so far, numbered; those of one cell follow each other."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.all: list[Move] = []
        self.step_of: list[LocalStep] = []
        """Distinct local steps in which something is delivered, called stable or wrong; the first is none."""
        self.cell, self.cost, self.judged = Column(), Column(), Column()
        """By move: the cell it leads to, the budget it is paid from, its local step if it is to be judged."""
        self.parcels = [Column() for _ in range(cells.scope.processes)]
        """By process and move: what is on its way to the process; 0: nothing."""
        self._contents: list[tuple[tuple[int, ...], int]] = [((), -1)]
        """By parcel: the frames, and who has left, or -1."""
        self._parcel_of = {self._contents[0]: 0}
        self._sent = {NOTHING: [0] * cells.scope.processes}
        self._judged_of: dict[LocalStep, int] = {}
        self._first, self._count = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.arrived = PairMemo(self._arrived)
        """The cell after a parcel has been sent to it."""
        self.crashes = Memo(self._crash)
        """By cell of a process that is up, the move that is its crash."""
        self.noticed = PairMemo(cells.noticed)

    def of(self, cells: Numbers) -> tuple[Numbers, Numbers]:
        """The first of the moves of each cell, and how many there are."""
        if len(self._first) < len(self.cells.rows):
            more = np.full(len(self.cells.rows) - len(self._first), -1, np.int64)
            self._first = np.concatenate((self._first, more))
            self._count = np.concatenate((self._count, more))
        unknown = cells[self._first[cells] < 0]
        for cell in dict.fromkeys(unknown.tolist()):
            moves = self.cells.moves(cell)
            self._first[cell], self._count[cell] = len(self.all), len(moves)
            for move in moves:
                self._add(move)
        return self._first[cells], self._count[cells]

    def disconnections(self, one: int, other: int) -> list[tuple[int, int]]:
        """By the cells of two: the moves that lose a connection between them, and the other's cell after."""
        cells = self.cells
        ends = tuple(cells.graph.rows[cells.local_of[cell]].process for cell in (one, other))
        links = cells.connections(one) | cells.connections(other)
        return [
            (
                self._add(Move(cells.disconnected(one, link), NOTHING, DISCONNECTION, DISCONNECT, link)),
                cells.disconnected(other, link),
            )
            for link in sorted(links)
            if cells.graph.links[link].ends == ends
        ]

    def _crash(self, cell: int) -> int:
        return self._add(Move(self.cells.crashed(cell), NOTHING, CRASH, CRASHES, 0))

    def _arrived(self, cell: int, parcel: int) -> int:
        frames, leaver = self._contents[parcel]
        after = self.cells.arrived(cell, frames) if frames else cell
        return after if leaver < 0 else self.cells.noticed(after, leaver, True)

    def _add(self, move: Move) -> int:
        self.all.append(move)
        self.cell.numbers.append(move.cell)
        self.cost.numbers.append(move.cost)
        self.judged.numbers.append(self._judged(move.step))
        sent = self._sent.get(move.step)
        if sent is None:
            sent = self._sent[move.step] = self._parcels(move.step)
        for column, parcel in zip(self.parcels, sent, strict=True):
            column.numbers.append(parcel)
        return len(self.all) - 1

    def _parcels(self, step: LocalStep) -> list[int]:
        """By process, what a step sends to it."""
        process = self.cells.graph.rows[step.after].process
        frames, sent = dict(step.sends), []
        for target in range(len(self.parcels)):
            content = (frames.get(target, ()), process if step.leaves and target != process else -1)
            sent.append(self._parcel_of.setdefault(content, len(self._contents)))
            if sent[-1] == len(self._contents):
                self._contents.append(content)
        return sent

    def _judged(self, step: LocalStep) -> int:
        if not (step.deliveries or step.stable_calls or step.failure):
            return -1
        number = self._judged_of.setdefault(step, len(self.step_of))
        if number == len(self.step_of):
            self.step_of.append(step)
        return number
