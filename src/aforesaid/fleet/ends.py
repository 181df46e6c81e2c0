"""The two ends of every link, and what is known of them (reference: `prc.links`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import (
    CLOSE_TIMER,
    CLOSE_TRIES,
    CLOSING,
    CONFIRMED,
    ENDS,
    ENDS_MAX,
    FIN,
    FREE_LINK,
    GROUPED,
    HANDSHAKE_TIMER,
    IN,
    LINKS_GONE,
    LINKS_LEFT,
    LISTS,
    NONE,
    NOTICE,
    NOTICES,
    NUMBER,
    OPEN,
    OPEN_COUNT,
    OPENED,
    OPENER,
    OTHER,
    OUT,
    PLACE,
    PLACES,
    REFS,
    RESET,
    ROUTE,
    ROUTE_BACK,
    SAFE,
    SAFE_OUTS,
    TRIES,
)
from aforesaid.fleet.queues import send, stop
from aforesaid.fleet.tables import W, hot, links, processes


@inner
def side_of(w: W, lid: int, p: int) -> int:
    return 0 if links(w)[lid, OPENER] == p else 1


@inner
def far_end(w: W, lid: int, p: int) -> int:
    return int(links(w)[lid, OTHER] if links(w)[lid, OPENER] == p else links(w)[lid, OPENER])


@inner
def known(w: W, lid: int, p: int) -> bool:
    s = side_of(w, lid, p)
    return bool(links(w)[lid, OUT + s] != NONE or links(w)[lid, IN + s] != NONE)


@inner
def complete(w: W, lid: int, p: int) -> bool:
    """Every end that the process has of the link is initialised."""
    s = side_of(w, lid, p)
    sends = links(w)[lid, OUT + s] == NONE or links(w)[lid, OUT + s] == CONFIRMED
    return bool(sends and (links(w)[lid, IN + s] == NONE or links(w)[lid, IN + s] == OPEN))


@inner
def linked(w: W, lid: int, p: int) -> bool:
    """Whether the process counts the link among its `links()`: complete, able to send, not being closed."""
    s = side_of(w, lid, p)
    return links(w)[lid, OUT + s] == CONFIRMED and links(w)[lid, CLOSING + s] == 0 and complete(w, lid, p)


@inner
def links_to(w: W, p: int, peer: int) -> int:
    count = 0
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        if processes(w)[p, ENDS + 2 + 2 * i] == peer and linked(w, lid, p):
            count += 1
    return count


@inner
def safe_to(w: W, p: int, peer: int) -> int:
    """The oldest link on which what is sent to the peer arrives after all that precedes it; -1: none."""
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        if processes(w)[p, ENDS + 2 + 2 * i] == peer and links(w)[lid, OUT + side_of(w, lid, p)] >= SAFE:
            return int(lid)
    return -1


@inner
def bound_to(w: W, p: int, peer: int) -> bool:
    """True if there is a link to the peer, or one being opened, that is not being closed."""
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        if processes(w)[p, ENDS + 2 + 2 * i] == peer and links(w)[lid, CLOSING + side_of(w, lid, p)] == 0:
            return True
    return False


@inner
def precedes(w: W, lid: int, later: int) -> bool:
    same = links(w)[lid, OPENER] == links(w)[later, OPENER]
    return bool(same and links(w)[lid, NUMBER] < links(w)[later, NUMBER])


@inner
def new_link(w: W, p: int, peer: int) -> int:
    """A link instance with a name of its own."""
    processes(w)[p, OPENED] += 1
    if w[LINKS_LEFT] == 0:
        stop(w, LINKS_GONE, p, peer)
        return 0
    w[LINKS_LEFT] -= 1
    lid = w[FREE_LINK]
    w[FREE_LINK] = lid + 1 + links(w)[lid, OTHER]
    links(w)[lid] = 0
    links(w)[lid, OPENER], links(w)[lid, OTHER], links(w)[lid, NUMBER] = p, peer, processes(w)[p, OPENED]
    links(w)[lid, ROUTE], links(w)[lid, ROUTE_BACK], links(w)[lid, TRIES] = -1, -1, 1
    return int(lid)


@inner
def add_end(w: W, lid: int, p: int) -> None:
    count = processes(w)[p, ENDS]
    if count >= ENDS_MAX:
        stop(w, LISTS, p, count)
        return
    processes(w)[p, ENDS + 1 + 2 * count] = lid
    processes(w)[p, ENDS + 2 + 2 * count] = far_end(w, lid, p)
    processes(w)[p, ENDS] = count + 1
    w[PLACES] += 1
    links(w)[lid, PLACE + side_of(w, lid, p)] = w[PLACES]


@inner
def free_if_idle(w: W, lid: int) -> None:
    """A link that neither end knows, and nothing under way names, is no more."""
    idle = links(w)[lid, OUT] == NONE and links(w)[lid, OUT + 1] == NONE
    idle = idle and links(w)[lid, IN] == NONE and links(w)[lid, IN + 1] == NONE
    if idle and links(w)[lid, REFS] == 0 and links(w)[lid, NUMBER] > 0:
        # Counted from the row that follows: rows never used are zero, and need not be touched to be chained.
        links(w)[lid, NUMBER], links(w)[lid, OTHER] = 0, w[FREE_LINK] - lid - 1
        w[FREE_LINK] = lid
        w[LINKS_LEFT] += 1


@inner
def unref(w: W, lid: int) -> None:
    if lid >= 0:
        links(w)[lid, REFS] -= 1
        free_if_idle(w, lid)


@inner
def drop_end(w: W, lid: int, p: int) -> None:
    """Forget the link at p if nothing is left of it there."""
    s = side_of(w, lid, p)
    if links(w)[lid, OUT + s] != NONE or links(w)[lid, IN + s] != NONE:
        return
    count = processes(w)[p, ENDS]
    for i in range(count):
        if processes(w)[p, ENDS + 1 + 2 * i] == lid:
            for column in range(ENDS + 1 + 2 * i, ENDS - 1 + 2 * count):
                processes(w)[p, column] = processes(w)[p, column + 2]
            processes(w)[p, ENDS] = count - 1
            break
    links(w)[lid, CLOSING + s], links(w)[lid, CLOSE_TRIES + s] = 0, 0
    links(w)[lid, HANDSHAKE_TIMER + s], links(w)[lid, CLOSE_TIMER + s] = 0, 0
    free_if_idle(w, lid)


@inner
def last(w: W, lid: int, p: int) -> bool:
    """True if the process needs the link: without it, it would send to nobody, or hear nobody."""
    s = side_of(w, lid, p)
    lacks_out, lacks_in = links(w)[lid, OUT + s] != NONE, links(w)[lid, IN + s] != NONE
    for i in range(processes(w)[p, ENDS]):
        other = processes(w)[p, ENDS + 1 + 2 * i]
        s = side_of(w, other, p)
        if other != lid and links(w)[other, CLOSING + s] == 0:
            lacks_out = lacks_out and links(w)[other, OUT + s] != CONFIRMED
            lacks_in = lacks_in and links(w)[other, IN + s] != OPEN
        if not (lacks_out or lacks_in):
            return False
    return bool(lacks_out or lacks_in)


@inner
def alone(w: W, p: int) -> bool:
    """True if the process had links and has lost its last safe out-link or open in-link."""
    linked_both_ways = hot(w)[p, OPEN_COUNT] > 0 and processes(w)[p, SAFE_OUTS] > 0
    return bool(processes(w)[p, GROUPED]) and not linked_both_ways


@inner
def notify(w: W, kind: int, what: int) -> None:
    count = w[NOTICES]
    w[NOTICE + 2 * count], w[NOTICE + 1 + 2 * count] = kind, what
    w[NOTICES] = count + 1


@inner
def refuse(w: W, p: int, source: int, lid: int) -> None:
    """Answer a frame of a link that is not here, or not in the state for it."""
    send(w, RESET, p, source, -1, lid, 0, 0)


@inner
def part(w: W, p: int, lid: int) -> None:
    """Tell the other end that we have done with a link: after frames of ours, in their order, by Fin."""
    if links(w)[lid, OUT + side_of(w, lid, p)] >= SAFE:
        send(w, FIN, p, far_end(w, lid, p), lid, -1, 0, 0)
    else:
        send(w, RESET, p, far_end(w, lid, p), -1, lid, 0, 0)
