"""Adding a link, both ways in one handshake (reference: `prc.handshake`).

The control messages α, β, π and ρ travel over safe links; then come Bβ on the new link, the reverse buffer
on the reverse link, and Ack.
"""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import (
    add_end,
    complete,
    far_end,
    known,
    new_link,
    notify,
    part,
    precedes,
    refuse,
    safe_to,
    side_of,
)
from aforesaid.fleet.layout import (
    ACK,
    ALPHA,
    ASKED,
    BETA,
    BUFFER,
    BUFFERED,
    BUFFERING,
    CLEAN,
    CONFIRMED,
    ENDS,
    EXPECTED,
    FIRST,
    FLOOD_KIND,
    FLOOD_LINK,
    GROUPED,
    HANDSHAKE_TIMEOUT,
    HANDSHAKE_TIMER,
    IN,
    INSIDE,
    LIVE,
    LOG,
    LOG_FIRST,
    LOG_OUT,
    LOG_SECOND,
    LOG_SHORT,
    LOGGED,
    MARK,
    MARKS,
    MIRRORED,
    N_FAILED,
    N_MEDIATED,
    N_UP,
    NONE,
    NOTING,
    OPEN,
    OPENER,
    OTHER,
    OUT,
    PATIENCE,
    PI,
    REFS,
    RHO,
    ROUTE,
    ROUTE_BACK,
    SAFE,
    SAFE_OUTS,
    SECOND,
    SERIALS,
    TRIES,
    TRIES_MAX,
)
from aforesaid.fleet.memory import new, new_message
from aforesaid.fleet.queues import send, stop
from aforesaid.fleet.tables import W, hot, links, masks, processes, slots
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wiring import add_wire, bit_of, column_of, drop, open_in


@inner
def target_of(w: W, kind: int, lid: int) -> int:
    """Whom a control message is for: α and π go to the other end, β and ρ come back."""
    return int(links(w)[lid, OTHER] if kind % 2 == 0 else links(w)[lid, OPENER])


@inner
def send_control(w: W, p: int, kind: int, lid: int, route: int) -> None:
    """Over safe links: directly, else past the mediator, else to everyone."""
    target = target_of(w, kind, lid)
    hop = safe_to(w, p, target)
    if hop >= 0:
        send(w, kind, p, target, hop, lid, route, -1)
        return
    if route >= 0:
        hop = safe_to(w, p, route)
        if hop >= 0:
            send(w, kind, p, route, hop, lid, route, target)
            return
    serial = new_message(w, -1)
    s = serial & (masks(w).shape[0] - 1)
    slots(w)[s, FLOOD_KIND], slots(w)[s, FLOOD_LINK] = kind, lid
    links(w)[lid, REFS] += 1
    new(w, p, serial, -1)


@inner
def open_link(w: W, p: int, peer: int, route: int, tries: int) -> None:
    lid = new_link(w, p, peer)
    # In the later half of the tries the route is given up: it may be what does not work.
    way = route if 2 * tries <= w[TRIES_MAX] + 1 else -1
    links(w)[lid, ROUTE], links(w)[lid, TRIES], links(w)[lid, OUT] = route, tries, ASKED
    add_end(w, lid, p)
    links(w)[lid, HANDSHAKE_TIMER] = arm(w, w[PATIENCE], HANDSHAKE_TIMEOUT, p, lid)
    send_control(w, p, ALPHA, lid, way)


@inner
def again(w: W, p: int, lid: int) -> None:
    """An attempt of ours failed: make another, unless it was the last."""
    peer, route, tries = far_end(w, lid, p), links(w)[lid, ROUTE], links(w)[lid, TRIES]
    abandon(w, p, lid)
    if tries < w[TRIES_MAX]:
        open_link(w, p, peer, route, tries + 1)
    else:
        notify(w, N_FAILED, peer)


@inner
def abandon(w: W, p: int, lid: int) -> None:
    """Forget an attempt, and let the other end forget it."""
    part(w, p, lid)
    drop(w, lid, p)


