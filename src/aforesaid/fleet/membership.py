"""Processes that enter, crash, hear of crashes and begin again."""

from aforesaid.fleet.closing import lose
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import far_end, known, new_link, notify, part, precedes, refuse, side_of, unref
from aforesaid.fleet.layout import (
    ACK,
    ARCS_COUNT,
    CONFIRMED,
    DETECTOR,
    ENDS,
    EVICTED,
    FREE,
    GROUPED,
    HANDSHAKE_TIMEOUT,
    HANDSHAKE_TIMER,
    IN,
    INCARNATION,
    INSIDE,
    INSIDE_COUNT,
    JOIN,
    JOIN_TIMEOUT,
    JOINING,
    LENT,
    MEDIATORS,
    N_JOINED,
    N_UP,
    NOTICES,
    NUMBER,
    OLDEST,
    OPEN,
    OPENER,
    OTHER,
    PATIENCE,
    PEER_DOWN,
    PENDING,
    PUT_OFF,
    REFS,
    RETAINED,
    SAFE,
    SERIALS,
    TRACED,
    UP,
    WELCOME,
    WELCOMING,
    WORDS,
)
from aforesaid.fleet.memory import record
from aforesaid.fleet.queues import choose, send
from aforesaid.fleet.spray import arcs_of_dead
from aforesaid.fleet.tables import W, hot, links, masks, processes
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wiring import add_wire, drop, establish
from aforesaid.fleet.wishes import forget_mediator, mediated


@inner
def join(w: W, p: int, contact: int) -> None:
    """Ask a member for a first link."""
    lid = new_link(w, p, contact)
    processes(w)[p, JOINING] = lid
    links(w)[lid, REFS] += 1  # Until the newcomer is inside or gives up: the contact may never hear of it.
    send(w, JOIN, p, contact, -1, lid, 0, 0)
    arm(w, w[PATIENCE], JOIN_TIMEOUT, p, links(w)[lid, NUMBER])


@inner
def welcome(w: W, p: int, lid: int) -> None:
    """Link a newcomer both ways, in one step: from here on it is owed what we deliver."""
    newcomer = links(w)[lid, OPENER]
    if not processes(w)[p, INSIDE] or known(w, lid, p):
        return
    place = 0
    while place < processes(w)[p, ENDS]:
        older = processes(w)[p, ENDS + 1 + 2 * place]
        if precedes(w, older, lid) and far_end(w, older, p) == newcomer:
            lose(w, p, older)
        else:
            place += 1
    establish(w, lid, p, SAFE)
    side = side_of(w, lid, p)
    links(w)[lid, WELCOMING + side] = 1
    # One that began again meanwhile will not take this welcome.
    if processes(w)[newcomer, TRACED] and processes(w)[newcomer, JOINING] == lid:
        record(w, p, -1 - newcomer)
    send(w, WELCOME, p, newcomer, lid, -1, 0, 0)
    links(w)[lid, HANDSHAKE_TIMER + side] = arm(w, w[PATIENCE], HANDSHAKE_TIMEOUT, p, lid)


@inner
def enter(w: W, p: int, contact: int, lid: int) -> None:
    """The newcomer is inside."""
    if processes(w)[p, JOINING] != lid:
        refuse(w, p, contact, lid)
        return
    end_joining(w, p)
    processes(w)[p, INSIDE] = 1
    w[INSIDE_COUNT] += 1
    establish(w, lid, p, CONFIRMED)
    # A contact that has given up, or crashed, refuses our copies; its word of it is under way.
    if links(w)[lid, IN + side_of(w, lid, contact)] == OPEN:
        add_wire(w, lid, p)
    add_wire(w, lid, contact)
    send(w, ACK, p, contact, lid, -1, 0, 0)
    notify(w, N_JOINED, contact)
    notify(w, N_UP, lid)


@inner
def end_joining(w: W, p: int) -> None:
    """The process waits for no welcome any more."""
    unref(w, processes(w)[p, JOINING])
    processes(w)[p, JOINING] = -1


