"""A process and its inbox: the part of the world that one step at that process can read.

A *cell* is a local state, the frames on their way to the process, which peers have crashed, and which of
the process's connections are lost. What a process can do next depends on its cell alone, and what it does
changes only its own cell and puts frames into others. So moves are worked out once per cell, arrivals once
per (cell, frames), and the search over whole worlds, which are tuples of cells, is table lookup.

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
from functools import cache
from typing import NamedTuple

from aforesaid.core import declaration_of
from aforesaid.explore.local import (
    CALL,
    EXPIRE,
    LINK_DOWN,
    MISTRUST,
    NO_LINK,
    RECEIVE,
    SPEAK,
    SUSPECT,
    LocalGraph,
    LocalStep,
)
from aforesaid.explore.scope import LEAVE, Scope
from aforesaid.explore.tables import HALF, Column, PairMemo

FREE, DUPLICATE, DROP, FIRING, CRASH, DISCONNECTION, SUSPICION = range(-1, 6)
"""Which budget a move is paid from."""

ALWAYS = 1 << 20
"""What is owed to a process that must act before the world can end: more than any number of frames."""

LOSE, CRASHES, DISCONNECT = "lose", "crash", "disconnect"
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
PLAIN = Reductions(dead_frames=False, postponing=False, prompting=False)
"""Those that cost next to nothing."""
NONE = Reductions(mappings=False, dead_frames=False, postponing=False, prompting=False)


class Cell(NamedTuple):
    """A process with what is on its way to it."""

    local: int
    inbox: tuple[int, ...]
    """Frames: sorted, if they may arrive in any order; else by channel, those of one channel in order."""
    down: int
    """The set of processes that have crashed."""
    disconnected: frozenset[int] = frozenset()
    """The process's link instances whose connection is lost."""
    left: int = 0
    """The set of processes that have left the group."""


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
    owed: Column = field(default_factory=Column)
    """How many frames that cannot be lost must yet be received here, or ALWAYS."""
    owed_in_time: Column = field(default_factory=Column)
    """The same, if armed timers never fire."""
    timed: bool = False
    """Whether any process has armed a timer."""
    lossy: list[bool] = field(default_factory=list)
    """Whether a frame of a crashed process, or on a lost connection, is on its way here."""
    taken_away: dict[int, set[int]] = field(default_factory=dict)
    """By local state, the frames that were assumed dead there."""
    _number_of: dict[Cell, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.moves = cache(lambda cell: tuple(self._moves(self.rows[cell])))
        """What a process can do in a cell, apart from crashing."""
        self._dead = PairMemo(self._is_dead)
        self.arrived = cache(self._arrived)
        self.noticed = cache(self._noticed)

    def start(self, process: int) -> int:
        return self._numbered(Cell(self.graph.start(process), (), 0))

    def _arrived(self, cell: int, frames: tuple[int, ...]) -> int:
        """The cell with more frames on their way to it."""
        row = self.rows[cell]
        if row.disconnected:
            frames = tuple(f for f in frames if self.graph.frames[f].link not in row.disconnected)
        return self._numbered(row._replace(inbox=row.inbox + frames))

    def crashed(self, cell: int) -> int:
        """The cell of a process that crashes: whatever was on its way to it is gone."""
        row = self.rows[cell]
        down = row.down | 1 << self.graph.rows[row.local].process
        return self._numbered(row._replace(local=self.graph.crashed(row.local), down=down))

    def _noticed(self, cell: int, peer: int, left: bool = False) -> int:
        """The cell of a process when a peer crashes, or leaves; what it sent before it left arrives."""
        row = self.rows[cell]
        if left:
            return self._numbered(row._replace(left=row.left | 1 << peer))
        return self._numbered(row._replace(down=row.down | 1 << peer))

    def disconnected(self, cell: int, link: int) -> int:
        """The cell of a process when a connection of its own is lost."""
        row = self.rows[cell]
        return self._numbered(row._replace(disconnected=row.disconnected | {link}))

    def connections(self, cell: int) -> frozenset[int]:
        """The link instances whose connection may be lost: those in use, and those that frames come on."""
        row = self.rows[cell]
        arriving = {self.graph.frames[frame].link for frame in row.inbox} - {NO_LINK}
        return (self.graph.usable_links(row.local) | arriving) - row.disconnected

    def is_dead(self, local: int, frame: int) -> bool:
        """The frame is a no-op here and, until the audit shows otherwise, ever after."""
        return bool(self._dead[local << HALF | frame])

    def _is_dead(self, local: int, frame: int) -> bool:
        if frame in self.revivable or not self.graph.is_no_op(local, frame):
            return False
        self.taken_away.setdefault(local, set()).add(frame)
        return True

    def receivable(self, inbox: Sequence[int]) -> Iterable[int]:
        """Places in an inbox: one for each distinct frame, or the first of each channel."""
        frames = self.graph.frames
        seen = set()
        for place, frame in enumerate(inbox):
            distinct = frames[frame].channel if self.scope.fifo else frame
            if distinct not in seen:
                seen.add(distinct)
                yield place

    @property
    def losses_are_moves(self) -> bool:
        """Whether losing a frame is a step; where any frame may be late for ever, it need not be."""
        return self.scope.fifo or self.graph.cast.linked

    def left_over(self, cell: int) -> list[int]:
        """The frames here whose receipt would have an effect: at an end, those the network lost."""
        row = self.rows[cell]
        return [frame for frame in row.inbox if not self.graph.is_no_op(row.local, frame)]

    def is_up(self, cell: int) -> bool:
        local = self.local_of[cell]
        return not self.graph.rows[local].gone and self.graph.has_begun(local)

    def may_leave(self, cell: int) -> bool:
        """Whether the process is yet to leave the group."""
        row = self.graph.rows[self.local_of[cell]]
        return not row.gone and any(call.do == LEAVE for call in self.graph.cast.calls[row.process])

    def _numbered(self, row: Cell) -> int:
        """The number of a cell, after dead frames were taken away."""
        local, inbox, down, disconnected, left = row
        if self.graph.rows[local].gone:
            kept: list[int] = []
        elif self.reductions.dead_frames:
            kept = [frame for frame in inbox if not self.is_dead(local, frame)]
        else:
            kept = list(inbox)
        kept.sort(key=self.graph.channel_of.__getitem__ if self.scope.fifo else None)
        row = Cell(local, tuple(kept), down, disconnected, left)
        number = self._number_of.setdefault(row, len(self.rows))
        if number == len(self.rows):
            self._add(row)
        return number

    def _add(self, row: Cell) -> None:
        local = self.graph.rows[row.local]
        certain = list(row.inbox)
        if row.down or row.disconnected:
            certain = [frame for frame in row.inbox if not self.is_lossy(row, frame)]
        self.rows.append(row)
        self.local_of.append(row.local)
        self.lossy.append(len(certain) < len(row.inbox))
        if local.gone:
            owed = 0
        elif self._must_act(row):
            owed = ALWAYS
        else:
            owed = self._alive(row.local, certain)
        armed = bool(local.armed) and not local.gone
        self.timed |= armed
        self.owed.numbers.append(ALWAYS if armed else owed)
        # A timer whose firing costs nothing will fire.
        samples = self.graph.cast.samples
        free = armed and samples and any(self._firings(row, timer, FREE) for timer in local.armed)
        self.owed_in_time.numbers.append(ALWAYS if free else owed)

    def _alive(self, local: int, frames: list[int]) -> int:
        """How many of the frames have an effect; where losses are moves, whether any has is enough."""
        if not self.losses_are_moves:
            return sum(not self.graph.is_no_op(local, frame) for frame in frames)
        # Those that come first in their queues are tried anyway.
        first = [frames[place] for place in self.receivable(frames)]
        return any(not self.graph.is_no_op(local, frame) for frame in (*first, *frames))

    def _moves(self, row: Cell) -> Iterable[Move]:
        local = self.graph.rows[row.local]
        if local.gone:
            return
        if self.graph.may_call(row.local):
            yield from self._steps(row, CALL, local.called, row.inbox, FREE)
        if not self.graph.has_begun(row.local):
            return
        if self.graph.may_speak(row.local):
            for place in range(len(self.graph.next_audiences(row.local))):
                yield from self._steps(row, SPEAK, place, row.inbox, FREE)
        for place in self.receivable(row.inbox):
            yield from self._frame_moves(row, place)
        for peer in self._suspects(row):
            yield from self._steps(row, SUSPECT, peer, row.inbox, FREE)
        for link in sorted(row.disconnected - local.links_down):
            yield from self._steps(row, LINK_DOWN, link, row.inbox, FREE)
        for timer in sorted(local.armed) if self.graph.cast.samples or self.scope.timer_firings_max else ():
            for cost in (FREE, FIRING):
                for step in self._firings(row, timer, cost):
                    yield self._move(row, step, row.inbox, cost, EXPIRE, timer)
        if self.scope.suspicions_max:
            for peer in self._trusted(row):
                yield from self._steps(row, MISTRUST, peer, row.inbox, SUSPICION)

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
        if self.losses_are_moves and self.scope.drops_max and self._may_be_lost(frame):
            yield Move(self._numbered(row._replace(inbox=rest)), NOTHING, DROP, LOSE, frame)

    def _must_act(self, row: Cell) -> bool:
        """Whether something is due here besides the receipt of frames and the firing of timers."""
        local = self.graph.rows[row.local]
        untold = self._suspects(row) or row.disconnected - local.links_down
        return bool(untold or self.graph.may_speak(row.local) or self.graph.may_call(row.local))

    def is_lossy(self, row: Cell, frame: int) -> bool:
        """Whether it comes from a crashed process, or on a lost connection: any tail of these may be lost."""
        sent = self.graph.frames[frame]
        return bool(row.down >> sent.source & 1) or sent.link in row.disconnected

    def _may_be_lost(self, frame: int) -> bool:
        """Links that open and close are reliable, but for frames that say they may be lost."""
        return not self.graph.cast.linked or declaration_of(type(self.graph.frames[frame].message)).droppable

    def _suspects(self, row: Cell) -> list[int]:
        """The peers that crashed or left and of which the process was not told yet."""
        due = (row.down | row.left) & ~self.graph.rows[row.local].suspected if self.scope.detector else 0
        return [peer for peer in range(self.scope.processes) if due >> peer & 1]

    def _trusted(self, row: Cell) -> list[int]:
        """The peers that may be held to be down though they are not."""
        me = self.graph.rows[row.local].process
        peers = (peer for peer in range(self.scope.processes) if peer != me)
        return [peer for peer in peers if not (row.down | row.left) >> peer & 1]

    def _firings(self, row: Cell, timer: int, cost: int) -> list[LocalStep]:
        """What the firing of a timer does, where that costs nothing or where it is paid for."""
        steps = self.graph.step(row.local, EXPIRE, timer)
        return [step for step in steps if self.graph.is_quiet(row.local, step) == (cost == FREE)]

    def _steps(self, row: Cell, do: str, what: int, inbox: tuple[int, ...], cost: int) -> Iterable[Move]:
        for step in self.graph.step(row.local, do, what):
            yield self._move(row, step, inbox, cost, do, what)

    def _move(
        self, row: Cell, step: LocalStep, inbox: tuple[int, ...], cost: int, do: str, what: int
    ) -> Move:
        cell = self._numbered(row._replace(local=step.after, inbox=inbox))
        return Move(cell, step, cost, do, what, keep=cost == DUPLICATE)
