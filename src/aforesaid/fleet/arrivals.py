"""Frames arrive, and timers go off."""

from aforesaid.fleet.closing import agreed, close_asked, close_expired, ended, kept, reset
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import end_of, notify, unref
from aforesaid.fleet.handshake import (
    acknowledged,
    buffer_arrived,
    control_arrived,
    handshake_expired,
    take,
)
from aforesaid.fleet.layout import FRAME, State
from aforesaid.fleet.lists import row
from aforesaid.fleet.membership import enter, hear_of_crash, join_expired, welcome
from aforesaid.fleet.spray import NEW, answer, answered, period_over, take_arc
from aforesaid.fleet.states import Due, Kind, News
from aforesaid.fleet.tables import (
    fifo,
    hot,
    links,
    logs,
    masks,
    prefetch,
    processes,
    rows,
    slots,
    wired,
    wires,
)
from aforesaid.fleet.wiring import unwire
from aforesaid.fleet.wishes import mediated, retention_expired

LOW = (1 << 32) - 1

ROW_LINES, LINK_LINES, ENDS_LINES, WIRE_LINES = 3, 2, 4, 2
"""Cache lines that a frame needs of a process's row, of a link's, of the list of the process's ends, and of
the sender's wire row, if that changes."""


@inner
def take_controls(w: State, p: int) -> None:
    """What was flooded to this process, now that the step is over that brought it."""
    taken = 0
    while taken < w.controls.count:
        s = row(w, w.controls, taken).peer
        taken += 1
        take(w, p, slots(w)[s].flood_kind, slots(w)[s].flood_link, -1)
    w.controls.count = 0


@inner
def fetch_frame(w: State, place: int) -> None:
    """Fetch what the frame at a place of the FIFO, if there is one, will need first: frames come in rows."""
    room = fifo(w).shape[1] - 1
    if fifo(w)[w.pace, place & room] < 0:
        source, p = fifo(w)[w.pace, (place + 1) & room] >> 32, fifo(w)[w.pace, (place + 1) & room] & LOW
        about_links = fifo(w)[w.pace, (place + 2) & room]
        prefetch(hot(w), p, 0)
        for line in range(ROW_LINES):
            prefetch(processes(w), p, line)
        for line in range(LINK_LINES):
            prefetch(links(w), (about_links >> 32) - 1, line)
            prefetch(links(w), (about_links & LOW) - 1, line)
        if fifo(w)[w.pace, place & room] in (-1 - Kind.BUFFER, -1 - Kind.FIN):
            for line in range(WIRE_LINES):
                prefetch(wires(w), source * wires(w).shape[1], line)
                prefetch(wired(w), source * wired(w).shape[1], line)


@inner
def fetch_ends(w: State, place: int) -> None:
    """Fetch the ends of the process that the frame at a place of the FIFO is for; its row was fetched."""
    room = fifo(w).shape[1] - 1
    if fifo(w)[w.pace, place & room] < 0:
        at = processes(w)[fifo(w)[w.pace, (place + 1) & room] & LOW].ends.at
        for line in range(ENDS_LINES):
            prefetch(rows(w), at, line)
        if fifo(w)[w.pace, place & room] == -1 - Kind.BUFFER:
            fetch_logs(w, place)


@inner
def fetch_logs(w: State, place: int) -> None:
    """Fetch where the logs begin that the buffer at a place of the FIFO is about; its link was fetched."""
    room, ring, log = fifo(w).shape[1] - 1, masks(w).shape[0] - 1, logs(w)
    ends, args = fifo(w)[w.pace, (place + 1) & room], fifo(w)[w.pace, (place + 3) & room]
    source, p, lid = ends >> 32, ends & LOW, (fifo(w)[w.pace, (place + 2) & room] >> 32) - 1
    prefetch(log, source * log.shape[1] + (((args >> 32) - 1) & ring), 0)
    prefetch(log, source * log.shape[1] + (((args >> 32) - 1) & ring), 1)
    prefetch(log, p * log.shape[1] + (end_of(w, lid, p).log_first & ring), 0)
    prefetch(log, p * log.shape[1] + (end_of(w, lid, p).log_first & ring), 1)


