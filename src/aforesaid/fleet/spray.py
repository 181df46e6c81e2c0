"""Spray, the peer sampling (reference: `spray`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import links_to
from aforesaid.fleet.layout import AnyArcs, Arc, Sample, State
from aforesaid.fleet.queues import choose, send
from aforesaid.fleet.states import Due, Kind
from aforesaid.fleet.tables import processes
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wishes import append, place_of, remove, unwanted, wanted


@inner
def arm_first(w: State, p: int) -> None:
    """The first exchange comes anywhere within a period, so that processes do not exchange in step."""
    if not processes(w)[p].settled:
        arm(w, 1 + choose(w, p, w.period), Due.PERIOD, p, processes(w)[p].incarnation)


@inner
def take_arc(w: State, p: int, peer: int, age: int, mediator: int) -> None:
    add_arc(w, p, processes(w)[p].free, peer, age)
    w.arcs_count += 1
    wanted(w, p, peer, mediator)


@inner
def add_arc(w: State, p: int, arcs: AnyArcs, peer: int, age: int) -> None:
    arc = arcs.rows[append(w, p, arcs)]
    arc.peer, arc.age = peer, age


@inner
def welcomed(w: State, p: int, newcomer: int) -> None:
    """One arc to the newcomer for each of ours, made by neighbours that can reach it through us."""
    able = 0
    arcs = processes(w)[p].free.count + processes(w)[p].lent.count
    for i in range(arcs):
        peer = view_at(w, p, i)
        if peer != newcomer and links_to(w, p, peer):
            w.introduced[able] = peer
            able += 1
    if able == 0:
        take_arc(w, p, newcomer, 0, newcomer)
        return
    stand_ins = arcs - able
    for i in range(stand_ins):
        w.introduced[able + i] = w.introduced[choose(w, p, able)]
    for i in range(arcs):
        send(w, Kind.INTRODUCE, p, w.introduced[i], -1, -1, newcomer, 0)


@inner
def view_at(w: State, p: int, place: int) -> int:
    """The peer of an arc, free ones first."""
    me = processes(w)[p]
    if place < me.free.count:
        return me.free.rows[place].peer
    return me.lent.rows[place - me.free.count].peer


@inner
def period_over(w: State, p: int) -> None:
    me = processes(w)[p]
    for i in range(me.free.count):
        me.free.rows[i].age += 1
    for i in range(me.lent.count):
        me.lent.rows[i].age += 1
    if me.pending >= 0:
        send(w, Kind.REQUEST, p, me.pending, -1, -1, me.exchange, 0)
    elif not me.settled:
        ask_exchange(w, p)
    if me.pending >= 0 or not me.settled:
        arm(w, w.period, Due.PERIOD, p, me.incarnation)


@inner
def urn(w: State, p: int) -> int:
    """Fill the urn with the arcs that p may give: those with a usable link. Returns their number."""
    count, free = 0, processes(w)[p].free
    for i in range(free.count):
        if links_to(w, p, free.rows[i].peer):
            w.urn[count] = free.rows[i]
            count += 1
    return count


@inner
def out_of_urn(w: State, place: int, count: int) -> None:
    for i in range(place, count - 1):
        w.urn[i] = w.urn[i + 1]


@inner
def ask_exchange(w: State, p: int) -> None:
    """Offer half to the oldest neighbour; the arc to it is part of that half."""
    count = urn(w, p)
    if count == 0:
        return
    half, oldest = (count + 1) // 2, 0
    for i in range(1, count):
        if w.urn[i].age > w.urn[oldest].age:
            oldest = i
    me, partner = processes(w)[p], w.urn[oldest].peer
    me.lent.count = 0
    for i in range(half):
        place = oldest if i == 0 else choose(w, p, count - i)
        add_arc(w, p, me.lent, w.urn[place].peer, w.urn[place].age)
        out_of_urn(w, place, count - i)
    me.begun += 1
    me.pending, me.exchange = partner, me.begun
    me.offer.exchange, me.offer.count = me.begun, half
    for i in range(half):
        remove_free(w, p, me.lent.rows[i])
        turn(me.offer.rows[i], me.lent.rows[i], p, partner)
    send(w, Kind.REQUEST, p, partner, -1, -1, me.begun, 0)


@inner
def turn(turned: Arc, arc: Arc, giver: int, receiver: int) -> None:
    """An arc as the receiver of a sample is to take it: an arc to itself becomes a new one to us."""
    turned.peer = giver if arc.peer == receiver else arc.peer
    turned.age = 0 if arc.peer == receiver else arc.age


@inner
def remove_free(w: State, p: int, arc: Arc) -> None:
    free = processes(w)[p].free
    for i in range(free.count):
        if free.rows[i].peer == arc.peer and free.rows[i].age == arc.age:
            remove(free, i)
            return


@inner
def answer(w: State, p: int, source: int, exchange: int) -> None:
    """Take what is offered, and give half of ours for it."""
    if not links_to(w, p, source):
        return
    count = urn(w, p)
    half, sample = (count + 1) // 2, processes(w)[source].answer
    sample.exchange, sample.count = exchange, half
    for i in range(half):
        place = choose(w, p, count - i)
        w.given[i] = w.urn[place]
        out_of_urn(w, place, count - i)
    for i in range(half):
        remove_free(w, p, w.given[i])
        turn(sample.rows[i], w.given[i], p, source)
    send(w, Kind.REPLY, p, source, -1, -1, exchange, 0)
    w.arcs_count -= half
    take_sample(w, p, processes(w)[source].offer, source)
    for i in range(half):
        unwanted(w, p, w.given[i].peer, source)


@inner
def take_sample(w: State, p: int, sample: Sample, partner: int) -> None:
    for i in range(sample.count):
        take_arc(w, p, sample.rows[i].peer, sample.rows[i].age, partner)


@inner
def answered(w: State, p: int, exchange: int) -> None:
    """The offer was taken, and these arcs are given for it."""
    me = processes(w)[p]
    partner, given = me.pending, me.lent.count
    if partner < 0 or me.exchange != exchange:
        return
    me.pending = -1
    for i in range(given):
        w.given[i] = me.lent.rows[i]
    me.lent.count = 0
    w.arcs_count -= given
    take_sample(w, p, me.answer, partner)
    for i in range(given):
        unwanted(w, p, w.given[i].peer, partner)


@inner
def arc_down(w: State, p: int, peer: int) -> None:
    for _ in range(lose_arcs(w, p, peer)):
        duplicate(w, p)


@inner
def arcs_of_dead(w: State, p: int, peer: int) -> None:
    """Each arc to a crashed peer is replaced with probability 1 - 1/|view|: views shrink with the group."""
    size = processes(w)[p].free.count + processes(w)[p].lent.count
    for _ in range(lose_arcs(w, p, peer)):
        if choose(w, p, size) > 0:
            duplicate(w, p)


@inner
def lose_arcs(w: State, p: int, peer: int) -> int:
    """Drop all arcs to the peer; how many of them are ours to replace."""
    me = processes(w)[p]
    if me.pending == peer:
        for i in range(me.lent.count):
            add_arc(w, p, me.free, me.lent.rows[i].peer, me.lent.rows[i].age)
        me.lent.count, me.pending = 0, -1
    lost = remove_all(me.free, peer)
    w.arcs_count -= lost + remove_all(me.lent, peer)
    return lost


@inner
def remove_all(arcs: AnyArcs, peer: int) -> int:
    count = 0
    while True:
        place = place_of(arcs, peer)
        if place < 0:
            return count
        remove(arcs, place)
        count += 1


@inner
def duplicate(w: State, p: int) -> None:
    arcs = processes(w)[p].free.count + processes(w)[p].lent.count
    if arcs:
        peer = view_at(w, p, choose(w, p, arcs))
        take_arc(w, p, peer, 0, peer)
