"""Lists of any length: spans of one table of rows, moved to where there is more room when they are full."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import FEW, MARGIN, SPANS, Listed, Row, State
from aforesaid.fleet.queues import stop
from aforesaid.fleet.states import Status
from aforesaid.fleet.tables import rows


@inner
def row(w: State, listed: Listed, place: int) -> Row:
    return rows(w)[listed.at + place]


@inner
def append(w: State, listed: Listed, peer: int, what: int) -> Row:
    """A row more at the end of a list."""
    if listed.count == listed.room:
        enlarge(w, listed)
    added = rows(w)[listed.at + listed.count]
    added.peer, added.what = peer, what
    listed.count += 1
    return added


@inner
def enlarge(w: State, listed: Listed) -> None:
    """Move a list to where there is twice the room; where it was, the next one may go."""
    span, room = 0, FEW
    while room <= listed.room:
        span, room = span + 1, 2 * room
    at = w.spare[span] - 1
    if at >= 0:
        w.spare[span] = rows(w)[at].what
    else:
        at = w.rows_used
        if at + room + MARGIN > rows(w).shape[0]:
            stop(w, Status.ROOM, 0, 0)
        if at + room > rows(w).shape[0] or span >= SPANS - 1:
            stop(w, Status.FULL, 0, 0)
            listed.count = 0
            return
        w.rows_used = at + room
    for place in range(listed.count):
        rows(w)[at + place] = rows(w)[listed.at + place]
    if listed.room:
        rows(w)[listed.at].what, w.spare[span - 1] = w.spare[span - 1], listed.at + 1
    listed.at, listed.room = at, room


@inner
def remove(w: State, listed: Listed, place: int) -> None:
    """Take a row out of a list; those after it move up."""
    listed.count -= 1
    for i in range(listed.at + place, listed.at + listed.count):
        rows(w)[i] = rows(w)[i + 1]


@inner
def place_of(w: State, listed: Listed, peer: int) -> int:
    """Where in a list the row of this peer is, the first if there are several; -1: nowhere."""
    for place in range(listed.count):
        if rows(w)[listed.at + place].peer == peer:
            return place
    return -1
