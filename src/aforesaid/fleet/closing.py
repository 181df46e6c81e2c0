"""Closing a link in two phases, and losing it (reference: `prc.closing`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import (
    complete,
    end_of,
    far_end,
    known,
    last,
    notify,
    part,
    refuse,
    side_of,
    tell_ends,
)
from aforesaid.fleet.handshake import abandon, again
from aforesaid.fleet.layout import State
from aforesaid.fleet.lists import row
from aforesaid.fleet.queues import send
from aforesaid.fleet.states import Due, In, Kind, News, Out
from aforesaid.fleet.tables import links, processes
from aforesaid.fleet.timers import arm
from aforesaid.fleet.wiring import drop, drop_in, drop_out


@inner
def close(w: State, p: int, peer: int) -> None:
    """Have no link to the peer: attempts of ours are abandoned, complete links closed in two phases."""
    place, ends = 0, processes(w)[p].ends
    while place < ends.count:
        lid, leads_to = row(w, ends, place).what, row(w, ends, place).peer
        place += 1
        if leads_to != peer:
            continue
        if complete(w, lid, p):
            ask_close(w, p, lid)
        elif links(w)[lid].opener == p and Out.NONE < links(w)[lid].sides[0].out <= Out.BUFFERING:
            abandon(w, p, lid)
            place -= 1


@inner
def ask_close(w: State, p: int, lid: int) -> None:
    """Close a complete link, unless this process needs it."""
    mine = end_of(w, lid, p)
    if not mine.closing and not last(w, lid, p):
        mine.closing = 1
        tell_ends(w, lid, p)
        ask(w, p, lid, 1)


@inner
def ask(w: State, p: int, lid: int, tries: int) -> None:
    mine = end_of(w, lid, p)
    mine.close_tries = tries
    send(w, Kind.CLOSE, p, far_end(w, lid, p), lid, -1, 0, 0)
    mine.close_timer = arm(w, w.patience, Due.CLOSE, p, lid)


@inner
def close_asked(w: State, p: int, source: int, lid: int) -> None:
    if known(w, lid, p):
        notify(w, News.ASKED, lid)
    else:
        refuse(w, p, source, lid)


@inner
def agree(w: State, p: int, lid: int) -> None:
    """The other end may close the link, unless this process needs it."""
    mine = end_of(w, lid, p)
    if not complete(w, lid, p) or (not mine.closing and last(w, lid, p)):
        send(w, Kind.KEEP, p, far_end(w, lid, p), lid, -1, 0, 0)
        return
    mine.closing = 1
    tell_ends(w, lid, p)
    if mine.out != Out.NONE:
        end(w, p, lid)
        return
    send(w, Kind.AGREE, p, far_end(w, lid, p), lid, -1, 0, 0)
    if not mine.close_tries:
        mine.close_timer = arm(w, w.patience, Due.CLOSE, p, lid)


@inner
def agreed(w: State, p: int, lid: int) -> None:
    """The other end has ended its sending already, and agrees again: it was asked again."""
    mine = end_of(w, lid, p)
    if mine.close_tries and mine.out != Out.NONE:
        end(w, p, lid)


@inner
def kept(w: State, p: int, lid: int) -> None:
    """The other end refuses. A link of which it already ended its part is past refusal."""
    mine = end_of(w, lid, p)
    if mine.close_tries:
        mine.close_tries, mine.close_timer, mine.closing = 0, 0, 0
        tell_ends(w, lid, p)


@inner
def ended(w: State, p: int, lid: int) -> None:
    """The last frame on the link came in. Where we send on it too, we end as well."""
    mine = end_of(w, lid, p)
    if mine.into != In.NONE and mine.out != Out.NONE:
        drop_in(w, lid, p)
        end(w, p, lid)
    elif known(w, lid, p):
        gone(w, p, lid)


@inner
def end(w: State, p: int, lid: int) -> None:
    """Send Fin, after which nothing is sent on the link; where nothing is received either, it is gone."""
    mine = end_of(w, lid, p)
    if mine.out >= Out.SAFE:
        send(w, Kind.FIN, p, far_end(w, lid, p), lid, -1, 0, 0)
    if mine.into == In.NONE:
        gone(w, p, lid)
    else:
        drop_out(w, lid, p)


@inner
def gone(w: State, p: int, lid: int) -> None:
    agreed = end_of(w, lid, p).closing
    notify(w, News.DOWN_AGREED if agreed else News.DOWN, far_end(w, lid, p))
    drop(w, lid, p)


@inner
def close_expired(w: State, p: int, lid: int) -> None:
    """No answer, or no end of what we agreed to close: ask (again), and in the end close alone."""
    tries = end_of(w, lid, p).close_tries
    if tries < w.tries_max:
        ask(w, p, lid, tries + 1)
    else:
        part(w, p, lid)
        gone(w, p, lid)


@inner
def lose(w: State, p: int, lid: int) -> None:
    """A link is gone without a word from the other end, or after its Reset."""
    notify(w, News.DOWN if complete(w, lid, p) else News.FAILED, far_end(w, lid, p))
    drop(w, lid, p)


@inner
def reset(w: State, p: int, lid: int) -> None:
    if side_of(w, lid, p) == 0 and Out.NONE < links(w)[lid].sides[0].out <= Out.BUFFERING:
        again(w, p, lid)
    elif known(w, lid, p):
        lose(w, p, lid)
