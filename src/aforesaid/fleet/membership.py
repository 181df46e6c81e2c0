"""Processes that enter, crash, hear of crashes and begin again."""

from aforesaid.fleet.closing import lose
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import end_of, far_end, known, new_link, notify, part, precedes, refuse, unref
from aforesaid.fleet.layout import DELIVERED, State
from aforesaid.fleet.lists import place_of, row
from aforesaid.fleet.memory import record
from aforesaid.fleet.queues import choose, send
from aforesaid.fleet.spray import arcs_of_dead
from aforesaid.fleet.states import Due, In, Kind, News, Out
from aforesaid.fleet.tables import columns, hot, links, masks, prefetch, processes, rows
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wiring import add_wire, drop, establish
from aforesaid.fleet.wishes import forget_mediator, mediated, retained, wants

AHEAD, ENDS_LINES = 4, 4
"""How many processes ahead the lists of one are fetched, and how many cache lines of its ends."""


@inner
def join(w: State, p: int, contact: int) -> None:
    """Ask a member for a first link."""
    lid = new_link(w, p, contact)
    processes(w)[p].joining = lid
    links(w)[lid].refs += 1  # Until the newcomer is inside or gives up: the contact may never hear of it.
    send(w, Kind.JOIN, p, contact, -1, lid, 0, 0)
    arm(w, w.patience, Due.JOIN, p, links(w)[lid].number)


@inner
def welcome(w: State, p: int, lid: int) -> None:
    """Link a newcomer both ways, in one step: from here on it is owed what we deliver."""
    me = processes(w)[p]
    newcomer = links(w)[lid].opener
    if not me.inside or known(w, lid, p):
        return
    place = 0
    while place < me.ends.count:
        older = row(w, me.ends, place).what
        if precedes(w, older, lid) and far_end(w, older, p) == newcomer:
            lose(w, p, older)
        else:
            place += 1
    establish(w, lid, p, Out.SAFE)
    mine = end_of(w, lid, p)
    mine.welcoming = 1
    # One that began again meanwhile will not take this welcome.
    if processes(w)[newcomer].joining == lid:
        if w.preventive:
            begin_with(w, newcomer, p)
        if processes(w)[newcomer].traced:
            record(w, p, -1 - newcomer)
    send(w, Kind.WELCOME, p, newcomer, lid, -1, 0, 0)
    mine.handshake_timer = arm(w, w.patience, Due.HANDSHAKE, p, lid)


@inner
def begin_with(w: State, newcomer: int, contact: int) -> None:
    """By its contact's counters: what the contact has delivered may lie in the first buffer of a link, and is
    nothing new to the newcomer."""
    table, column = masks(w), newcomer
    for _ in range(hot(w)[newcomer].words):
        for s in range(table.shape[0]):
            table[s, column] = table[s, contact] & DELIVERED
        column = columns(w)[column].following


@inner
def enter(w: State, p: int, contact: int, lid: int) -> None:
    """The newcomer is inside."""
    if processes(w)[p].joining != lid:
        refuse(w, p, contact, lid)
        return
    end_joining(w, p)
    processes(w)[p].inside = 1
    w.inside_count += 1
    establish(w, lid, p, Out.CONFIRMED)
    # A contact that has given up, or crashed, refuses our copies; its word of it is under way.
    if end_of(w, lid, contact).into == In.OPEN:
        add_wire(w, lid, p)
    add_wire(w, lid, contact)
    send(w, Kind.ACK, p, contact, lid, -1, 0, 0)
    notify(w, News.JOINED, contact)
    notify(w, News.UP, lid)


@inner
def end_joining(w: State, p: int) -> None:
    """The process waits for no welcome any more."""
    unref(w, processes(w)[p].joining)
    processes(w)[p].joining = -1


@inner
def crash(w: State, p: int) -> None:
    """A process stops for good. What it had sent still arrives; the detector tells the others in time."""
    if processes(w)[p].up:
        forget_all(w, p, False)
        processes(w)[p].up = 0
        arm(w, w.detector, Due.PEER_DOWN, 0, p)


