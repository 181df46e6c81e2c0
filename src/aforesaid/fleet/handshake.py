"""Adding a link, both ways in one handshake (reference: `prc.handshake`, `preventive_sampled`).

The control messages α, β, π and ρ travel over safe links; then come Bβ on the new link, the reverse buffer
on the reverse link, and Ack. Preventive broadcast has α and ρ only, and buffers from these on.
"""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import (
    add_end,
    complete,
    end_of,
    far_end,
    known,
    new_link,
    notify,
    part,
    precedes,
    refuse,
    safe_to,
    side_of,
    tell_ends,
)
from aforesaid.fleet.layout import DELIVERED, PROCESS_BITS, State
from aforesaid.fleet.lists import row
from aforesaid.fleet.memory import new, new_message
from aforesaid.fleet.queues import send, stop
from aforesaid.fleet.states import Due, In, Kind, News, Out, Status
from aforesaid.fleet.tables import hot, links, logs, marks, masks, prefetch, processes, slots
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wiring import add_wire, bit_of, column_of, drop, open_in

AHEAD = 12
"""How many places of a log ahead a mask is fetched."""


@inner
def target_of(w: State, kind: int, lid: int) -> int:
    """Whom a control message is for: α and π go to the other end, β and ρ come back."""
    return links(w)[lid].other if kind % 2 == 0 else links(w)[lid].opener


@inner
def send_control(w: State, p: int, kind: int, lid: int, route: int) -> None:
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
    slots(w)[s].flood_kind, slots(w)[s].flood_link = kind, lid
    slots(w)[s].flooder = (processes(w)[p].incarnation << PROCESS_BITS) | p
    links(w)[lid].refs += 1
    new(w, p, serial, -1)


@inner
def open_link(w: State, p: int, peer: int, route: int, tries: int) -> None:
    lid = new_link(w, p, peer)
    # In the later half of the tries the route is given up: it may be what does not work.
    way = route if 2 * tries <= w.tries_max + 1 else -1
    links(w)[lid].route, links(w)[lid].tries, links(w)[lid].sides[0].out = route, tries, Out.ASKED
    add_end(w, lid, p)
    if w.preventive:
        note_out(w, lid, p)
    links(w)[lid].sides[0].handshake_timer = arm(w, w.patience, Due.HANDSHAKE, p, lid)
    send_control(w, p, Kind.ALPHA, lid, way)


@inner
def again(w: State, p: int, lid: int) -> None:
    """An attempt of ours failed: make another, unless it was the last."""
    peer, route, tries = far_end(w, lid, p), links(w)[lid].route, links(w)[lid].tries
    abandon(w, p, lid)
    if tries < w.tries_max:
        open_link(w, p, peer, route, tries + 1)
    else:
        notify(w, News.FAILED, peer)


@inner
def abandon(w: State, p: int, lid: int) -> None:
    """Forget an attempt, and let the other end forget it."""
    part(w, p, lid)
    drop(w, lid, p)


@inner
def control_arrived(
    w: State, p: int, source: int, kind: int, hop: int, lid: int, route: int, target: int
) -> None:
    """A control message came over a hop: it is for us, or we are its mediator."""
    if end_of(w, hop, p).into != In.OPEN:
        refuse(w, p, source, hop)
    elif target >= 0:
        mediate(w, p, kind, lid, route, target)
    else:
        take(w, p, kind, lid, route)


@inner
def mediate(w: State, p: int, kind: int, lid: int, route: int, target: int) -> None:
    """Pass a control message on; without a safe link to the next process it is lost, and tried again."""
    hop = safe_to(w, p, target)
    if hop >= 0:
        send(w, kind, p, target, hop, lid, route, -1)
    if kind == Kind.RHO:
        links(w)[lid].refs += 1  # Until the notice is read.
        notify(w, News.MEDIATED, lid)


@inner
def take(w: State, p: int, kind: int, lid: int, route: int) -> None:
    """A control message for this process."""
    if kind == Kind.ALPHA:
        fits = alpha(w, p, lid, route)
    elif kind == Kind.BETA:
        fits = beta(w, p, lid, route)
    elif kind == Kind.PI:
        fits = pi(w, p, lid)
    else:
        fits = rho(w, p, lid)
    if not fits:
        refuse(w, p, far_end(w, lid, p), lid)


