"""Closing a link in two phases, and losing it (reference: `prc.closing`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import complete, far_end, known, last, notify, part, refuse, side_of
from aforesaid.fleet.handshake import abandon, again
from aforesaid.fleet.layout import (
    BUFFERING,
    CLOSE,
    CLOSE_TIMEOUT,
    CLOSE_TIMER,
    CLOSE_TRIES,
    CLOSING,
    ENDS,
    FIN,
    IN,
    KEEP,
    N_ASKED,
    N_DOWN,
    N_DOWN_AGREED,
    N_FAILED,
    NONE,
    OPENER,
    OUT,
    PATIENCE,
    SAFE,
    TRIES_MAX,
)
from aforesaid.fleet.queues import send
from aforesaid.fleet.tables import W, links, processes
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wiring import drop, drop_in, drop_out


@inner
def close(w: W, p: int, peer: int) -> None:
    """Have no link to the peer: attempts of ours are abandoned, complete links closed in two phases."""
    place = 0
    while place < processes(w)[p, ENDS]:
        lid = processes(w)[p, ENDS + 1 + 2 * place]
        place += 1
        if processes(w)[p, ENDS + 2 * place] != peer:
            continue
        if complete(w, lid, p):
            ask_close(w, p, lid)
        elif links(w)[lid, OPENER] == p and NONE < links(w)[lid, OUT] <= BUFFERING:
            abandon(w, p, lid)
            place -= 1


@inner
def ask_close(w: W, p: int, lid: int) -> None:
    """Close a complete link, unless this process needs it."""
    s = side_of(w, lid, p)
    if not links(w)[lid, CLOSING + s] and not last(w, lid, p):
        links(w)[lid, CLOSING + s] = 1
        ask(w, p, lid, 1)


@inner
def ask(w: W, p: int, lid: int, tries: int) -> None:
    s = side_of(w, lid, p)
    links(w)[lid, CLOSE_TRIES + s] = tries
    send(w, CLOSE, p, far_end(w, lid, p), lid, -1, 0, 0)
    links(w)[lid, CLOSE_TIMER + s] = arm(w, w[PATIENCE], CLOSE_TIMEOUT, p, lid)


@inner
def close_asked(w: W, p: int, source: int, lid: int) -> None:
    if known(w, lid, p):
        notify(w, N_ASKED, lid)
    else:
        refuse(w, p, source, lid)


@inner
def agree(w: W, p: int, lid: int) -> None:
    """The other end may close the link, unless this process needs it."""
    s = side_of(w, lid, p)
    if not complete(w, lid, p) or (not links(w)[lid, CLOSING + s] and last(w, lid, p)):
        send(w, KEEP, p, far_end(w, lid, p), lid, -1, 0, 0)
        return
    links(w)[lid, CLOSING + s] = 1
    if links(w)[lid, OUT + s] != NONE:
        end(w, p, lid)


@inner
def kept(w: W, p: int, lid: int) -> None:
    """The other end refuses. A link of which it already ended its part is past refusal."""
    s = side_of(w, lid, p)
    if links(w)[lid, CLOSE_TRIES + s]:
        links(w)[lid, CLOSE_TRIES + s], links(w)[lid, CLOSE_TIMER + s], links(w)[lid, CLOSING + s] = 0, 0, 0


@inner
def ended(w: W, p: int, lid: int) -> None:
    """The last frame on the link came in. We send on it too, and end as well."""
    s = side_of(w, lid, p)
    if links(w)[lid, IN + s] == NONE:
        return
    if links(w)[lid, OUT + s] != NONE:
        drop_in(w, lid, p)
        end(w, p, lid)
    else:
        gone(w, p, lid)


@inner
def end(w: W, p: int, lid: int) -> None:
    """Send Fin, after which nothing is sent on the link; where nothing is received either, it is gone."""
    s = side_of(w, lid, p)
    if links(w)[lid, OUT + s] >= SAFE:
        send(w, FIN, p, far_end(w, lid, p), lid, -1, 0, 0)
    if links(w)[lid, IN + s] == NONE:
        gone(w, p, lid)
    else:
        drop_out(w, lid, p)


@inner
def gone(w: W, p: int, lid: int) -> None:
    agreed = links(w)[lid, CLOSING + side_of(w, lid, p)]
    notify(w, N_DOWN_AGREED if agreed else N_DOWN, far_end(w, lid, p))
    drop(w, lid, p)


@inner
def close_expired(w: W, p: int, lid: int) -> None:
    """No answer: ask again, and in the end close alone."""
    tries = links(w)[lid, CLOSE_TRIES + side_of(w, lid, p)]
    if 0 < tries < w[TRIES_MAX]:
        ask(w, p, lid, tries + 1)
    elif tries:
        part(w, p, lid)
        gone(w, p, lid)


@inner
def lose(w: W, p: int, lid: int) -> None:
    """A link is gone without a word from the other end, or after its Reset."""
    notify(w, N_DOWN if complete(w, lid, p) else N_FAILED, far_end(w, lid, p))
    drop(w, lid, p)


@inner
def reset(w: W, p: int, lid: int) -> None:
    s = side_of(w, lid, p)
    if s == 0 and NONE < links(w)[lid, OUT] <= BUFFERING:
        again(w, p, lid)
    elif known(w, lid, p):
        lose(w, p, lid)