@inner
def crash(w: W, p: int) -> None:
    """A process stops for good. What it had sent still arrives; the detector tells the others in time."""
    if processes(w)[p, UP]:
        forget_all(w, p, False)
        processes(w)[p, UP] = 0
        arm(w, w[DETECTOR], PEER_DOWN, 0, p)


@inner
def forget_all(w: W, p: int, tell: bool) -> None:
    """A process's incarnation ends, with its links and arcs."""
    end_all(w, p, tell)
    w[ARCS_COUNT] -= processes(w)[p, FREE] + processes(w)[p, LENT]
    w[INSIDE_COUNT] -= processes(w)[p, INSIDE]
    processes(w)[p, INSIDE], processes(w)[p, PENDING] = 0, -1
    processes(w)[p, FREE], processes(w)[p, LENT], processes(w)[p, MEDIATORS] = 0, 0, 0
    processes(w)[p, RETAINED], processes(w)[p, PUT_OFF] = 0, 0
    processes(w)[p, INCARNATION] += 1
    # The next incarnation knows of no message.
    for serial in range(w[OLDEST], w[SERIALS]):
        for word in range(hot(w)[p, WORDS]):
            masks(w)[serial & (masks(w).shape[0] - 1), p + word * processes(w).shape[0]] = 0


@inner
def end_all(w: W, p: int, tell: bool) -> None:
    """A process has no links any more, and waits for none."""
    while processes(w)[p, ENDS]:
        lid = processes(w)[p, ENDS + 1]
        if tell:
            part(w, p, lid)
        drop(w, lid, p)
    end_joining(w, p)
    processes(w)[p, GROUPED] = 0


@inner
def begin_again(w: W, p: int) -> None:
    """An isolated process takes leave of whom it knows, and enters the group again through anyone inside.

    If there is nobody, it stays as it is, without links.
    """
    w[NOTICES] = 0
    if w[INSIDE_COUNT] - processes(w)[p, INSIDE] == 0:
        end_all(w, p, True)
        return
    w[EVICTED] += 1
    if processes(w)[p, TRACED]:
        record(w, p, -1 - p)
    forget_all(w, p, True)
    join(w, p, anyone_inside(w, p))


@inner
def anyone_inside(w: W, p: int) -> int:
    chosen = choose(w, p, w[INSIDE_COUNT])
    for q in range(processes(w).shape[0]):
        if processes(w)[q, INSIDE]:
            if chosen == 0:
                return q
            chosen -= 1
    return -1


@inner
def hear_of_crash(w: W, p: int, dead: int) -> None:
    """The detector tells a process, and will tell the next one."""
    if p + 1 < hot(w).shape[0]:
        arm(w, 0, PEER_DOWN, p + 1, dead)
    if not processes(w)[p, UP]:
        return
    forget_mediator(w, p, dead)
    arcs_of_dead(w, p, dead)
    place = 0
    while place < processes(w)[p, ENDS]:
        lid = processes(w)[p, ENDS + 1 + 2 * place]
        if far_end(w, lid, p) == dead:
            part(w, p, lid)
            lose(w, p, lid)
        else:
            place += 1
    joining = processes(w)[p, JOINING]
    if joining >= 0 and links(w)[joining, OTHER] == dead:
        begin_again(w, p)
    place = 0
    while place < processes(w)[p, RETAINED]:
        at = RETAINED + 1 + 3 * place
        partner, peer = processes(w)[p, at], processes(w)[p, at + 1]
        if partner == dead or peer == dead:
            mediated(w, p, partner, peer)
        else:
            place += 1


@inner
def join_expired(w: W, p: int, number: int) -> None:
    """The contact did not answer: begin again with another."""
    lid = processes(w)[p, JOINING]
    if lid >= 0 and links(w)[lid, NUMBER] == number:
        begin_again(w, p)