@inner
def control_arrived(
    w: W, p: int, source: int, kind: int, hop: int, lid: int, route: int, target: int
) -> None:
    """A control message came over a hop: it is for us, or we are its mediator."""
    if links(w)[hop, IN + side_of(w, hop, p)] != OPEN:
        refuse(w, p, source, hop)
    elif target >= 0:
        mediate(w, p, kind, lid, route, target)
    else:
        take(w, p, kind, lid, route)


@inner
def mediate(w: W, p: int, kind: int, lid: int, route: int, target: int) -> None:
    """Pass a control message on; without a safe link to the next process it is lost, and tried again."""
    hop = safe_to(w, p, target)
    if hop >= 0:
        send(w, kind, p, target, hop, lid, route, -1)
    if kind == RHO:
        links(w)[lid, REFS] += 1  # Until the notice is read.
        notify(w, N_MEDIATED, lid)


@inner
def take(w: W, p: int, kind: int, lid: int, route: int) -> None:
    """A control message for this process."""
    if kind == ALPHA:
        fits = alpha(w, p, lid, route)
    elif kind == BETA:
        fits = beta(w, p, lid, route)
    elif kind == PI:
        fits = pi(w, p, lid)
    else:
        fits = rho(w, p, lid)
    if not fits:
        refuse(w, p, far_end(w, lid, p), lid)


@inner
def alpha(w: W, p: int, lid: int, route: int) -> bool:
    opener = links(w)[lid, OPENER]
    place = 0
    while place < processes(w)[p, ENDS]:
        other = processes(w)[p, ENDS + 1 + 2 * place]
        place += 1
        if processes(w)[p, ENDS + 2 * place] != opener:
            continue
        if other == lid or precedes(w, lid, other):
            return True
        if precedes(w, other, lid) and not complete(w, other, p):
            drop(w, other, p)
            place -= 1
    if not processes(w)[p, INSIDE]:
        return False
    add_end(w, lid, p)
    links(w)[lid, IN + 1], links(w)[lid, OUT + 1], links(w)[lid, ROUTE_BACK] = FIRST, ASKED, route
    note_first(w, lid, p)
    patience = w[PATIENCE] * 3 // 2
    links(w)[lid, HANDSHAKE_TIMER + 1] = arm(w, patience, HANDSHAKE_TIMEOUT, p, lid)
    send_control(w, p, BETA, lid, route)
    return True


@inner
def beta(w: W, p: int, lid: int, route: int) -> bool:
    if links(w)[lid, OUT] != ASKED:
        return False
    note_out(w, lid, p)
    send_control(w, p, PI, lid, route)
    return True


@inner
def pi(w: W, p: int, lid: int) -> bool:
    if links(w)[lid, IN + 1] != FIRST:
        return False
    # Bπ is what the reverse link's buffer holds from here on: noted once.
    links(w)[lid, IN + 1], links(w)[lid, LOG_SECOND + 1] = MIRRORED, hot(w)[p, LOGGED]
    hot(w)[p, NOTING] -= 1
    note_out(w, lid, p)
    send_control(w, p, RHO, lid, links(w)[lid, ROUTE_BACK])
    return True


@inner
def rho(w: W, p: int, lid: int) -> bool:
    if links(w)[lid, OUT] != BUFFERING:
        return False
    # Bα of the reverse link grew from β to ρ, as our own buffer did: it is the same.
    begin = links(w)[lid, LOG_OUT]
    flush(w, lid, p)
    links(w)[lid, IN], links(w)[lid, LOG_FIRST], links(w)[lid, LOG_SECOND] = SECOND, begin, hot(w)[p, LOGGED]
    w[BUFFERED] += hot(w)[p, LOGGED] - begin
    hot(w)[p, NOTING] += 1
    return True


@inner
def note_first(w: W, lid: int, p: int) -> None:
    """Bα begins: from here on, deliveries are noted for the in-link."""
    links(w)[lid, LOG_FIRST + side_of(w, lid, p)] = hot(w)[p, LOGGED]
    hot(w)[p, NOTING] += 1


@inner
def note_out(w: W, lid: int, p: int) -> None:
    """Bβ begins: from here on, deliveries are buffered for the out-link."""
    s = side_of(w, lid, p)
    links(w)[lid, OUT + s], links(w)[lid, LOG_OUT + s] = BUFFERING, hot(w)[p, LOGGED]
    hot(w)[p, NOTING] += 1