@inner
def alpha(w: State, p: int, lid: int, route: int) -> bool:
    opener = links(w)[lid].opener
    place, ends = 0, processes(w)[p].ends
    while place < ends.count:
        other, leads_to = row(w, ends, place).what, row(w, ends, place).peer
        place += 1
        if leads_to != opener:
            continue
        if other == lid or precedes(w, lid, other):
            return True
        if precedes(w, other, lid) and not complete(w, other, p):
            drop(w, other, p)
            place -= 1
    if not processes(w)[p].inside:
        return False
    mine = links(w)[lid].sides[1]
    mine.into, mine.out, links(w)[lid].route_back = In.FIRST, Out.ASKED, route
    add_end(w, lid, p)
    patience = w.patience * 3 // 2
    mine.handshake_timer = arm(w, patience, Due.HANDSHAKE, p, lid)
    if w.preventive:
        # Whatever the link is to bring of what p knows, p delivers from here on.
        await_buffer(w, lid, p)
        note_out(w, lid, p)
        send_control(w, p, Kind.RHO, lid, route)
    else:
        note_first(w, lid, p)
        send_control(w, p, Kind.BETA, lid, route)
    return True


@inner
def beta(w: State, p: int, lid: int, route: int) -> bool:
    if links(w)[lid].sides[0].out != Out.ASKED:
        return False
    note_out(w, lid, p)
    send_control(w, p, Kind.PI, lid, route)
    return True


@inner
def pi(w: State, p: int, lid: int) -> bool:
    if links(w)[lid].sides[1].into != In.FIRST:
        return False
    # Bπ is what the reverse link's buffer holds from here on: noted once.
    links(w)[lid].sides[1].into, links(w)[lid].sides[1].log_second = In.MIRRORED, hot(w)[p].logged
    hot(w)[p].noting -= 1
    note_out(w, lid, p)
    send_control(w, p, Kind.RHO, lid, links(w)[lid].route_back)
    return True


@inner
def rho(w: State, p: int, lid: int) -> bool:
    mine, near = links(w)[lid].sides[0], hot(w)[p]
    if mine.out != Out.BUFFERING:
        return False
    if w.preventive:
        flush(w, lid, p)
        await_buffer(w, lid, p)
        return True
    # Bα of the reverse link grew from β to ρ, as our own buffer did: it is the same.
    begin = mine.log_out
    flush(w, lid, p)
    mine.into, mine.log_first, mine.log_second = In.SECOND, begin, near.logged
    w.buffered += near.logged - begin
    near.noting += 1
    tell_ends(w, lid, p)
    return True


@inner
def await_buffer(w: State, lid: int, p: int) -> None:
    """Nothing is noted by p. The kernel knows all the same what the link will bring (`buffer_arrived`)."""
    mine = end_of(w, lid, p)
    mine.into, mine.log_first, mine.log_second = In.AWAITED, hot(w)[p].logged, hot(w)[p].logged
    tell_ends(w, lid, p)


@inner
def note_first(w: State, lid: int, p: int) -> None:
    """Bα begins: from here on, deliveries are noted for the in-link."""
    end_of(w, lid, p).log_first = hot(w)[p].logged
    hot(w)[p].noting += 1


@inner
def note_out(w: State, lid: int, p: int) -> None:
    """Bβ begins: from here on, deliveries are buffered for the out-link."""
    mine = end_of(w, lid, p)
    mine.out, mine.log_out = Out.BUFFERING, hot(w)[p].logged
    hot(w)[p].noting += 1
    tell_ends(w, lid, p)


@inner
def flush(w: State, lid: int, p: int) -> None:
    """The buffer goes first on the new link, and copies follow it: the link is safe."""
    mine = end_of(w, lid, p)
    begin, end = mine.log_out, hot(w)[p].logged
    send(w, Kind.BUFFER, p, far_end(w, lid, p), lid, -1, begin, end)
    w.buffered -= end - begin
    hot(w)[p].noting -= 1
    mine.out = Out.SAFE
    tell_ends(w, lid, p)
    processes(w)[p].safe_outs += 1
    processes(w)[p].grouped = 1


@inner
def logged(w: State, p: int, place: int) -> int:
    """The serial at a place of a process's log."""
    return int(logs(w)[p, place & (masks(w).shape[0] - 1)])


