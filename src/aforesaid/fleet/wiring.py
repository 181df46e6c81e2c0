"""Which copies a link brings: the bits of in-links in masks, and the wire rows that forwards expand over."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import add_end, drop_end, end_of, far_end
from aforesaid.fleet.layout import BITS, COLUMNS_MARGIN, DELIVERED, TARGET_SHIFT, WIRES_MARGIN, State
from aforesaid.fleet.queues import stop, wire_row
from aforesaid.fleet.states import In, Out, Status
from aforesaid.fleet.tables import (
    columns,
    hot,
    links,
    logs,
    masks,
    opens,
    prefetch,
    processes,
    slots,
    wired,
    wires,
)

AHEAD = 12
"""How many places of a log ahead a mask is fetched."""


@inner
def open_in(w: State, lid: int, p: int) -> None:
    """The in-link begins to bring copies: give it a bit."""
    near, mine = hot(w)[p], end_of(w, lid, p)
    mine.into, mine.owing = In.OPEN, -near.logged
    if near.open_count == near.words * BITS:
        widen(w, p)
    column = p
    for word in range(near.words):
        for bit in range(BITS):
            if not (opens(w)[column] >> bit) & 1:
                mine.bit = word * BITS + bit
                opens(w)[column] |= 1 << bit
                near.open_count += 1
                return
        column = columns(w)[column].following


@inner
def widen(w: State, p: int) -> None:
    """A word more for p's masks, which has to say which messages p has delivered."""
    column, last = w.columns_used, p
    if column + COLUMNS_MARGIN > masks(w).shape[1]:
        stop(w, Status.ROOM, 0, 0)
    if column >= masks(w).shape[1]:
        stop(w, Status.FULL, 0, 0)
        return
    w.columns_used = column + 1
    while columns(w)[last].following:
        last = columns(w)[last].following
    columns(w)[last].following, columns(w)[column].process = column, p
    hot(w)[p].words += 1
    opens(w)[column] = DELIVERED
    for serial in range(w.oldest, w.serials):
        slot = serial & (masks(w).shape[0] - 1)
        masks(w)[slot, column] = masks(w)[slot, p] & DELIVERED


@inner
def column_of(w: State, lid: int, p: int) -> int:
    """Where the masks of p have the in-link's bit."""
    column = p
    for _ in range(end_of(w, lid, p).bit // BITS):
        column = columns(w)[column].following
    return column


@inner
def bit_of(w: State, lid: int, p: int) -> int:
    """The in-link's bit in the masks of p."""
    return int(1 << (end_of(w, lid, p).bit % BITS))


@inner
def establish(w: State, lid: int, p: int, out_state: int) -> None:
    """Have a link, both ways, without a handshake: between a newcomer and its contact."""
    me = processes(w)[p]
    end_of(w, lid, p).out = out_state
    me.safe_outs += 1
    open_in(w, lid, p)
    add_end(w, lid, p)
    me.opened = max(me.opened, links(w)[lid].number)
    me.grouped = 1


@inner
def add_wire(w: State, lid: int, p: int) -> None:
    """From here on, forwards of p expand over the link too; in the order of p's out-view."""
    q = far_end(w, lid, p)
    wire = wire_row(w, p, q)
    count = int(wires(w)[wire, 0])
    if count + WIRES_MARGIN >= wires(w).shape[1]:
        stop(w, Status.ROOM, 0, 0)
    if count + 1 >= wires(w).shape[1]:
        stop(w, Status.FULL, 0, 0)
        return
    place, seniority = count + 1, end_of(w, lid, p).place
    while place > 1:
        other = int(wired(w)[wire, place - 1])
        if end_of(w, other, p).place < seniority:
            break
        wires(w)[wire, place], wired(w)[wire, place] = wires(w)[wire, place - 1], wired(w)[wire, place - 1]
        place -= 1
    bit = end_of(w, lid, q).bit % BITS
    wires(w)[wire, place] = (column_of(w, lid, q) << TARGET_SHIFT) | bit
    wired(w)[wire, place] = lid
    wires(w)[wire, 0] = count + 1
    w.links_count += 1
    end_of(w, lid, q).owing += hot(w)[wire].arrived


@inner
def unwire(w: State, lid: int, p: int) -> None:
    """Forwards of p that arrive from here on do not take the link."""
    wire = wire_row(w, p, far_end(w, lid, p))
    count = int(wires(w)[wire, 0])
    for place in range(1, count + 1):
        if wired(w)[wire, place] == lid:
            for later in range(place, count):
                wires(w)[wire, later] = wires(w)[wire, later + 1]
                wired(w)[wire, later] = wired(w)[wire, later + 1]
            wires(w)[wire, 0] = count - 1
            w.links_count -= 1
            end_of(w, lid, far_end(w, lid, p)).owing -= hot(w)[wire].arrived
            return


@inner
def drop_out(w: State, lid: int, p: int) -> None:
    """The sender's end is gone. What was sent still arrives: the wire changes with a frame that follows."""
    mine = end_of(w, lid, p)
    if mine.out == Out.BUFFERING:
        w.buffered -= hot(w)[p].logged - mine.log_out
        hot(w)[p].noting -= 1
    processes(w)[p].safe_outs -= mine.out >= Out.SAFE
    mine.out, mine.welcoming = Out.NONE, 0
    drop_end(w, lid, p)


@inner
def drop_in(w: State, lid: int, p: int) -> None:
    """The receiver's end is gone, with its memory."""
    near = hot(w)[p]
    mine = end_of(w, lid, p)
    state = mine.into
    if state == In.OPEN:
        unwire(w, lid, far_end(w, lid, p))
        forget_expected(w, p, column_of(w, lid, p), bit_of(w, lid, p), mine.owing + near.logged)
        opens(w)[column_of(w, lid, p)] &= ~bit_of(w, lid, p)
        near.open_count -= 1
    elif state == In.MIRRORED:
        w.buffered -= mine.log_second - mine.log_first
    elif state != In.NONE and state != In.AWAITED:
        w.buffered -= near.logged - mine.log_first
        near.noting -= 1
    mine.into = In.NONE
    drop_end(w, lid, p)


@inner
def forget_expected(w: State, p: int, column: int, bit: int, count: int) -> None:
    """The in-link with this bit brings nothing more. What is expected of it is among the last deliveries."""
    table, log, ring = masks(w), logs(w), masks(w).shape[0]
    w.expected -= count
    place, begin = hot(w)[p].logged, max(0, hot(w)[p].logged - ring)
    while count and place > begin:
        place -= 1
        soon = log[p, (place - AHEAD) & (ring - 1)]
        prefetch(table, (soon & (ring - 1)) * table.shape[1] + column, 0)
        slot = log[p, place & (ring - 1)] & (ring - 1)
        if table[slot, column] & bit:
            table[slot, column] ^= bit
            slots(w)[slot].live -= 1
            count -= 1
    if count:
        stop(w, Status.LACKING, p, count)


@inner
def drop(w: State, lid: int, p: int) -> None:
    """Forget a link, its memory and its buffers."""
    drop_out(w, lid, p)
    drop_in(w, lid, p)
