"""Frames arrive, and timers go off."""

from aforesaid.fleet.closing import close_asked, close_expired, ended, kept, reset
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import notify, side_of, unref
from aforesaid.fleet.handshake import (
    acknowledged,
    buffer_arrived,
    control_arrived,
    handshake_expired,
    take,
)
from aforesaid.fleet.layout import (
    ACK,
    BUFFER,
    CLOSE,
    CLOSE_TIMEOUT,
    CLOSE_TIMER,
    CONTROL,
    CONTROLS,
    FIN,
    FLOOD_KIND,
    FLOOD_LINK,
    FRAME,
    HANDSHAKE_TIMEOUT,
    HANDSHAKE_TIMER,
    HEAD,
    INCARNATION,
    INSIDE,
    INTRODUCE,
    JOIN,
    JOIN_TIMEOUT,
    KEEP,
    N_WELCOMED,
    OPENER,
    PEER_DOWN,
    PERIOD_TIMER,
    REFS,
    REQUEST,
    RESET,
    RETAINED_TIMEOUT,
    RHO,
    SPARE,
    UP,
    WELCOME,
    WELCOMING,
)
from aforesaid.fleet.membership import enter, hear_of_crash, join_expired, welcome
from aforesaid.fleet.spray import answer, answered, period_over, take_arc
from aforesaid.fleet.tables import W, fifo, hot, links, prefetch, processes, slots
from aforesaid.fleet.wiring import unwire
from aforesaid.fleet.wishes import mediated, retention_expired

LOW = (1 << 32) - 1

LINE, ROW_LINES, LINK_LINES = 8, 5, 3
"""Words of a cache line; lines that a frame needs of a process's row (up to its first ends), of a link's."""


@inner
def take_controls(w: W, p: int) -> None:
    """What was flooded to this process, now that the step is over that brought it."""
    taken = 0
    while taken < w[CONTROLS]:
        s = w[CONTROL + taken]
        taken += 1
        take(w, p, slots(w)[s, FLOOD_KIND], slots(w)[s, FLOOD_LINK], -1)
    w[CONTROLS] = 0


@inner
def fetch_frame(w: W, place: int) -> None:
    """Fetch what the frame at a place of the FIFO, if there is one, will need first: frames come in rows."""
    room = fifo(w).shape[1] - 1
    if fifo(w)[0, place & room] < 0:
        p, about_links = fifo(w)[0, (place + 1) & room] & LOW, fifo(w)[0, (place + 2) & room]
        prefetch(hot(w), p * hot(w).shape[1])
        for line in range(ROW_LINES):
            prefetch(processes(w), p * processes(w).shape[1] + line * LINE)
        for line in range(LINK_LINES):
            prefetch(links(w), ((about_links >> 32) - 1) * links(w).shape[1] + line * LINE)
            prefetch(links(w), ((about_links & LOW) - 1) * links(w).shape[1] + line * LINE)


@inner
def arrive(w: W, kind: int) -> int:
    """A frame arrives; the FIFO's head stands behind its first word. Returns where, or -1 if it is down."""
    room, head = fifo(w).shape[1] - 1, w[HEAD]
    ends, about_links, args = (
        fifo(w)[0, head & room],
        fifo(w)[0, (head + 1) & room],
        fifo(w)[0, (head + 2) & room],
    )
    w[HEAD] = head + FRAME - 1
    # The frame after the next: what it needs is there when this one and the next are done with.
    fetch_frame(w, head + 2 * FRAME - 1)
    source, p = ends >> 32, ends & LOW
    lid, about = (about_links >> 32) - 1, (about_links & LOW) - 1
    first, second = (args >> 32) - 1, (args & LOW) - 1
    if kind == FIN:
        unwire(w, lid, source)
    if processes(w)[p, UP]:
        if kind <= RHO:
            control_arrived(w, p, source, kind, lid, about, first, second)
        elif INTRODUCE <= kind <= SPARE:
            sampled(w, p, kind, source, first)
        else:
            about_link(w, p, kind, source, lid, about, first, second)
    unref(w, lid)
    unref(w, about)
    return p if processes(w)[p, UP] else -1


@inner
def sampled(w: W, p: int, kind: int, source: int, what: int) -> None:
    """A message of the peer sampling."""
    if kind == SPARE:
        mediated(w, p, source, what)
    elif not processes(w)[p, INSIDE]:
        return
    elif kind == INTRODUCE:
        take_arc(w, p, what, 0, source)
    elif kind == REQUEST:
        answer(w, p, source, what)
    else:
        answered(w, p, what)


@inner
def about_link(w: W, p: int, kind: int, source: int, lid: int, about: int, first: int, second: int) -> None:
    """A frame that opens or closes a link."""
    if kind == BUFFER:
        buffer_arrived(w, p, source, lid, first, second)
    elif kind == ACK:
        acknowledged(w, p, lid)
        if links(w)[lid, WELCOMING + side_of(w, lid, p)]:
            links(w)[lid, WELCOMING + side_of(w, lid, p)] = 0
            notify(w, N_WELCOMED, links(w)[lid, OPENER])
    elif kind == CLOSE:
        close_asked(w, p, source, lid)
    elif kind == KEEP:
        kept(w, p, lid)
    elif kind == FIN:
        ended(w, p, lid)
    elif kind == RESET:
        reset(w, p, about)
    elif kind == JOIN:
        welcome(w, p, about)
    elif kind == WELCOME:
        enter(w, p, source, lid)


@inner
def expire(w: W, kind: int, number: int, p: int, what: int) -> int:
    """A timer goes off; one that was disarmed or armed anew has another number than its owner knows.

    Returns whose it was, or -1 if that process is down.
    """
    if kind == PEER_DOWN:
        hear_of_crash(w, p, what)
    elif not processes(w)[p, UP]:
        return -1
    elif kind == PERIOD_TIMER:
        if what == processes(w)[p, INCARNATION]:
            period_over(w, p)
    elif kind in (HANDSHAKE_TIMEOUT, CLOSE_TIMEOUT):
        link_expired(w, kind, number, p, what)
    elif kind == RETAINED_TIMEOUT:
        retention_expired(w, p, number)
    elif kind == JOIN_TIMEOUT:
        join_expired(w, p, what)
    return p if processes(w)[p, UP] else -1


@inner
def link_expired(w: W, kind: int, number: int, p: int, lid: int) -> None:
    side = side_of(w, lid, p)
    links(w)[lid, REFS] += 1
    if kind == HANDSHAKE_TIMEOUT and links(w)[lid, HANDSHAKE_TIMER + side] == number:
        links(w)[lid, HANDSHAKE_TIMER + side] = 0
        handshake_expired(w, p, lid)
    elif kind == CLOSE_TIMEOUT and links(w)[lid, CLOSE_TIMER + side] == number:
        links(w)[lid, CLOSE_TIMER + side] = 0
        close_expired(w, p, lid)
    unref(w, lid)
