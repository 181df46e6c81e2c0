"""The links that the sampler wishes for, and closing what nobody needs (reference: `living`)."""

from aforesaid.fleet.closing import agree, close
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import bound_to, far_end, links_to, side_of
from aforesaid.fleet.handshake import open_link
from aforesaid.fleet.layout import (
    CLOSING,
    ENDS,
    FREE,
    INSIDE,
    KEEP,
    LENT,
    LISTS,
    MEDIATORS,
    NAMES_MAX,
    NONE,
    OUT,
    PATIENCE,
    PUT_OFF,
    RETAINED,
    RETAINED_TIMEOUT,
    SPARE,
)
from aforesaid.fleet.queues import send, stop
from aforesaid.fleet.tables import W, links, processes
from aforesaid.fleet.timers import arm


@inner
def place_of(w: W, p: int, table: int, width: int, name: int) -> int:
    """Where in a list of p the rows of this name begin; -1: nowhere."""
    for i in range(processes(w)[p, table]):
        if processes(w)[p, table + 1 + i * width] == name:
            return i
    return -1


@inner
def append(w: W, p: int, table: int, width: int, room: int) -> int:
    """Make room for a row at the end of a list of p; returns its column."""
    count = processes(w)[p, table]
    if count >= room:
        stop(w, LISTS, p, table)
        return table + 1
    processes(w)[p, table] = count + 1
    return int(table + 1 + count * width)


@inner
def remove(w: W, p: int, table: int, width: int, place: int) -> None:
    """Take a row out of a list of p; those after it move up."""
    count = processes(w)[p, table] - 1
    for column in range(table + 1 + place * width, table + 1 + count * width):
        processes(w)[p, column] = processes(w)[p, column + width]
    processes(w)[p, table] = count


@inner
def wants(w: W, p: int, peer: int) -> bool:
    return place_of(w, p, FREE, 2, peer) >= 0 or place_of(w, p, LENT, 2, peer) >= 0


@inner
def asked(w: W, p: int, lid: int) -> None:
    """The other end would close a link."""
    peer = far_end(w, lid, p)
    only = links_to(w, p, peer) <= 1
    if only and wants(w, p, peer):
        send(w, KEEP, p, peer, lid, -1, 0, 0)
    elif only and retained(w, p, peer):
        put_off(w, p, peer)
        send(w, KEEP, p, peer, lid, -1, 0, 0)
    else:
        agree(w, p, lid)


@inner
def open_wanted(w: W, p: int, peer: int) -> None:
    """Open a link to a wanted peer, unless there is one that is not being closed."""
    if not processes(w)[p, INSIDE]:
        return
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        s = side_of(w, lid, p)
        if far_end(w, lid, p) == peer and links(w)[lid, CLOSING + s] == 0 and links(w)[lid, OUT + s] != NONE:
            return
    place = place_of(w, p, MEDIATORS, 2, peer)
    open_link(w, p, peer, processes(w)[p, MEDIATORS + 2 + 2 * place] if place >= 0 else -1, 1)


@inner
def forget_mediator(w: W, p: int, peer: int) -> None:
    place = place_of(w, p, MEDIATORS, 2, peer)
    if place >= 0:
        remove(w, p, MEDIATORS, 2, place)


@inner
def wanted(w: W, p: int, peer: int, mediator: int) -> None:
    """The sampler has a new arc."""
    place = place_of(w, p, MEDIATORS, 2, peer)
    if bound_to(w, p, peer):
        # Not to the mediator of the link that is being opened: it is needed still.
        needed = place >= 0 and processes(w)[p, MEDIATORS + 2 + 2 * place] == mediator
        if mediator != peer and not needed:
            send(w, SPARE, p, mediator, -1, -1, peer, 0)
        return
    column = MEDIATORS + 1 + 2 * place if place >= 0 else append(w, p, MEDIATORS, 2, NAMES_MAX)
    processes(w)[p, column], processes(w)[p, column + 1] = peer, mediator
    open_wanted(w, p, peer)


@inner
def unwanted(w: W, p: int, peer: int, partner: int) -> None:
    """The sampler has given an arc to a partner: keep the link while we may mediate for it."""
    if partner != peer:
        column = -1
        for i in range(processes(w)[p, RETAINED]):
            at = RETAINED + 1 + 3 * i
            if processes(w)[p, at] == partner and processes(w)[p, at + 1] == peer:
                column = at
        if column < 0:
            column = append(w, p, RETAINED, 3, NAMES_MAX)
        processes(w)[p, column], processes(w)[p, column + 1] = partner, peer
        processes(w)[p, column + 2] = arm(w, 2 * w[PATIENCE], RETAINED_TIMEOUT, p, partner)
    tidy(w, p, peer)


@inner
def retained(w: W, p: int, peer: int) -> bool:
    """Whether a pair that we mediate for names the peer."""
    for i in range(processes(w)[p, RETAINED]):
        at = RETAINED + 1 + 3 * i
        if processes(w)[p, at] == peer or processes(w)[p, at + 1] == peer:
            return True
    return False


@inner
def mediated(w: W, p: int, partner: int, peer: int) -> None:
    """The partner needs our link to the peer no more."""
    for i in range(processes(w)[p, RETAINED]):
        at = RETAINED + 1 + 3 * i
        if processes(w)[p, at] == partner and processes(w)[p, at + 1] == peer:
            remove(w, p, RETAINED, 3, i)
            tidy(w, p, peer)
            if place_of(w, p, PUT_OFF, 1, partner) >= 0:
                tidy(w, p, partner)
            return


@inner
def retention_expired(w: W, p: int, number: int) -> None:
    for i in range(processes(w)[p, RETAINED]):
        at = RETAINED + 1 + 3 * i
        if processes(w)[p, at + 2] == number:
            mediated(w, p, processes(w)[p, at], processes(w)[p, at + 1])
            return


@inner
def put_off(w: W, p: int, peer: int) -> None:
    if place_of(w, p, PUT_OFF, 1, peer) < 0:
        column = append(w, p, PUT_OFF, 1, NAMES_MAX)
        processes(w)[p, column] = peer


@inner
def tidy(w: W, p: int, peer: int) -> None:
    """Close the link to a peer that no arc and no mediation needs."""
    if retained(w, p, peer):
        put_off(w, p, peer)
        return
    place = place_of(w, p, PUT_OFF, 1, peer)
    if place >= 0:
        remove(w, p, PUT_OFF, 1, place)
    if not wants(w, p, peer):
        forget_mediator(w, p, peer)
        close(w, p, peer)
