"""A process and its inbox: the part of the world that one step at that process can read.

A *cell* is a local state, the frames on their way to the process, and which peers have crashed. What a
process can do next depends on its cell alone, and what it does changes only its own cell and puts frames
into others. So moves are worked out once per cell, arrivals once per (cell, frames), and the search over
whole worlds, which are tuples of cells, is table lookup.

*Dead frames are taken away*, so that worlds merge that differ only in what is left lying. A frame is a
*no-op* if its receipt, in the local state at hand, changes nothing and asks for nothing; it is *dead* if it
is a no-op now and in every later local state. No look at one state can tell "in every later", so the
explorer assumes it of every no-op, writes down where it did, and proves it over all the local steps it has
explored before it believes the result (`audit`). A frame that turns out to revive is put on `revivable`,
and the exploration starts over. Nothing is asked of the protocol.

It would be wrong to take away, or not to branch on, a no-op that revives: if it arrives while it is a no-op
the run may end without its effect; if it is left lying it must have its effect before the run can end.

The copy that a duplicating network keeps of a frame is dead in most protocols as soon as the frame was
received. Then the world after is the same as without the copy but for a smaller budget, which can do no
more: it is left out. That copies are harmless is then shown by the audit rather than by more worlds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aforesaid.explore.local import EXPIRE, RECEIVE, SPEAK, SUSPECT, LocalGraph, LocalStep
from aforesaid.explore.scope import Scope

FREE, DUPLICATE, DROP, FIRING, CRASH = range(-1, 4)
"""Which budget a move is paid from."""

ALWAYS = 1 << 20
"""What is owed to a process that must act before the world can end: more than any number of frames."""

LOSE, CRASHES = "lose", "crash"
"""What a move does besides the inputs of `local`."""

NOTHING = LocalStep(-1, (), (), ())
"""The local step of a move that calls no protocol."""


@dataclass(frozen=True)
class Reductions:
    """Which parts of the search are cut short. Each keeps every verdict; off, they show that it does."""

    mappings: bool = True
    """States that differ only in the order of mappings are one (`picture`)."""
    dead_frames: bool = True
    """Frames that will never have an effect are taken away (here)."""
    postponing: bool = True
    """Processes that can wait do not move (`postpone`)."""
    prompting: bool = True
    """Frames that need not wait are received at once (`prompt`)."""


ALL = Reductions()
SHORTEST = Reductions(postponing=False, prompting=False)
"""Those that keep the length of the shortest schedule to each violation."""
NONE = Reductions(mappings=False, dead_frames=False, postponing=False, prompting=False)


class Cell(NamedTuple):
    """A process with what is on its way to it."""

    local: int
    inbox: tuple[int, ...]
    """Frames: sorted, if they may arrive in any order; else by source, those of one source in order."""
    down: int
    """The set of processes that have crashed."""


class Move(NamedTuple):
    """Something a process can do. It leads to another cell, and puts frames into other inboxes."""

    cell: int
    step: LocalStep
    cost: int
    do: str
    what: int
    keep: bool = False


@dataclass
class Cells:
    """All cells met so far, numbered, and the moves between them."""

    graph: LocalGraph
    scope: Scope
    reductions: Reductions
    revivable: set[int]
    rows: list[Cell] = field(default_factory=list)
    local_of: list[int] = field(default_factory=list)
    owed: list[int] = field(default_factory=list)
    """How many frames of processes that are up must yet be received here, or ALWAYS."""
    lossy: list[bool] = field(default_factory=list)
    """Whether a frame of a crashed process is on its way here."""
    taken_away: dict[int, set[int]] = field(default_factory=dict)
    """By local state, the frames that were assumed dead there."""
    _number_of: dict[Cell, int] = field(default_factory=dict)
    _moves: dict[int, tuple[Move, ...]] = field(default_factory=dict)
    _arrivals: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    _notices: dict[tuple[int, int], int] = field(default_factory=dict)

    def cell(self, local: int, inbox: Iterable[int], down: int) -> int:
        """The number of a cell, after dead frames were taken away."""
        frames = self.graph.frames
        if self.graph.rows[local].crashed:
            kept: list[int] = []
        elif self.reductions.dead_frames:
            kept = [frame for frame in inbox if not self.is_dead(local, frame)]
        else:
            kept = list(inbox)
        kept.sort(key=(lambda frame: frames[frame].source) if self.scope.fifo else None)
        row = Cell(local, tuple(kept), down)
        number = self._number_of.setdefault(row, len(self.rows))
        if number == len(self.rows):
            self._add(row)
        return number

    def moves(self, cell: int) -> tuple[Move, ...]:
        """What the process can do, apart from crashing."""
        moves = self._moves.get(cell)
        if moves is None:
            moves = self._moves[cell] = tuple(self._worked_out(self.rows[cell]))
        return moves

    def arrived(self, cell: int, frames: tuple[int, ...]) -> int:
        """The cell with more frames on their way to it."""
        key = (cell, frames)
        after = self._arrivals.get(key)
        if after is None:
            local, inbox, down = self.rows[cell]
            after = self._arrivals[key] = self.cell(local, inbox + frames, down)
        return after

    def crashed(self, cell: int) -> int:
        """The cell of a process that crashes: whatever was on its way to it is gone."""
        local, _, down = self.rows[cell]
        return self.cell(self.graph.crashed(local), (), down | 1 << self.graph.rows[local].process)

    def noticed(self, cell: int, peer: int) -> int:
        """The cell of a process when a peer crashes."""
        key = (cell, peer)
        after = self._notices.get(key)
        if after is None:
            local, inbox, down = self.rows[cell]
            after = self._notices[key] = self.cell(local, inbox, down | 1 << peer)
        return after

    def is_dead(self, local: int, frame: int) -> bool:
        """The frame is a no-op here and, until the audit shows otherwise, ever after."""
        if frame in self.revivable or not self.graph.is_no_op(local, frame):
            return False
        self.taken_away.setdefault(local, set()).add(frame)
        return True

    def receivable(self, inbox: Sequence[int]) -> Iterable[int]:
        """Places in an inbox: one for each distinct frame, or the first of each source."""
        frames = self.graph.frames
        seen = set()
        for place, frame in enumerate(inbox):
            distinct = frames[frame].source if self.scope.fifo else frame
            if distinct not in seen:
                seen.add(distinct)
                yield place

    def left_over(self, cell: int) -> list[int]:
        """The frames here whose receipt would have an effect: at an end, those the network lost."""
        local, inbox, _ = self.rows[cell]
        return [frame for frame in inbox if not self.graph.is_no_op(local, frame)]

    def is_up(self, cell: int) -> bool:
        return not self.graph.rows[self.local_of[cell]].crashed

    def _add(self, row: Cell) -> None:
        frames, local = self.graph.frames, self.graph.rows[row.local]
        self.rows.append(row)
        self.local_of.append(row.local)
        self.lossy.append(any(row.down >> frames[frame].source & 1 for frame in row.inbox))
        if local.crashed:
            self.owed.append(0)
        elif self.graph.may_speak(row.local) or local.armed or self._suspects(row):
            self.owed.append(ALWAYS)
        else:
            up = [frame for frame in row.inbox if not row.down >> frames[frame].source & 1]
            self.owed.append(sum(not self.graph.is_no_op(row.local, frame) for frame in up))

    def _worked_out(self, row: Cell) -> Iterable[Move]:
        local = self.graph.rows[row.local]
        if local.crashed:
            return
        if self.graph.may_speak(row.local):
            for place in range(len(self.graph.next_audiences(row.local))):
                yield from self._steps(row, SPEAK, place, row.inbox, FREE)
        for place in self.receivable(row.inbox):
            yield from self._frame_moves(row, place)
        for peer in self._suspects(row):
            yield from self._steps(row, SUSPECT, peer, row.inbox, FREE)
        for timer in sorted(local.armed):
            yield from self._steps(row, EXPIRE, timer, row.inbox, FIRING)

    def _frame_moves(self, row: Cell, place: int) -> Iterable[Move]:
        frame = row.inbox[place]
        rest = row.inbox[:place] + row.inbox[place + 1 :]
        received = tuple(self._steps(row, RECEIVE, frame, rest, FREE))
        yield from received
        if self.scope.duplicates_max:
            plain = {(move.cell, move.step) for move in received}
            for move in self._steps(row, RECEIVE, frame, row.inbox, DUPLICATE):
                if not self.reductions.dead_frames or (move.cell, move.step) not in plain:
                    yield move
        if self.scope.fifo and self.scope.drops_max:
            yield Move(self.cell(row.local, rest, row.down), NOTHING, DROP, LOSE, frame)

    def _suspects(self, row: Cell) -> list[int]:
        """The peers that crashed and of which the process was not told yet."""
        due = row.down & ~self.graph.rows[row.local].suspected if self.scope.detector else 0
        return [peer for peer in range(self.scope.processes) if due >> peer & 1]

    def _steps(self, row: Cell, do: str, what: int, inbox: tuple[int, ...], cost: int) -> Iterable[Move]:
        for step in self.graph.step(row.local, do, what):
            cell = self.cell(step.after, inbox, row.down)
            yield Move(cell, step, cost, do, what, keep=cost == DUPLICATE)
