"""The two ends of every link, and what is known of them (reference: `prc.links`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import MARGIN, Side, State
from aforesaid.fleet.lists import append, remove, row
from aforesaid.fleet.queues import send, stop
from aforesaid.fleet.states import In, Kind, Out, Status
from aforesaid.fleet.tables import hot, links, processes

INTO_SHIFT, CLOSING_SHIFT = 3, 6
OUT, CLOSING = (1 << INTO_SHIFT) - 1, 1 << CLOSING_SHIFT
"""A state in the list of ends is `out`, `into` and `closing`, from the lowest bits on; no less than `CLOSING`
if the link is being closed."""


@inner
def side_of(w: State, lid: int, p: int) -> int:
    return 0 if links(w)[lid].opener == p else 1


@inner
def far_end(w: State, lid: int, p: int) -> int:
    link = links(w)[lid]
    return link.other if link.opener == p else link.opener


@inner
def end_of(w: State, lid: int, p: int) -> Side:
    """What the process knows of the link."""
    return links(w)[lid].sides[side_of(w, lid, p)]


@inner
def known(w: State, lid: int, p: int) -> bool:
    mine = end_of(w, lid, p)
    return mine.out != Out.NONE or mine.into != In.NONE


@inner
def complete(w: State, lid: int, p: int) -> bool:
    """Every end that the process has of the link is initialised."""
    mine = end_of(w, lid, p)
    sends = mine.out == Out.NONE or mine.out == Out.CONFIRMED
    return sends and (mine.into == In.NONE or mine.into == In.OPEN)


@inner
def state_of(w: State, lid: int, p: int) -> int:
    """How far the process is with a link, in one number: `out`, `into` and `closing`."""
    mine = end_of(w, lid, p)
    return int(mine.out + (mine.into << INTO_SHIFT) + (mine.closing << CLOSING_SHIFT))


@inner
def tell_ends(w: State, lid: int, p: int) -> None:
    """The list of ends has the states too: who looks through it need not look at every link."""
    ends = processes(w)[p].ends
    for i in range(ends.count):
        if row(w, ends, i).what == lid:
            row(w, ends, i).more = state_of(w, lid, p)
            return


@inner
def linked(state: int) -> bool:
    """Whether the process counts the link among its `links()`: complete, able to send, not being closed."""
    into = (state >> INTO_SHIFT) & OUT
    return state & OUT == Out.CONFIRMED and state < CLOSING and (into == In.NONE or into == In.OPEN)


@inner
def links_to(w: State, p: int, peer: int) -> int:
    count = 0
    ends = processes(w)[p].ends
    for i in range(ends.count):
        end = row(w, ends, i)
        if end.peer == peer and linked(end.more):
            count += 1
    return count


@inner
def safe_to(w: State, p: int, peer: int) -> int:
    """The oldest link on which what is sent to the peer arrives after all that precedes it; -1: none."""
    ends = processes(w)[p].ends
    for i in range(ends.count):
        end = row(w, ends, i)
        if end.peer == peer and end.more & OUT >= Out.SAFE:
            return end.what
    return -1


@inner
def bound_to(w: State, p: int, peer: int) -> bool:
    """True if there is a link to the peer, or one being opened, that is not being closed."""
    ends = processes(w)[p].ends
    for i in range(ends.count):
        end = row(w, ends, i)
        if end.peer == peer and end.more < CLOSING:
            return True
    return False


@inner
def precedes(w: State, lid: int, later: int) -> bool:
    one, other = links(w)[lid], links(w)[later]
    return one.opener == other.opener and one.number < other.number


@inner
def new_link(w: State, p: int, peer: int) -> int:
    """A link instance with a name of its own."""
    processes(w)[p].opened += 1
    if w.links_left < MARGIN:
        stop(w, Status.ROOM, 0, 0)
    if w.links_left == 0:
        stop(w, Status.FULL, 0, 0)
        return 0
    w.links_left -= 1
    lid = w.free_link
    link = links(w)[lid]
    w.free_link = lid + 1 + link.other
    links(w)[lid] = w.blank
    link.opener, link.other, link.number = p, peer, processes(w)[p].opened
    link.route, link.route_back, link.tries, link.since = -1, -1, 1, w.oldest
    return lid


@inner
def add_end(w: State, lid: int, p: int) -> None:
    added = append(w, processes(w)[p].ends, far_end(w, lid, p), lid)
    added.more = state_of(w, lid, p)
    w.places += 1
    end_of(w, lid, p).place = w.places


@inner
def free_if_idle(w: State, lid: int) -> None:
    """A link that neither end knows, and nothing under way names, is no more."""
    link = links(w)[lid]
    one, other = link.sides[0], link.sides[1]
    idle = one.out == Out.NONE and other.out == Out.NONE and one.into == In.NONE and other.into == In.NONE
    if idle and link.refs == 0 and link.number > 0:
        # Counted from the row that follows: rows never used are zero, and need not be touched to be chained.
        link.number, link.other = 0, w.free_link - lid - 1
        w.free_link = lid
        w.links_left += 1


@inner
def unref(w: State, lid: int) -> None:
    if lid >= 0:
        links(w)[lid].refs -= 1
        free_if_idle(w, lid)


@inner
def drop_end(w: State, lid: int, p: int) -> None:
    """Forget the link at p if nothing is left of it there."""
    mine, ends = end_of(w, lid, p), processes(w)[p].ends
    if mine.out != Out.NONE or mine.into != In.NONE:
        tell_ends(w, lid, p)
        return
    for i in range(ends.count):
        if row(w, ends, i).what == lid:
            remove(w, ends, i)
            break
    mine.closing, mine.close_tries, mine.handshake_timer, mine.close_timer = 0, 0, 0, 0
    free_if_idle(w, lid)


@inner
def last(w: State, lid: int, p: int) -> bool:
    """True if the process needs the link: without it, it would send to nobody, or hear nobody."""
    mine, ends = end_of(w, lid, p), processes(w)[p].ends
    lacks_out, lacks_in = mine.out != Out.NONE, mine.into != In.NONE
    for i in range(ends.count):
        other = row(w, ends, i)
        if other.what != lid and other.more < CLOSING:
            lacks_out = lacks_out and other.more & OUT != Out.CONFIRMED
            lacks_in = lacks_in and other.more >> INTO_SHIFT != In.OPEN
        if not (lacks_out or lacks_in):
            return False
    return lacks_out or lacks_in


@inner
def alone(w: State, p: int) -> bool:
    """True if the process had links and has lost its last safe out-link or open in-link."""
    linked_both_ways = hot(w)[p].open_count > 0 and processes(w)[p].safe_outs > 0
    return bool(processes(w)[p].grouped) and not linked_both_ways


@inner
def notify(w: State, news: int, what: int) -> None:
    append(w, w.notices, what, news)


@inner
def refuse(w: State, p: int, source: int, lid: int) -> None:
    """Answer a frame of a link that is not here, or not in the state for it."""
    send(w, Kind.RESET, p, source, -1, lid, 0, 0)


@inner
def part(w: State, p: int, lid: int) -> None:
    """Tell the other end that we have done with a link: one in use ends by Fin, after frames of ours."""
    mine = end_of(w, lid, p)
    if mine.out >= Out.SAFE or mine.into == In.OPEN:
        send(w, Kind.FIN, p, far_end(w, lid, p), lid, -1, 0, 0)
    else:
        send(w, Kind.RESET, p, far_end(w, lid, p), -1, lid, 0, 0)