@inner
def flush(w: W, lid: int, p: int) -> None:
    """The buffer goes first on the new link, and copies follow it: the link is safe."""
    s = side_of(w, lid, p)
    begin, end = links(w)[lid, LOG_OUT + s], hot(w)[p, LOGGED]
    if end - begin > (processes(w).shape[1] - LOG) // 2:
        stop(w, LOG_SHORT, p, end - begin)
    send(w, BUFFER, p, far_end(w, lid, p), lid, -1, begin, end)
    w[BUFFERED] -= end - begin
    hot(w)[p, NOTING] -= 1
    links(w)[lid, OUT + s] = SAFE
    processes(w)[p, SAFE_OUTS] += 1
    processes(w)[p, GROUPED] = 1


@inner
def logged(w: W, p: int, place: int) -> int:
    """The serial at a place of a process's log."""
    return int(processes(w)[p, LOG + (place & (processes(w).shape[1] - LOG - 1))])


@inner
def mark(w: W, p: int, begin: int, end: int) -> int:
    """Mark the messages of an interval of a log; returns the mark. Log and slots must still have them."""
    number = w[MARKS] + 1
    w[MARKS] = number
    table, last_slot, oldest = slots(w), masks(w).shape[0] - 1, 1 << 62
    for place in range(begin, end):
        serial = logged(w, p, place)
        oldest = min(oldest, serial)
        table[serial & last_slot, MARK] = number
    if oldest + last_slot < w[SERIALS] or hot(w)[p, LOGGED] - begin > processes(w).shape[1] - LOG:
        stop(w, LOG_SHORT, p, oldest)
    return int(number)


@inner
def buffer_arrived(w: W, p: int, source: int, lid: int, begin: int, end: int) -> None:
    """Bβ: what it holds is delivered or known; what it lacks of Bπ is expected from the new link."""
    s = side_of(w, lid, p)
    state = links(w)[lid, IN + s]
    if state not in (SECOND, MIRRORED):
        refuse(w, p, source, lid)
        return
    first, second, have = links(w)[lid, LOG_FIRST + s], links(w)[lid, LOG_SECOND + s], hot(w)[p, LOGGED]
    w[BUFFERED] -= (have if state == SECOND else second) - first
    hot(w)[p, NOTING] -= state == SECOND
    open_in(w, lid, p)
    add_wire(w, lid, source)
    bit, column = bit_of(w, lid, p), column_of(w, lid, p)
    table, last_slot = slots(w), masks(w).shape[0] - 1
    sent = mark(w, source, begin, end)
    for place in range(second, have):
        slot = logged(w, p, place) & last_slot
        if table[slot, MARK] != sent:
            masks(w)[slot, column] |= bit
            processes(w)[p, CLEAN] = min(processes(w)[p, CLEAN], place)
            w[EXPECTED] += 1
            table[slot, LIVE] += 1
    mine = mark(w, p, first, have)
    for place in range(begin, end):
        serial = logged(w, source, place)
        if table[serial & last_slot, MARK] != mine:
            new(w, p, serial, lid)
    if links(w)[lid, OUT + s] == BUFFERING:
        flush(w, lid, p)
    else:
        send(w, ACK, p, source, lid, -1, 0, 0)
        acknowledged(w, p, lid)


@inner
def acknowledged(w: W, p: int, lid: int) -> None:
    """The receiver has opened the link; an answer with its own buffer says so too."""
    s = side_of(w, lid, p)
    if links(w)[lid, OUT + s] == SAFE:
        links(w)[lid, OUT + s] = CONFIRMED
    if known(w, lid, p) and complete(w, lid, p):
        links(w)[lid, HANDSHAKE_TIMER + s] = 0
        notify(w, N_UP, lid)


@inner
def handshake_expired(w: W, p: int, lid: int) -> None:
    """The link did not come about in time."""
    if side_of(w, lid, p) == 0 and links(w)[lid, OUT] != NONE:
        again(w, p, lid)
    elif known(w, lid, p):
        peer = far_end(w, lid, p)
        abandon(w, p, lid)
        notify(w, N_FAILED, peer)
