"""What became of links, told to the sampler (reference: `living`)."""

from aforesaid.fleet.closing import ask_close
from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import bound_to, far_end, linked, links_to, unref
from aforesaid.fleet.layout import State
from aforesaid.fleet.lists import row
from aforesaid.fleet.spray import arc_down, arm_first, take_arc, welcomed
from aforesaid.fleet.states import News
from aforesaid.fleet.tables import links, processes
from aforesaid.fleet.wishes import asked, forget_mediator, mediated, open_wanted, wants


@inner
def heed(w: State, p: int) -> None:
    """Tell the sampler what became of links, until nothing more becomes of them."""
    read = 0
    while read < w.notices.count:
        kind, what = row(w, w.notices, read).what, row(w, w.notices, read).peer
        read += 1
        if kind == News.UP:
            up(w, p, what)
        elif kind in (News.DOWN, News.FAILED):
            down(w, p, what, False)
        elif kind == News.DOWN_AGREED:
            down(w, p, what, True)
        elif kind == News.ASKED:
            asked(w, p, what)
        elif kind == News.MEDIATED:
            mediated(w, p, links(w)[what].opener, links(w)[what].other)
            unref(w, what)
        elif kind == News.JOINED:
            take_arc(w, p, what, 0, what)
            arm_first(w, p)
        elif kind == News.WELCOMED:
            welcomed(w, p, what)
    w.notices.count = 0


@inner
def up(w: State, p: int, lid: int) -> None:
    """Of two links between the same two processes, the opener of the later one closes it."""
    peer = far_end(w, lid, p)
    forget_mediator(w, p, peer)
    if links_to(w, p, peer) < 2:
        return
    spare = -1
    for i in range(processes(w)[p].ends.count):
        other = row(w, processes(w)[p].ends, i)
        if other.peer == peer and linked(other.more) and (spare < 0 or later(w, other.what, spare)):
            spare = other.what
    if links(w)[spare].opener == p:
        ask_close(w, p, spare)


@inner
def later(w: State, one: int, other: int) -> bool:
    if links(w)[one].opener != links(w)[other].opener:
        return links(w)[one].opener > links(w)[other].opener
    return links(w)[one].number > links(w)[other].number


@inner
def down(w: State, p: int, peer: int, agreed: bool) -> None:
    lacking = wants(w, p, peer) and not bound_to(w, p, peer)
    if lacking and agreed:
        # An arc came while its link was being closed.
        open_wanted(w, p, peer)
        return
    forget_mediator(w, p, peer)
    if lacking:
        arc_down(w, p, peer)
