"""Spray, the peer sampling (reference: `spray`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import links_to
from aforesaid.fleet.layout import (
    ANSWER,
    ARCS_COUNT,
    ARCS_MAX,
    BEGUN,
    EXCHANGE,
    FREE,
    GIVEN,
    INCARNATION,
    INTRODUCE,
    INTRODUCED,
    LENT,
    LENT_MAX,
    OFFER,
    PENDING,
    PERIOD,
    PERIOD_TIMER,
    REPLY,
    REQUEST,
    SETTLED,
    URN,
)
from aforesaid.fleet.queues import choose, send
from aforesaid.fleet.tables import W, processes
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wishes import append, place_of, remove, unwanted, wanted


@inner
def arm_first(w: W, p: int) -> None:
    """The first exchange comes anywhere within a period, so that processes do not exchange in step."""
    if not processes(w)[p, SETTLED]:
        arm(w, 1 + choose(w, p, w[PERIOD]), PERIOD_TIMER, p, processes(w)[p, INCARNATION])


@inner
def take_arc(w: W, p: int, peer: int, age: int, mediator: int) -> None:
    column = append(w, p, FREE, 2, ARCS_MAX)
    processes(w)[p, column], processes(w)[p, column + 1] = peer, age
    w[ARCS_COUNT] += 1
    wanted(w, p, peer, mediator)


@inner
def welcomed(w: W, p: int, newcomer: int) -> None:
    """One arc to the newcomer for each of ours, made by neighbours that can reach it through us."""
    able = 0
    arcs = processes(w)[p, FREE] + processes(w)[p, LENT]
    for i in range(arcs):
        peer = view_at(w, p, i)
        if peer != newcomer and links_to(w, p, peer):
            w[INTRODUCED + able] = peer
            able += 1
    if able == 0:
        take_arc(w, p, newcomer, 0, newcomer)
        return
    stand_ins = arcs - able
    for i in range(stand_ins):
        w[INTRODUCED + able + i] = w[INTRODUCED + choose(w, p, able)]
    for i in range(arcs):
        send(w, INTRODUCE, p, w[INTRODUCED + i], -1, -1, newcomer, 0)


@inner
def view_at(w: W, p: int, place: int) -> int:
    """The peer of an arc, free ones first."""
    free = processes(w)[p, FREE]
    if place < free:
        return int(processes(w)[p, FREE + 1 + 2 * place])
    return int(processes(w)[p, LENT + 1 + 2 * (place - free)])


@inner
def period_over(w: W, p: int) -> None:
    for i in range(processes(w)[p, FREE]):
        processes(w)[p, FREE + 2 + 2 * i] += 1
    for i in range(processes(w)[p, LENT]):
        processes(w)[p, LENT + 2 + 2 * i] += 1
    if processes(w)[p, PENDING] >= 0:
        send(w, REQUEST, p, processes(w)[p, PENDING], -1, -1, processes(w)[p, EXCHANGE], 0)
    elif not processes(w)[p, SETTLED]:
        ask_exchange(w, p)
    if processes(w)[p, PENDING] >= 0 or not processes(w)[p, SETTLED]:
        arm(w, w[PERIOD], PERIOD_TIMER, p, processes(w)[p, INCARNATION])


@inner
def urn(w: W, p: int) -> int:
    """Fill the urn with the arcs that p may give: those with a usable link. Returns their number."""
    count = 0
    for i in range(processes(w)[p, FREE]):
        peer = processes(w)[p, FREE + 1 + 2 * i]
        if links_to(w, p, peer):
            w[URN + 2 * count], w[URN + 1 + 2 * count] = peer, processes(w)[p, FREE + 2 + 2 * i]
            count += 1
    return count


@inner
def out_of_urn(w: W, place: int, count: int) -> None:
    for i in range(place, count - 1):
        w[URN + 2 * i], w[URN + 1 + 2 * i] = w[URN + 2 * (i + 1)], w[URN + 1 + 2 * (i + 1)]


@inner
def ask_exchange(w: W, p: int) -> None:
    """Offer half to the oldest neighbour; the arc to it is part of that half."""
    count = urn(w, p)
    if count == 0:
        return
    half, oldest = (count + 1) // 2, 0
    for i in range(1, count):
        if w[URN + 1 + 2 * i] > w[URN + 1 + 2 * oldest]:
            oldest = i
    partner = w[URN + 2 * oldest]
    processes(w)[p, LENT] = 0
    for i in range(half):
        place = oldest if i == 0 else choose(w, p, count - i)
        column = append(w, p, LENT, 2, LENT_MAX)
        processes(w)[p, column], processes(w)[p, column + 1] = w[URN + 2 * place], w[URN + 1 + 2 * place]
        out_of_urn(w, place, count - i)
    processes(w)[p, BEGUN] += 1
    processes(w)[p, PENDING], processes(w)[p, EXCHANGE] = partner, processes(w)[p, BEGUN]
    processes(w)[p, OFFER], processes(w)[p, OFFER + 1] = processes(w)[p, BEGUN], half
    for i in range(half):
        peer, age = processes(w)[p, LENT + 1 + 2 * i], processes(w)[p, LENT + 2 + 2 * i]
        remove_free(w, p, peer, age)
        turn(w, p, OFFER + 2 + 2 * i, peer, age, p, partner)
    send(w, REQUEST, p, partner, -1, -1, processes(w)[p, BEGUN], 0)


@inner
def turn(w: W, p: int, column: int, peer: int, age: int, giver: int, receiver: int) -> None:
    """Put an arc into a sample as the receiver is to take it: an arc to itself becomes a new one to us."""
    processes(w)[p, column] = giver if peer == receiver else peer
    processes(w)[p, column + 1] = 0 if peer == receiver else age


@inner
def remove_free(w: W, p: int, peer: int, age: int) -> None:
    for i in range(processes(w)[p, FREE]):
        if processes(w)[p, FREE + 1 + 2 * i] == peer and processes(w)[p, FREE + 2 + 2 * i] == age:
            remove(w, p, FREE, 2, i)
            return


@inner
def answer(w: W, p: int, source: int, exchange: int) -> None:
    """Take what is offered, and give half of ours for it."""
    if not links_to(w, p, source):
        return
    count = urn(w, p)
    half = (count + 1) // 2
    processes(w)[source, ANSWER], processes(w)[source, ANSWER + 1] = exchange, half
    for i in range(half):
        place = choose(w, p, count - i)
        w[GIVEN + 2 * i], w[GIVEN + 1 + 2 * i] = w[URN + 2 * place], w[URN + 1 + 2 * place]
        out_of_urn(w, place, count - i)
    for i in range(half):
        peer, age = w[GIVEN + 2 * i], w[GIVEN + 1 + 2 * i]
        remove_free(w, p, peer, age)
        turn(w, source, ANSWER + 2 + 2 * i, peer, age, p, source)
    send(w, REPLY, p, source, -1, -1, exchange, 0)
    w[ARCS_COUNT] -= half
    take_sample(w, p, source, OFFER, source)
    for i in range(half):
        unwanted(w, p, w[GIVEN + 2 * i], source)


@inner
def take_sample(w: W, p: int, row: int, table: int, partner: int) -> None:
    for i in range(processes(w)[row, table + 1]):
        at = table + 2 + 2 * i
        take_arc(w, p, processes(w)[row, at], processes(w)[row, at + 1], partner)


@inner
def answered(w: W, p: int, exchange: int) -> None:
    """The offer was taken, and these arcs are given for it."""
    partner = processes(w)[p, PENDING]
    if partner < 0 or processes(w)[p, EXCHANGE] != exchange:
        return
    processes(w)[p, PENDING] = -1
    given = processes(w)[p, LENT]
    for i in range(given):
        w[GIVEN + 2 * i] = processes(w)[p, LENT + 1 + 2 * i]
    processes(w)[p, LENT] = 0
    w[ARCS_COUNT] -= given
    take_sample(w, p, p, ANSWER, partner)
    for i in range(given):
        unwanted(w, p, w[GIVEN + 2 * i], partner)


@inner
def arc_down(w: W, p: int, peer: int) -> None:
    for _ in range(lose_arcs(w, p, peer)):
        duplicate(w, p)


@inner
def arcs_of_dead(w: W, p: int, peer: int) -> None:
    """Each arc to a crashed peer is replaced with probability 1 - 1/|view|: views shrink with the group."""
    size = processes(w)[p, FREE] + processes(w)[p, LENT]
    for _ in range(lose_arcs(w, p, peer)):
        if choose(w, p, size) > 0:
            duplicate(w, p)


@inner
def lose_arcs(w: W, p: int, peer: int) -> int:
    """Drop all arcs to the peer; how many of them are ours to replace."""
    if processes(w)[p, PENDING] == peer:
        for i in range(processes(w)[p, LENT]):
            column = append(w, p, FREE, 2, ARCS_MAX)
            processes(w)[p, column] = processes(w)[p, LENT + 1 + 2 * i]
            processes(w)[p, column + 1] = processes(w)[p, LENT + 2 + 2 * i]
        processes(w)[p, LENT], processes(w)[p, PENDING] = 0, -1
    lost = remove_all(w, p, FREE, peer)
    w[ARCS_COUNT] -= lost + remove_all(w, p, LENT, peer)
    return lost


@inner
def remove_all(w: W, p: int, table: int, peer: int) -> int:
    count = 0
    while True:
        place = place_of(w, p, table, 2, peer)
        if place < 0:
            return count
        remove(w, p, table, 2, place)
        count += 1


@inner
def duplicate(w: W, p: int) -> None:
    arcs = processes(w)[p, FREE] + processes(w)[p, LENT]
    if arcs:
        peer = view_at(w, p, choose(w, p, arcs))
        take_arc(w, p, peer, 0, peer)