@inner
def mark(w: State, p: int, begin: int, end: int) -> int:
    """Mark the messages of an interval of a log; returns the mark. Log and slots must still have them."""
    number, table, last_slot, oldest = w.marks + 2, marks(w), masks(w).shape[0] - 1, 1 << 62
    w.marks = number
    for place in range(begin, end):
        serial = logged(w, p, place)
        oldest = min(oldest, serial)
        table[serial & last_slot] = number
    still_there(w, p, begin, oldest)
    return number


@inner
def still_there(w: State, p: int, begin: int, oldest: int) -> None:
    """The log of a process goes back to a place, and slots to a serial."""
    if oldest + masks(w).shape[0] <= w.serials or hot(w)[p].logged - begin > masks(w).shape[0]:
        stop(w, Status.LOG_SHORT, p, oldest)


@inner
def buffer_arrived(w: State, p: int, source: int, lid: int, begin: int, end: int) -> None:
    """Bβ: what it holds is delivered or known; what it lacks of Bπ is expected from the new link."""
    mine = end_of(w, lid, p)
    state, first, second, have = mine.into, mine.log_first, mine.log_second, hot(w)[p].logged
    if state not in (In.SECOND, In.MIRRORED, In.AWAITED):
        refuse(w, p, source, lid)
        return
    w.buffered -= (have if state == In.SECOND else second) - first
    hot(w)[p].noting -= state == In.SECOND
    open_in(w, lid, p)
    add_wire(w, lid, source)
    sent = mark(w, source, begin, end)
    both_have = known_of(w, p, first, second, sent) + expect_lacking(w, p, lid, second, have, sent)
    for place in range(begin, end if both_have < end - begin else begin):
        serial = logged(w, source, place)
        slot = serial & (masks(w).shape[0] - 1)
        # Before α came, p may have delivered what its opener delivered after it.
        if marks(w)[slot] == sent and not (state == In.AWAITED and masks(w)[slot, p] & DELIVERED):
            new(w, p, serial, lid)
            mine.owing -= 1
    if mine.out == Out.BUFFERING:
        flush(w, lid, p)
    else:
        send(w, Kind.ACK, p, source, lid, -1, 0, 0)
        acknowledged(w, p, lid)


@inner
def known_of(w: State, p: int, begin: int, end: int, sent: int) -> int:
    """How many messages of an interval of p's log are marked; from here on, as known, by the next number."""
    table, last_slot, oldest, count = marks(w), masks(w).shape[0] - 1, 1 << 62, 0
    for place in range(begin, end):
        serial = logged(w, p, place)
        oldest = min(oldest, serial)
        count += table[serial & last_slot] == sent
        table[serial & last_slot] += table[serial & last_slot] == sent
    still_there(w, p, begin, oldest)
    return count


@inner
def expect_lacking(w: State, p: int, lid: int, begin: int, end: int, sent: int) -> int:
    """The same; and what is not marked is expected from the in-link."""
    bit, column, last_slot = bit_of(w, lid, p), column_of(w, lid, p), masks(w).shape[0] - 1
    table, memory, count, oldest = marks(w), masks(w), 0, 1 << 62
    for place in range(begin, end):
        prefetch(memory, (logged(w, p, place + AHEAD) & last_slot) * memory.shape[1] + column, 0)
        serial = logged(w, p, place)
        slot, oldest = serial & last_slot, min(oldest, serial)
        if table[slot] == sent:
            table[slot] += 1
            count += 1
        else:
            memory[slot, column] |= bit
            slots(w)[slot].live += 1
    still_there(w, p, begin, oldest)
    end_of(w, lid, p).owing += end - begin - count
    w.expected += end - begin - count
    return count


@inner
def acknowledged(w: State, p: int, lid: int) -> None:
    """The receiver has opened the link; an answer with its own buffer says so too."""
    mine = end_of(w, lid, p)
    if mine.out == Out.SAFE:
        mine.out = Out.CONFIRMED
    tell_ends(w, lid, p)
    if known(w, lid, p) and complete(w, lid, p):
        mine.handshake_timer = 0
        notify(w, News.UP, lid)


@inner
def handshake_expired(w: State, p: int, lid: int) -> None:
    """The link did not come about in time."""
    if side_of(w, lid, p) == 0 and links(w)[lid].sides[0].out != Out.NONE:
        again(w, p, lid)
    elif known(w, lid, p):
        peer = far_end(w, lid, p)
        abandon(w, p, lid)
        notify(w, News.FAILED, peer)
