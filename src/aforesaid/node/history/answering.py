"""A member hands its log on to who asks for it: a newcomer, or one that was away.

Law: who was let in here gets the log up to that very moment, for from there on all comes over the link. So
the moment is noted when it happens: the end of the log, and what was known by then.
"""

from aforesaid.core import Process
from aforesaid.ground import ground
from aforesaid.node.history.entries import Floors, above, floors_bytes, read_floors
from aforesaid.node.history.frames import BLOCKS_MAX, FROM_NOW, OLDEST, Ask, Past
from aforesaid.node.history.history import History
from aforesaid.node.operating.logs import tell

ANSWER_BYTES = 512 * 1024
"""Of one answer; it has one block at least."""

ADMITTED_MAX = 256
"""Newcomers of whom the moment is remembered at which they were let in."""

NOTHING = Past(0, True, b"", b"", b"", b"", ())
"""Somebody else is to be asked."""


class Answering:
    """At one incarnation of a member."""

    def __init__(self, history: History, snapshot_bytes_max: int) -> None:
        self._history = history
        self._snapshot_bytes_max = snapshot_bytes_max
        self._admitted: dict[Process, tuple[int, Floors]] = {}

    def admit(self, peer: Process) -> None:
        """Let in just now; all that was delivered before is in the log."""
        log = self._history.log
        self._admitted.pop(peer, None)
        self._admitted[peer] = log.end, dict(log.floors)
        if len(self._admitted) > ADMITTED_MAX:
            del self._admitted[next(iter(self._admitted))]

    def answer(self, peer: Process, ask: Ask) -> Past:
        """Some of the log."""
        log = self._history.log
        log.expire(ground().time_ns())
        until, floors = self._admitted.get(peer, (0, {})) if ask.joined else (log.end, {})
        if not until:
            return NOTHING
        start = Past(ask.place, False, b"", b"", b"", b"", ())
        if not ask.place:
            start = self._start(ask, until)
        elif ask.place < log.first:
            # What it asks for has gone meanwhile.
            start = start._replace(place=log.first, lost=floors_bytes(log.below))
        place, blocks = self._some(start.place, until)
        if place < until:
            return start._replace(place=place, blocks=blocks)
        if ask.joined:
            del self._admitted[peer]
            return start._replace(place=place, done=True, floors=floors_bytes(floors), blocks=blocks)
        return start._replace(place=place, done=True, blocks=blocks)

    def _start(self, ask: Ask, until: int) -> Past:
        """Where the asker's log is to go on."""
        log, floors = self._history.log, read_floors(ask.floors)
        base = lost = {}
        place = until
        if not ask.newcomer:
            place, lost = log.lacking_from(floors), above(log.below, floors)
        elif ask.since == OLDEST:
            place, lost = log.first, log.below
        elif ask.since != FROM_NOW:
            place = log.since(ask.since)
            base = log.floors_at(place)
            if place == log.first:
                base, lost = {}, log.below
        if ask.takes and (lost or (ask.newcomer and ask.since == OLDEST)):
            given = self._given(floors)
            if given is not None:
                return given
        return Past(place, False, floors_bytes(base), floors_bytes(lost), b"", b"", ())

    def _given(self, floors: Floors) -> Past | None:
        """The state of the application, if it holds all that the asker has."""
        give, log = self._history.snapshots.give, self._history.log
        if give is None:
            return None
        state, last = give()
        if not log.first - 1 <= last < log.end or not 0 < len(state) <= self._snapshot_bytes_max:
            tell(self._history.name, "no snapshot", level="warning", bytes=len(state), offset=last)
            return None
        base = log.floors_at(last + 1)
        if above(floors, base):
            return None
        return Past(last + 1, False, floors_bytes(base), b"", b"", state, ())

    def _some(self, place: int, until: int) -> tuple[int, tuple[bytes, ...]]:
        """Blocks from a place on, and where the next one begins."""
        blocks: list[bytes] = []
        size = 0
        for end, block in self._history.log.blocks(place, until):
            if blocks and (size + len(block) > ANSWER_BYTES or len(blocks) == BLOCKS_MAX):
                return place, tuple(blocks)
            blocks.append(block)
            size += len(block)
            place = end
        return max(place, until), tuple(blocks)
