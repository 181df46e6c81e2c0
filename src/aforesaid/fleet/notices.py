"""What became of links, told to the sampler (reference: `living`)."""

from aforesaid.fleet.closing import ask_close
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import bound_to, far_end, linked, links_to, unref
from aforesaid.fleet.layout import (
    ENDS,
    N_ASKED,
    N_DOWN,
    N_DOWN_AGREED,
    N_FAILED,
    N_JOINED,
    N_MEDIATED,
    N_UP,
    N_WELCOMED,
    NOTICE,
    NOTICES,
    NUMBER,
    OPENER,
    OTHER,
)
from aforesaid.fleet.spray import arc_down, arm_first, take_arc, welcomed
from aforesaid.fleet.tables import W, links, processes
from aforesaid.fleet.wishes import asked, forget_mediator, mediated, open_wanted, wants


@inner
def heed(w: W, p: int) -> None:
    """Tell the sampler what became of links, until nothing more becomes of them."""
    read = 0
    while read < w[NOTICES]:
        kind, what = w[NOTICE + 2 * read], w[NOTICE + 1 + 2 * read]
        read += 1
        if kind == N_UP:
            up(w, p, what)
        elif kind in (N_DOWN, N_FAILED):
            down(w, p, what, False)
        elif kind == N_DOWN_AGREED:
            down(w, p, what, True)
        elif kind == N_ASKED:
            asked(w, p, what)
        elif kind == N_MEDIATED:
            mediated(w, p, links(w)[what, OPENER], links(w)[what, OTHER])
            unref(w, what)
        elif kind == N_JOINED:
            take_arc(w, p, what, 0, what)
            arm_first(w, p)
        elif kind == N_WELCOMED:
            welcomed(w, p, what)
    w[NOTICES] = 0


@inner
def up(w: W, p: int, lid: int) -> None:
    """Of two links between the same two processes, the opener of the later one closes it."""
    peer = far_end(w, lid, p)
    forget_mediator(w, p, peer)
    if links_to(w, p, peer) < 2:
        return
    spare = -1
    for i in range(processes(w)[p, ENDS]):
        other = processes(w)[p, ENDS + 1 + 2 * i]
        if far_end(w, other, p) == peer and linked(w, other, p) and (spare < 0 or later(w, other, spare)):
            spare = other
    if links(w)[spare, OPENER] == p:
        ask_close(w, p, spare)


@inner
def later(w: W, one: int, other: int) -> bool:
    if links(w)[one, OPENER] != links(w)[other, OPENER]:
        return bool(links(w)[one, OPENER] > links(w)[other, OPENER])
    return bool(links(w)[one, NUMBER] > links(w)[other, NUMBER])


@inner
def down(w: W, p: int, peer: int, agreed: bool) -> None:
    lacking = wants(w, p, peer) and not bound_to(w, p, peer)
    if lacking and agreed:
        # An arc came while its link was being closed.
        open_wanted(w, p, peer)
        return
    forget_mediator(w, p, peer)
    if lacking:
        arc_down(w, p, peer)
