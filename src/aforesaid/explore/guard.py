"""What is looked at on every delivery the search makes: cheap, and no more than a suspicion.

When process p delivers m the guard asks: has p delivered m before (no_duplicate), was m sent (no_creation),
has p delivered every earlier message of m's origin (fifo), and everything that m's origin had sent or
delivered before it sent m (causal)? When p calls m stable: for the first time, and has everyone delivered m
who is up (stability)? It asks only for what the algorithm promises. If it trips, the schedule is run again
and the checker has the last word; a guard and a checker that disagree are an error of ours.
"""

from aforesaid.explore.cells import Cells
from aforesaid.explore.local import LocalStep
from aforesaid.explore.performance import UNKNOWN

FAILURE = "failure"
"""Not a property: the protocol broke the contract of the port."""


class Guard:
    """Looks at deliveries."""

    def __init__(self, cells: Cells, promises: tuple[str, ...]) -> None:
        cast = cells.graph.cast
        self._cells = cells
        self._origins, self._firsts = cast.origins, cast.firsts
        self._creation = "no_creation" if "no_creation" in promises else ""
        self._duplicate = "no_duplicate" if "no_duplicate" in promises else ""
        self._stability = "stability" in promises
        # The masks of what must come before a message: its origin's own messages, or everything, or nothing.
        self._own = [cast.own_masks[origin] if "fifo" in promises else 0 for origin in cast.origins]
        self._all = -1 if "causal" in promises else 0

    def broken(self, step: LocalStep, after: tuple[int, ...]) -> str:
        """The property that a step seems to break, or FAILURE, or nothing; it leads to the world `after`."""
        for message, before in step.deliveries:
            name = self._misdelivered(message, before, after)
            # What was never said by anyone is a failure if it has the name of something that was.
            if name and not (message == UNKNOWN and step.failure):
                return name
        if self._stability and not all(self._is_stable(*call, after) for call in step.stable_calls):
            return "stability"
        return FAILURE if step.failure else ""

    def _misdelivered(self, message: int, before: int, after: tuple[int, ...]) -> str:
        if message == UNKNOWN:
            return self._creation
        if before >> message & 1:
            return self._duplicate
        past = self._past(message, after)
        if past is None:
            return self._creation
        missing = past & ~before
        if missing & self._own[message]:
            return "fifo"
        return "causal" if missing & self._all else ""

    def _is_stable(self, message: int, is_new_and_own: bool, after: tuple[int, ...]) -> bool:
        if not is_new_and_own or self._past(message, after) is None:
            return False
        rows, local_of = self._cells.graph.rows, self._cells.local_of
        everyone = (rows[local_of[cell]] for cell in after[:-1])
        return all(row.crashed or row.delivered >> message & 1 for row in everyone)

    def _past(self, message: int, after: tuple[int, ...]) -> int | None:
        """What was sent or delivered before a message by its origin; None if it has not been sent."""
        origin = self._origins[message]
        pasts = self._cells.graph.rows[self._cells.local_of[after[origin]]].pasts
        number = message - self._firsts[origin]
        return pasts[number] if number < len(pasts) else None
