"""The links that the sampler wishes for, and closing what nobody needs (reference: `living`)."""

from aforesaid.fleet.closing import agree, close
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import CLOSING, OUT, bound_to, far_end, links_to
from aforesaid.fleet.handshake import open_link
from aforesaid.fleet.layout import State
from aforesaid.fleet.lists import append, place_of, remove, row
from aforesaid.fleet.queues import send
from aforesaid.fleet.states import Due, Kind, Out
from aforesaid.fleet.tables import processes
from aforesaid.fleet.timers import arm


@inner
def wants(w: State, p: int, peer: int) -> bool:
    return place_of(w, processes(w)[p].free, peer) >= 0 or place_of(w, processes(w)[p].lent, peer) >= 0


@inner
def asked(w: State, p: int, lid: int) -> None:
    """The other end would close a link."""
    peer = far_end(w, lid, p)
    only = links_to(w, p, peer) <= 1
    if only and wants(w, p, peer):
        send(w, Kind.KEEP, p, peer, lid, -1, 0, 0)
    elif only and retained(w, p, peer):
        put_off(w, p, peer)
        send(w, Kind.KEEP, p, peer, lid, -1, 0, 0)
    else:
        agree(w, p, lid)


@inner
def open_wanted(w: State, p: int, peer: int) -> None:
    """Open a link to a wanted peer, unless there is one that is not being closed."""
    me = processes(w)[p]
    if not me.inside:
        return
    for i in range(me.ends.count):
        end = row(w, me.ends, i)
        if end.peer == peer and end.more < CLOSING and end.more & OUT != Out.NONE:
            return
    place = place_of(w, me.mediators, peer)
    open_link(w, p, peer, row(w, me.mediators, place).what if place >= 0 else -1, 1)


@inner
def forget_mediator(w: State, p: int, peer: int) -> None:
    place = place_of(w, processes(w)[p].mediators, peer)
    if place >= 0:
        remove(w, processes(w)[p].mediators, place)


@inner
def wanted(w: State, p: int, peer: int, mediator: int) -> None:
    """The sampler has a new arc."""
    mediators = processes(w)[p].mediators
    place = place_of(w, mediators, peer)
    if bound_to(w, p, peer):
        # Not to the mediator of the link that is being opened: it is needed still.
        needed = place >= 0 and row(w, mediators, place).what == mediator
        if mediator != peer and not needed:
            send(w, Kind.SPARE, p, mediator, -1, -1, peer, 0)
        return
    if place >= 0:
        row(w, mediators, place).what = mediator
    else:
        append(w, mediators, peer, mediator)
    open_wanted(w, p, peer)


@inner
def unwanted(w: State, p: int, peer: int, partner: int) -> None:
    """The sampler has given an arc to a partner: keep the link while we may mediate for it."""
    if partner != peer:
        pairs, place = processes(w)[p].retained, retention_of(w, p, partner, peer)
        if place < 0:
            place = pairs.count
            append(w, pairs, peer, partner)
        row(w, pairs, place).more = arm(w, 2 * w.patience, Due.RETAINED, p, partner)
    tidy(w, p, peer)


@inner
def retention_of(w: State, p: int, partner: int, peer: int) -> int:
    """Where p retains the link to a peer for a partner; -1: nowhere."""
    pairs = processes(w)[p].retained
    for i in range(pairs.count):
        if row(w, pairs, i).what == partner and row(w, pairs, i).peer == peer:
            return i
    return -1


@inner
def retained(w: State, p: int, peer: int) -> bool:
    """Whether a pair that we mediate for names the peer."""
    pairs, place = processes(w)[p].retained, 0
    while place < pairs.count and row(w, pairs, place).what != peer and row(w, pairs, place).peer != peer:
        place += 1
    return place < pairs.count


@inner
def mediated(w: State, p: int, partner: int, peer: int) -> None:
    """The partner needs our link to the peer no more."""
    place = retention_of(w, p, partner, peer)
    if place >= 0:
        remove(w, processes(w)[p].retained, place)
        tidy(w, p, peer)
        if place_of(w, processes(w)[p].put_off, partner) >= 0:
            tidy(w, p, partner)


@inner
def retention_expired(w: State, p: int, number: int) -> None:
    pairs = processes(w)[p].retained
    for i in range(pairs.count):
        if row(w, pairs, i).more == number:
            mediated(w, p, row(w, pairs, i).what, row(w, pairs, i).peer)
            return


@inner
def put_off(w: State, p: int, peer: int) -> None:
    names = processes(w)[p].put_off
    if place_of(w, names, peer) < 0:
        append(w, names, peer, 0)


@inner
def tidy(w: State, p: int, peer: int) -> None:
    """Close the link to a peer that no arc and no mediation needs."""
    if retained(w, p, peer):
        put_off(w, p, peer)
        return
    place = place_of(w, processes(w)[p].put_off, peer)
    if place >= 0:
        remove(w, processes(w)[p].put_off, place)
    if not wants(w, p, peer):
        forget_mediator(w, p, peer)
        close(w, p, peer)
