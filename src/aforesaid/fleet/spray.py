"""Spray, the peer sampling (reference: `spray`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import links_to
from aforesaid.fleet.layout import Listed, State
from aforesaid.fleet.lists import append, place_of, remove, row
from aforesaid.fleet.queues import choose, send
from aforesaid.fleet.states import Due, Kind
from aforesaid.fleet.tables import processes
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wishes import retained, unwanted, wanted

NEW, NEW_PERIODS, VIEW_MIN = 64, 2, 3
"""As the reference's."""


@inner
def arm_first(w: State, p: int) -> None:
    """The first exchange comes anywhere within a period, so that processes do not exchange in step."""
    if not processes(w)[p].settled:
        arm(w, 1 + choose(w, p, w.period), Due.PERIOD, p, processes(w)[p].incarnation)


@inner
def take_arc(w: State, p: int, peer: int, age: int, mediator: int) -> None:
    append(w, processes(w)[p].free, peer, age)
    w.arcs_count += 1
    wanted(w, p, peer, mediator)


@inner
def welcomed(w: State, p: int, newcomer: int) -> None:
    """One arc to the newcomer for each of ours, made by neighbours that can reach it through us."""
    arcs, able = processes(w)[p].free.count + processes(w)[p].lent.count, w.introduced
    able.count = 0
    for i in range(arcs):
        peer = view_at(w, p, i)
        if peer != newcomer and links_to(w, p, peer):
            append(w, able, peer, 0)
    if able.count == 0:
        take_arc(w, p, newcomer, NEW, newcomer)
        return
    for i in range(able.count):
        send(w, Kind.INTRODUCE, p, row(w, able, i).peer, -1, -1, newcomer, 0)
    for _ in range(arcs - able.count):
        stand_in = row(w, able, choose(w, p, able.count)).peer
        send(w, Kind.INTRODUCE, p, stand_in, -1, -1, newcomer, 0)


@inner
def view_at(w: State, p: int, place: int) -> int:
    """The peer of an arc, free ones first."""
    me = processes(w)[p]
    if place < me.free.count:
        return row(w, me.free, place).peer
    return row(w, me.lent, place - me.free.count).peer


@inner
def period_over(w: State, p: int) -> None:
    me = processes(w)[p]
    grow_older(w, me.free)
    grow_older(w, me.lent)
    if me.pending >= 0:
        send(w, Kind.REQUEST, p, me.pending, -1, -1, me.exchange, 0)
    elif not me.settled:
        ask_exchange(w, p)
    if me.pending >= 0 or not me.settled:
        arm(w, w.period, Due.PERIOD, p, me.incarnation)


@inner
def grow_older(w: State, arcs: Listed) -> None:
    for i in range(arcs.count):
        age = row(w, arcs, i).what
        periods = min(age % NEW + 1, NEW - 1)
        row(w, arcs, i).what = periods + (NEW if age >= NEW and periods < NEW_PERIODS else 0)


@inner
def fill_urn(w: State, p: int) -> int:
    """Fill the urn with the arcs that p may give: those with a usable link, routes perhaps left out.

    Returns half of the number of usable ones.
    """
    free, usable = processes(w)[p].free, 0
    w.urn.count = 0
    for i in range(free.count):
        peer = row(w, free, i).peer
        if links_to(w, p, peer):
            usable += 1
            if not (w.routes_stay and retained(w, p, peer)):
                append(w, w.urn, peer, row(w, free, i).what)
    return usable // 2


@inner
def give(w: State, p: int, place: int, given: Listed, sample: Listed, receiver: int) -> None:
    """An arc goes out of the urn and the view into a sample; to the receiver itself, as a new one to us."""
    peer, age = row(w, w.urn, place).peer, row(w, w.urn, place).what
    remove(w, w.urn, place)
    remove_free(w, p, peer, age)
    append(w, given, peer, age)
    if peer == receiver:
        peer, age = p, 0
    append(w, sample, peer, age)


@inner
def oldest_of_urn(w: State) -> int:
    oldest = 0
    for i in range(1, w.urn.count):
        if row(w, w.urn, i).what % NEW > row(w, w.urn, oldest).what % NEW:
            oldest = i
    return oldest


