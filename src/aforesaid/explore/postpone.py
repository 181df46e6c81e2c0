"""Which processes need to move now, and which can wait: persistent sets of processes.

Steps at different processes commute: each changes its own cell and adds frames to others. A set P of
processes may therefore move first, and all others be postponed, if nothing the others do meanwhile can
matter to P (Godefroid (1996), chapter 4: the moves of P are a persistent set). Worlds in which the others had
run ahead are never visited. Unlike sleep sets, which spare transitions but no states, this spares states,
and a transition here is a few table lookups.

Two shapes of P are tried:
- the processes that still have something to say. One that has said its last word influences others
  through relays only, and relays tell them nothing new: so its own receipts can wait until all have spoken;
- when all have spoken, one process after the other: their last receipts multiply no more, they add up.

Nothing here rests on whom messages are for: whether a frame is redundant is seen by trying it. Only the first
shape pays less where messages have audiences, since acks and permits do tell something new.

What "can matter to P" means. Let the others D run on alone, on what is in their inboxes. A frame g that
some y of D sends meanwhile to x of P is *redundant* if, in the local state of x at hand, it is dead, or it
has a *twin* f that x can receive now: receiving f or g leads to the same local state with the same
deliveries, both are dead in that state, and what x sends differs only in frames to y which are dead at y
once y has sent g.

If all such g are redundant, the moves of P suffice. Proof: take any run and its first step a at a process x
of P. The steps before it are all of D and touch neither the cell of x nor, but for g, its inbox. If a
receives a g, receive its twin instead; the two worlds after differ in dead frames only. Now a commutes to
the front. If the run has no step at P then it does not end, since P has a move which stays possible. By
induction on the length every run to an end has an explored run with the same local states, deliveries and
end.

For several postponed processes, "alone" must mean each on its own: so the frames they send to each other
must be redundant too, in every cell that the receiver can reach alone (`_is_redundant_throughout`).

What the argument needs besides, and where it is seen to:
- dead frames stay dead, and frames to y are dead where y has sent g: proved at the end by `audit`;
- no step of P can go on for ever without the others: the moves that were looked at lead from no world back
  to it (`Search.goes_round`). If a run has no step at P, the same run is possible after a move of P; that
  cannot be said for ever, so the induction is on the length of the run, and then on how far the explored
  moves lead. A mediator that passes a frame on is as before, but the world is not: local steps may go round;
- no process of D may call a message stable meanwhile, if stability is promised: that others have delivered
  it by then would be judged too late;
- no budget is shared by P and D, and nothing may be lost: else nobody is postponed. With any duplicate,
  crash or timer left to spend, a frame of a crashed process on its way, or somebody yet to leave, of which
  the detector would tell the others, every process moves.
Ends, verdicts and reachable local states are the same; the first violation met need not be the shortest, so
that is then searched for without postponing. One violation is beyond it: a protocol that delivers, unheard,
a message by guessing id and payload before its origin has spoken may be seen only after the origin did.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from aforesaid.explore.cells import FREE, Cells
from aforesaid.explore.local import RECEIVE
from aforesaid.explore.tables import Flags, Memo, Numbers, PairMemo


@dataclass
class Postponer:
    """Decides, world by world, who moves."""

    cells: Cells
    promises: tuple[str, ...] = ()
    obligations: set[tuple[int, int]] = field(default_factory=set)
    """Pairs (g, h): whoever has sent g must find h dead. `audit` proves it."""
    postponed: int = 0
    """In how many worlds somebody was postponed who could have moved."""

    def __post_init__(self) -> None:
        # What is asked of a cell has one answer, and is asked in many worlds.
        graph = self.cells.graph
        self._able = Memo(self._is_able)
        self._speaking = Memo(lambda cell: self._able[cell] and graph.may_speak(self.cells.local_of[cell]))
        self._unsure = Memo(lambda cell: self.cells.lossy[cell] or self.cells.may_leave(cell))
        self._calls = Memo(self._calls_stable)
        self._sent_alone = cache(self._frames_sent_alone)
        self._redundant = cache(self._is_redundant)
        self._redundant_throughout = cache(self._is_redundant_throughout)
        self._quiet = PairMemo(self._is_quiet)

    def movers(self, worlds: Numbers) -> Flags:
        """By world in which nothing is left to spend, the processes whose moves suffice."""
        cells = worlds[:, :-1]
        able, speaking = _each(self._able, cells), _each(self._speaking, cells)
        movers = able.copy()
        certain = ~_each(self._unsure, cells).any(axis=1) & (able.sum(axis=1) > 1)
        some = speaking.any(axis=1)
        self._try(cells, speaking, able, movers, certain & some & (speaking != able).any(axis=1))
        for process in range(cells.shape[1]):
            alone = np.zeros_like(able)
            alone[:, process] = True
            # Not where another was found already that can go first.
            untried = certain & ~some & able[:, process] & (movers == able).all(axis=1)
            self._try(cells, alone, able, movers, untried)
        return movers

    def _try(self, cells: Numbers, first: Flags, able: Flags, movers: Flags, where: Flags) -> None:
        """Let those who are first alone move, where nothing that the others do matters to them."""
        rows = np.flatnonzero(where)
        for y in range(cells.shape[1]):
            waits = able[:, y] & ~first[:, y]
            if "stability" in self.promises:
                rows = rows[~(waits[rows] & (self._calls.of(cells[rows, y]) > 0))]
            for x in range(cells.shape[1]):
                if x != y:
                    asked = rows[waits[rows]]
                    both = cells[asked, x] << 1 | ~first[asked, x]
                    loud = asked[self._quiet.of_pairs(both, cells[asked, y]) == 0]
                    rows = np.setdiff1d(rows, loud, assume_unique=True)
        movers[rows] = first[rows]
        self.postponed += len(rows)

    def _is_able(self, cell: int) -> bool:
        """Whether the process has a move that costs nothing; a timer that may not fire any more is none."""
        return any(move.cost == FREE for move in self.cells.moves(cell))

    def _is_quiet(self, both: int, sender: int) -> bool:
        """Whatever the sender sends alone is redundant at the receiver: now, or wherever it gets alone."""
        receiver, throughout = both >> 1, both & 1
        graph = self.cells.graph
        process = graph.rows[self.cells.local_of[receiver]].process
        test = self._redundant_throughout if throughout else self._redundant
        frames = (frame for frame in self._sent_alone(sender) if graph.frames[frame].target == process)
        return all(test(receiver, frame) for frame in frames)

    def _calls_stable(self, cell: int) -> bool:
        """Whether the process can call something stable on what is in its inbox."""
        moves = [move for move in self.cells.moves(cell) if move.cost == FREE]
        return any(move.step.stable_calls or self._calls[move.cell] for move in moves)

    def _frames_sent_alone(self, cell: int) -> frozenset[int]:
        """Every frame the process can send on what is in its inbox. Each move uses up input, so this ends."""
        frames: set[int] = set()
        for move in self.cells.moves(cell):
            if move.cost == FREE:
                frames.update(move.step.sent)
                frames |= self._sent_alone(move.cell)
        return frozenset(frames)

    def _is_redundant_throughout(self, cell: int, frame: int) -> bool:
        return self._redundant(cell, frame) and all(
            self._redundant_throughout(move.cell, frame)
            for move in self.cells.moves(cell)
            if move.cost == FREE
        )

    def _is_redundant(self, cell: int, frame: int) -> bool:
        local, inbox, *_ = self.cells.rows[cell]
        return self.cells.is_dead(local, frame) or any(
            self._are_twins(local, inbox[place], frame) for place in self.cells.receivable(inbox)
        )

    def _are_twins(self, local: int, twin: int, frame: int) -> bool:
        graph, cells = self.cells.graph, self.cells
        ours, theirs = graph.step(local, RECEIVE, twin), graph.step(local, RECEIVE, frame)
        if len(ours) > 1 or len(theirs) > 1 or ours[0].failure or theirs[0].failure:
            return False
        after = ours[0].after
        if after != theirs[0].after or ours[0].deliveries != theirs[0].deliveries:
            return False
        if ours[0].stable_calls != theirs[0].stable_calls:
            return False
        sent, sent_instead = ours[0].sent, theirs[0].sent
        extras = set(sent) ^ set(sent_instead)
        if [f for f in sent if f not in extras] != [f for f in sent_instead if f not in extras]:
            return False
        sender = graph.frames[frame].source
        if any(graph.frames[extra].target != sender for extra in extras):
            return False
        if not (cells.is_dead(after, twin) and cells.is_dead(after, frame)):
            return False
        self.obligations.update((frame, extra) for extra in extras)
        return True


def _each(table: Memo, cells: Numbers) -> Flags:
    return table.of(cells.ravel()).reshape(cells.shape) > 0