@inner
def forget_all(w: State, p: int, tell: bool) -> None:
    """A process's incarnation ends, with its links and arcs."""
    me = processes(w)[p]
    end_all(w, p, tell)
    w.arcs_count -= me.free.count + me.lent.count
    w.inside_count -= me.inside
    me.inside, me.pending = 0, -1
    me.free.count, me.lent.count, me.mediators.count = 0, 0, 0
    me.retained.count, me.put_off.count = 0, 0
    me.incarnation += 1
    # The next incarnation knows of no message.
    column = p
    for _ in range(hot(w)[p].words):
        for serial in range(w.oldest, w.serials):
            masks(w)[serial & (masks(w).shape[0] - 1), column] = 0
        column = columns(w)[column].following


@inner
def end_all(w: State, p: int, tell: bool) -> None:
    """A process has no links any more, and waits for none."""
    me = processes(w)[p]
    while me.ends.count:
        lid = row(w, me.ends, 0).what
        if tell:
            part(w, p, lid)
        drop(w, lid, p)
    end_joining(w, p)
    me.grouped = 0


@inner
def begin_again(w: State, p: int) -> None:
    """An isolated process takes leave of whom it knows, and enters the group again through anyone inside.

    If there is nobody, it stays as it is, without links.
    """
    w.notices.count = 0
    if w.inside_count - processes(w)[p].inside == 0:
        end_all(w, p, True)
        return
    w.evicted += 1
    if processes(w)[p].traced:
        record(w, p, -1 - p)
    forget_all(w, p, True)
    join(w, p, anyone_inside(w, p))


@inner
def anyone_inside(w: State, p: int) -> int:
    chosen = choose(w, p, w.inside_count)
    for q in range(processes(w).shape[0]):
        if processes(w)[q].inside:
            if chosen == 0:
                return q
            chosen -= 1
    return -1


@inner
def hear_of_crash(w: State, p: int, dead: int) -> None:
    """The detector tells a process, and will tell the next one that knows of the dead."""
    me = processes(w)[p]
    following = next_to_hear(w, p, dead)
    if following >= 0:
        arm(w, 0, Due.PEER_DOWN, following, dead)
    if not me.up:
        return
    forget_mediator(w, p, dead)
    arcs_of_dead(w, p, dead)
    place = 0
    while place < me.ends.count:
        lid = row(w, me.ends, place).what
        if far_end(w, lid, p) == dead:
            part(w, p, lid)
            lose(w, p, lid)
        else:
            place += 1
    joining = me.joining
    if joining >= 0 and links(w)[joining].other == dead:
        begin_again(w, p)
    place, pairs = 0, me.retained
    while place < pairs.count:
        partner, peer = row(w, pairs, place).what, row(w, pairs, place).peer
        if partner == dead or peer == dead:
            mediated(w, p, partner, peer)
        else:
            place += 1


@inner
def next_to_hear(w: State, p: int, dead: int) -> int:
    """The process after p whose lists name the dead one; -1: none. To the others its crash is nothing."""
    for q in range(p + 1, processes(w).shape[0]):
        fetch_lists(w, q)
        if processes(w)[q].up and knows(w, q, dead):
            return q
    return -1


@inner
def fetch_lists(w: State, q: int) -> None:
    """Fetch what processes soon after q have in their lists, and their rows before."""
    prefetch(processes(w), q + 2 * AHEAD, 0)
    prefetch(processes(w), q + 2 * AHEAD, 1)
    prefetch(processes(w), q + 2 * AHEAD, 2)
    if q + AHEAD < processes(w).shape[0]:
        soon = processes(w)[q + AHEAD]
        for line in range(ENDS_LINES):
            prefetch(rows(w), soon.ends.at, line)
        prefetch(rows(w), soon.free.at, 0)
        prefetch(rows(w), soon.free.at, 1)
        prefetch(rows(w), soon.lent.at, 0)
        prefetch(rows(w), soon.mediators.at, 0)
        prefetch(rows(w), soon.retained.at, 0)


@inner
def knows(w: State, p: int, other: int) -> bool:
    """Whether a process has anything to do with another: a link, an arc, a route, an exchange, a welcome."""
    me = processes(w)[p]
    welcomed_by = links(w)[me.joining].other if me.joining >= 0 else -1
    if welcomed_by == other or me.pending == other or place_of(w, me.ends, other) >= 0:
        return True
    return wants(w, p, other) or place_of(w, me.mediators, other) >= 0 or retained(w, p, other)


@inner
def join_expired(w: State, p: int, number: int) -> None:
    """The contact did not answer: begin again with another."""
    lid = processes(w)[p].joining
    if lid >= 0 and links(w)[lid].number == number:
        begin_again(w, p)
