"""What is looked at on every delivery the search makes: cheap, and no more than a suspicion.

When process p delivers m the guard asks: is m for p (audience), has p delivered m before (no_duplicate), was
m sent (no_creation), has p delivered, of what is for p, every earlier message of m's origin (fifo) and all
that happened before m (causal)? When p calls m stable: for the first time, and has everyone delivered m whom
it is for and who is up (stability)? It asks only for what the algorithm promises. If it trips, the schedule
is run again and the checker has the last word; a guard and a checker that disagree are an error of ours.

What happened before m is, for broadcasts, what m's origin had sent or delivered before it sent m: whatever
came before that, the origin had delivered, or the guard had tripped there. Where messages have audiences, the
origin need not have got what came before; so the pasts of the past are followed.

`causal_unless_lost` excuses what is missing of a process that has crashed. Then two more things can go wrong:
what was missing is delivered after all, after what followed it; or its origin has not crashed.
"""

from collections.abc import Hashable

from aforesaid.explore.cells import Cells
from aforesaid.explore.local import Local, LocalStep
from aforesaid.explore.performance import UNKNOWN

FAILURE = "failure"
"""Not a property: the protocol broke the contract of the port."""


class Guard:
    """Looks at deliveries."""

    def __init__(self, cells: Cells, promises: tuple[str, ...]) -> None:
        cast = cells.graph.cast
        self._cells = cells
        self._origins, self._firsts, self._own_masks = cast.origins, cast.firsts, cast.own_masks
        self._addressed = cast.addressed
        self._joined = len(cast.founders) < len(cast.names)
        self._creation = "no_creation" if "no_creation" in promises else ""
        self._duplicate = "no_duplicate" if "no_duplicate" in promises else ""
        self._stability = "stability" in promises
        # The masks of what must come before a message: its origin's own messages, or everything, or nothing.
        self._own = [cast.own_masks[origin] if "fifo" in promises else 0 for origin in cast.origins]
        self._all = -1 if "causal" in promises else 0
        self._unless_lost = "causal_unless_lost" in promises
        self._before: dict[tuple[int, tuple[tuple[int, ...], ...]], int] = {}
        """By message and all pasts, what happened before the message."""

    def facet(self, local: int) -> Hashable:
        """As much of a process's local state as the judgement of any step can look at."""
        row = self._cells.graph.rows[local]
        seen = row.delivered if self._stability else 0
        return row.process, row.pasts, row.audiences, row.gone, row.admitted, seen

    def broken(self, step: LocalStep, after: tuple[int, ...]) -> str:
        """The property that a step seems to break, or FAILURE, or nothing; it leads to the world `after`."""
        for message, before in step.deliveries:
            name = self._misdelivered(step.after, message, before, after)
            # What was never said by anyone is a failure if it has the name of something that was.
            if name and not (message == UNKNOWN and step.failure):
                return name
        if self._stability and not all(self._is_stable(*call, after) for call in step.stable_calls):
            return "stability"
        return FAILURE if step.failure else ""

    def _misdelivered(self, local: int, message: int, before: int, after: tuple[int, ...]) -> str:
        if message == UNKNOWN:
            return self._creation
        if before >> message & 1:
            return self._duplicate
        past = self._past(message, after)
        if past is None:
            return self._creation
        if self._addressed:
            everyone = self._everyone(after)
            owed = _addressed_to(self._cells.graph.rows[local].process, everyone, self._firsts)
            if not owed >> message & 1:
                return "audience"
            past = self._all_before(message, everyone) & owed
        missing = past & ~before & ~self._base(self._cells.graph.rows[local].process, after)
        if missing & self._own[message]:
            return "fifo"
        if missing & self._all:
            return "causal"
        if self._unless_lost and self._is_out_of_order(message, missing, before, after):
            return "causal_unless_lost"
        return ""

    def _is_out_of_order(self, message: int, missing: int, before: int, after: tuple[int, ...]) -> bool:
        everyone = self._everyone(after)
        for row, own in zip(everyone, self._own_masks, strict=True):
            if not row.gone and missing & own:
                return True
        overtaken_by = (m for m in range(len(self._origins)) if before >> m & 1)
        return any(self._all_before(later, everyone) >> message & 1 for later in overtaken_by)

    def _is_stable(self, message: int, is_new_and_own: bool, after: tuple[int, ...]) -> bool:
        if not is_new_and_own or self._past(message, after) is None:
            return False
        everyone, origin = self._everyone(after), self._origins[message]
        audience = everyone[origin].audiences[message - self._firsts[origin]]
        return all(
            row.gone or row.delivered >> message & 1 or not audience >> row.process & 1 for row in everyone
        )

    def _everyone(self, after: tuple[int, ...]) -> list[Local]:
        rows, local_of = self._cells.graph.rows, self._cells.local_of
        return [rows[local_of[cell]] for cell in after[:-1]]

    def _past(self, message: int, after: tuple[int, ...]) -> int | None:
        """What was sent or delivered before a message by its origin; None if it has not been sent."""
        origin = self._origins[message]
        pasts = self._cells.graph.rows[self._cells.local_of[after[origin]]].pasts
        number = message - self._firsts[origin]
        return pasts[number] if number < len(pasts) else None

    def _base(self, process: int, after: tuple[int, ...]) -> int:
        """What a newcomer is not owed: what its contact had, or was not owed, when it let it in."""
        for row in self._everyone(after) if self._joined else ():
            base = dict(row.admitted).get(process)
            if base is not None:
                return base | self._base(row.process, after)
        return 0

    def _all_before(self, message: int, everyone: list[Local]) -> int:
        """All that happened before a message that was sent."""
        key = (message, tuple(row.pasts for row in everyone))
        found = self._before.get(key)
        if found is None:
            found, waiting = 0, 1 << message
            while waiting:
                earlier = waiting.bit_length() - 1
                origin = self._origins[earlier]
                past = everyone[origin].pasts[earlier - self._firsts[origin]]
                waiting = (waiting & ~(1 << earlier)) | (past & ~found)
                found |= past
            self._before[key] = found
        return found


def _addressed_to(process: int, everyone: list[Local], firsts: tuple[int, ...]) -> int:
    """The set of messages sent so far that are for a process."""
    return sum(
        1 << first + number
        for row, first in zip(everyone, firsts, strict=True)
        for number, audience in enumerate(row.audiences)
        if audience >> process & 1
    )
