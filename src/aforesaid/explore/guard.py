"""What is looked at on every delivery the search makes: cheap, and no more than a suspicion.

When process p delivers m the guard asks: has p delivered m before (no_duplicate), was m sent (no_creation), has p
delivered every earlier message of m's origin (fifo) and everything that m's origin had sent or delivered before
it sent m (causal)? It asks only for what the algorithm promises. If it trips, the schedule is run again and the
checker has the last word; a guard and a checker that disagree are an error of ours.
"""

from aforesaid.explore.cells import Cells, Move
from aforesaid.explore.performance import UNKNOWN
from aforesaid.explore.scope import Cast

FAILURE = "failure"
"""Not a property: the protocol broke the contract of the port."""


class Guard:
    """Looks at deliveries."""

    def __init__(self, cast: Cast, cells: Cells, promises: tuple[str, ...]) -> None:
        self._cells = cells
        self._origins, self._firsts = cast.origins, cast.firsts
        self._creation = "no_creation" in promises
        self._duplicate = "no_duplicate" in promises
        own = tuple(cast.own_masks[origin] for origin in cast.origins)
        self._all, self._own = [-1 if "causal" in promises else 0] * len(own), own
        if "fifo" not in promises:
            self._own = (0,) * len(own)

    def broken(self, move: Move, after: tuple[int, ...]) -> str:
        """The property that a move seems to break, or FAILURE, or nothing; `after` is the world it leads to."""
        rows, local_of = self._cells.graph.rows, self._cells.local_of
        for message, before in move.deliveries:
            if message == UNKNOWN:
                if self._creation and not move.failure:
                    return "no_creation"
                continue
            if self._duplicate and before >> message & 1:
                return "no_duplicate"
            origin = self._origins[message]
            pasts = rows[local_of[after[origin]]].pasts
            number = message - self._firsts[origin]
            if number >= len(pasts):
                if self._creation:
                    return "no_creation"
                continue
            missing = pasts[number] & ~before
            if missing & self._own[message]:
                return "fifo"
            if missing & self._all[message]:
                return "causal"
        return FAILURE if move.failure else ""