@inner
def arrive(w: State, kind: int) -> int:
    """A frame arrives; the FIFO's head stands behind its first word. Returns where, or -1 if it is down."""
    room, head = fifo(w).shape[1] - 1, w.air[w.pace].head
    ends, about_links, args = (
        fifo(w)[w.pace, head & room],
        fifo(w)[w.pace, (head + 1) & room],
        fifo(w)[w.pace, (head + 2) & room],
    )
    w.air[w.pace].head = head + FRAME - 1
    # The frame after the next: what it needs is there when this one and the next are done with.
    fetch_frame(w, head + 2 * FRAME - 1)
    fetch_ends(w, head + FRAME - 1)
    source, p = ends >> 32, ends & LOW
    lid, about = (about_links >> 32) - 1, (about_links & LOW) - 1
    first, second = (args >> 32) - 1, (args & LOW) - 1
    if kind == Kind.FIN:
        unwire(w, lid, source)
    if processes(w)[p].up:
        if kind <= Kind.RHO:
            control_arrived(w, p, source, kind, lid, about, first, second)
        elif Kind.INTRODUCE <= kind <= Kind.SPARE:
            sampled(w, p, kind, source, first)
        else:
            about_link(w, p, kind, source, lid, about, first, second)
    unref(w, lid)
    unref(w, about)
    return p if processes(w)[p].up else -1


@inner
def sampled(w: State, p: int, kind: int, source: int, what: int) -> None:
    """A message of the peer sampling."""
    if kind == Kind.SPARE:
        mediated(w, p, source, what)
    elif not processes(w)[p].inside:
        return
    elif kind == Kind.INTRODUCE:
        take_arc(w, p, what, NEW, source)
    elif kind == Kind.REQUEST:
        answer(w, p, source, what)
    else:
        answered(w, p, what)


@inner
def about_link(
    w: State, p: int, kind: int, source: int, lid: int, about: int, first: int, second: int
) -> None:
    """A frame that opens or closes a link."""
    if kind == Kind.BUFFER:
        buffer_arrived(w, p, source, lid, first, second)
    elif kind == Kind.ACK:
        acknowledged(w, p, lid)
        if end_of(w, lid, p).welcoming:
            end_of(w, lid, p).welcoming = 0
            notify(w, News.WELCOMED, links(w)[lid].opener)
    elif kind == Kind.CLOSE:
        close_asked(w, p, source, lid)
    elif kind == Kind.AGREE:
        agreed(w, p, lid)
    elif kind == Kind.KEEP:
        kept(w, p, lid)
    elif kind == Kind.FIN:
        ended(w, p, lid)
    elif kind == Kind.RESET:
        reset(w, p, about)
    elif kind == Kind.JOIN:
        welcome(w, p, about)
    elif kind == Kind.WELCOME:
        enter(w, p, source, lid)


@inner
def expire(w: State, kind: int, number: int, p: int, what: int) -> int:
    """A timer goes off; one that was disarmed or armed anew has another number than its owner knows.

    Returns whose it was, or -1 if that process is down.
    """
    me = processes(w)[p]
    if kind == Due.PEER_DOWN:
        hear_of_crash(w, p, what)
    elif not me.up:
        return -1
    elif kind == Due.PERIOD:
        if what == me.incarnation:
            period_over(w, p)
    elif kind in (Due.HANDSHAKE, Due.CLOSE):
        link_expired(w, kind, number, p, what)
    elif kind == Due.RETAINED:
        retention_expired(w, p, number)
    elif kind == Due.JOIN:
        join_expired(w, p, what)
    return p if me.up else -1


@inner
def link_expired(w: State, kind: int, number: int, p: int, lid: int) -> None:
    mine = end_of(w, lid, p)
    links(w)[lid].refs += 1
    if kind == Due.HANDSHAKE and mine.handshake_timer == number:
        mine.handshake_timer = 0
        handshake_expired(w, p, lid)
    elif kind == Due.CLOSE and mine.close_timer == number:
        mine.close_timer = 0
        close_expired(w, p, lid)
    unref(w, lid)