@inner
def ask_exchange(w: State, p: int) -> None:
    """Offer half to the oldest neighbour; the arc to it is part of that half."""
    half = fill_urn(w, p)
    if w.urn.count == 0:
        return
    me, place = processes(w)[p], choose(w, p, w.urn.count) if w.partner_uniform else oldest_of_urn(w)
    partner = row(w, w.urn, place).peer
    me.lent.count, me.offer.count = 0, 0
    give(w, p, place, me.lent, me.offer, partner)
    for _ in range(min(half - 1, w.urn.count)):
        give(w, p, choose(w, p, w.urn.count), me.lent, me.offer, partner)
    me.begun += 1
    me.pending, me.exchange = partner, me.begun
    send(w, Kind.REQUEST, p, partner, -1, -1, me.begun, 0)


@inner
def remove_free(w: State, p: int, peer: int, age: int) -> None:
    free = processes(w)[p].free
    for i in range(free.count):
        if row(w, free, i).peer == peer and row(w, free, i).what == age:
            remove(w, free, i)
            return


@inner
def answer(w: State, p: int, source: int, exchange: int) -> None:
    """Take what is offered, and give half of ours for it, but no arcs to the asker."""
    if not links_to(w, p, source):
        return
    half, sample = fill_urn(w, p), processes(w)[source].answer
    remove_all(w, w.urn, source)
    w.given.count, sample.count = 0, 0
    for _ in range(min(half, w.urn.count)):
        give(w, p, choose(w, p, w.urn.count), w.given, sample, source)
    send(w, Kind.REPLY, p, source, -1, -1, exchange, 0)
    swap(w, p, processes(w)[source].offer, source)


@inner
def swap(w: State, p: int, taken: Listed, partner: int) -> None:
    """Take a sample; what was given for it has left the view."""
    w.arcs_count -= w.given.count
    for i in range(taken.count):
        take_arc(w, p, row(w, taken, i).peer, row(w, taken, i).what, partner)
    for i in range(w.given.count):
        unwanted(w, p, row(w, w.given, i).peer, partner)


@inner
def answered(w: State, p: int, exchange: int) -> None:
    """The offer was taken, and these arcs are given for it."""
    me = processes(w)[p]
    partner = me.pending
    if partner < 0 or me.exchange != exchange:
        return
    me.pending = -1
    w.given.count = 0
    for i in range(me.lent.count):
        append(w, w.given, row(w, me.lent, i).peer, 0)
    me.lent.count = 0
    swap(w, p, me.answer, partner)


@inner
def arc_down(w: State, p: int, peer: int) -> None:
    lost = lose_arcs(w, p, peer)
    for _ in range(w.lost_of_old):
        duplicate(w, p)
    keep_enough(w, p, lost - w.lost_of_old)


@inner
def arcs_of_dead(w: State, p: int, peer: int) -> None:
    """Each arc to a crashed peer is replaced with probability 1 - 1/|view|: views shrink with the group."""
    size = processes(w)[p].free.count + processes(w)[p].lent.count
    gone = lose_arcs(w, p, peer)
    for _ in range(w.lost_of_old):
        if choose(w, p, size) > 0:
            duplicate(w, p)
            gone -= 1
    keep_enough(w, p, gone)


@inner
def keep_enough(w: State, p: int, gone: int) -> None:
    """Of arcs lost, so many are replaced after all."""
    me = processes(w)[p]
    for _ in range(min(gone, VIEW_MIN - me.free.count - me.lent.count)):
        duplicate(w, p)


@inner
def lose_arcs(w: State, p: int, peer: int) -> int:
    """Drop all arcs to the peer; how many of them were ours, and (in `lost_of_old`) not new either."""
    me = processes(w)[p]
    if me.pending == peer:
        for i in range(me.lent.count):
            append(w, me.free, row(w, me.lent, i).peer, row(w, me.lent, i).what)
        me.lent.count, me.pending = 0, -1
    w.lost_of_old = 0
    for i in range(me.free.count):
        if row(w, me.free, i).peer == peer and row(w, me.free, i).what < NEW:
            w.lost_of_old += 1
    lost = remove_all(w, me.free, peer)
    w.arcs_count -= lost + remove_all(w, me.lent, peer)
    return lost


@inner
def remove_all(w: State, arcs: Listed, peer: int) -> int:
    """Returns how many there were."""
    count = arcs.count
    while place_of(w, arcs, peer) >= 0:
        remove(w, arcs, place_of(w, arcs, peer))
    return count - arcs.count


@inner
def duplicate(w: State, p: int) -> None:
    arcs = processes(w)[p].free.count + processes(w)[p].lent.count
    if arcs:
        peer = view_at(w, p, choose(w, p, arcs))
        take_arc(w, p, peer, 0, peer)
