"""Which copies a link brings: the bits of in-links in masks, and the wire rows that forwards expand over."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import add_end, drop_end, end_of, far_end
from aforesaid.fleet.layout import BITS, DELIVERED, TARGET_SHIFT, WIRES_MARGIN, State
from aforesaid.fleet.queues import stop
from aforesaid.fleet.states import In, Out, Status
from aforesaid.fleet.tables import hot, links, logs, masks, opens, prefetch, processes, slots, wired, wires

AHEAD = 12
"""How many places of a log ahead a mask is fetched."""


@inner
def open_in(w: State, lid: int, p: int) -> None:
    """The in-link begins to bring copies: give it a bit."""
    near, n = hot(w)[p], hot(w).shape[0]
    mine = end_of(w, lid, p)
    for word in range(masks(w).shape[1] // n):
        mask = opens(w)[p + word * n]
        for bit in range(BITS):
            if not (mask >> bit) & 1:
                mine.into, mine.bit = In.OPEN, word * BITS + bit
                widen(w, p, word + 1)
                opens(w)[p + word * n] |= 1 << bit
                near.open_count += 1
                # The next one opens in another step, and may need a word more.
                if near.open_count >= near.words * BITS and near.words * n == masks(w).shape[1]:
                    stop(w, Status.ROOM, p, 0)
                return
    stop(w, Status.FULL, p, 0)


@inner
def widen(w: State, p: int, words: int) -> None:
    """Use so many words of p's masks: each has to say which messages p has delivered."""
    n = processes(w).shape[0]
    for word in range(hot(w)[p].words, words):
        hot(w)[p].words, opens(w)[p + word * n] = word + 1, DELIVERED
        w.words_used = max(w.words_used, word + 1)
        for serial in range(w.oldest, w.serials):
            slot = serial & (masks(w).shape[0] - 1)
            masks(w)[slot, p + word * n] |= masks(w)[slot, p] & DELIVERED


@inner
def column_of(w: State, lid: int, p: int) -> int:
    """Where the masks of p have the in-link's bit."""
    return p + end_of(w, lid, p).bit // BITS * processes(w).shape[0]


@inner
def bit_of(w: State, lid: int, p: int) -> int:
    """The in-link's bit in the masks of p."""
    return int(1 << (end_of(w, lid, p).bit % BITS))


@inner
def establish(w: State, lid: int, p: int, out_state: int) -> None:
    """Have a link, both ways, without a handshake: between a newcomer and its contact."""
    me = processes(w)[p]
    add_end(w, lid, p)
    end_of(w, lid, p).out = out_state
    me.safe_outs += 1
    open_in(w, lid, p)
    me.opened = max(me.opened, links(w)[lid].number)
    me.grouped = 1


@inner
def add_wire(w: State, lid: int, p: int) -> None:
    """From here on, forwards of p expand over the link too; in the order of p's out-view."""
    q = far_end(w, lid, p)
    count = int(wires(w)[p, 0])
    if count + WIRES_MARGIN >= wires(w).shape[1]:
        stop(w, Status.ROOM, 0, 0)
    if count + 1 >= wires(w).shape[1]:
        stop(w, Status.FULL, 0, 0)
        return
    place, seniority = count + 1, end_of(w, lid, p).place
    while place > 1:
        other = int(wired(w)[p, place - 1])
        if end_of(w, other, p).place < seniority:
            break
        wires(w)[p, place], wired(w)[p, place] = wires(w)[p, place - 1], wired(w)[p, place - 1]
        place -= 1
    bit = end_of(w, lid, q).bit % BITS
    wires(w)[p, place] = (column_of(w, lid, q) << TARGET_SHIFT) | bit
    wired(w)[p, place] = lid
    wires(w)[p, 0] = count + 1
    w.links_count += 1


@inner
def unwire(w: State, lid: int, p: int) -> None:
    """Forwards of p that arrive from here on do not take the link."""
    count = int(wires(w)[p, 0])
    for place in range(1, count + 1):
        if wired(w)[p, place] == lid:
            for later in range(place, count):
                wires(w)[p, later], wired(w)[p, later] = wires(w)[p, later + 1], wired(w)[p, later + 1]
            wires(w)[p, 0] = count - 1
            w.links_count -= 1
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
        forget_expected(w, p, column_of(w, lid, p), bit_of(w, lid, p))
        opens(w)[column_of(w, lid, p)] &= ~bit_of(w, lid, p)
        near.open_count -= 1
        unwire(w, lid, far_end(w, lid, p))
    elif state == In.MIRRORED:
        w.buffered -= mine.log_second - mine.log_first
    elif state != Out.NONE:
        w.buffered -= near.logged - mine.log_first
        near.noting -= 1
    mine.into = In.NONE
    drop_end(w, lid, p)


@inner
def forget_expected(w: State, p: int, column: int, bit: int) -> None:
    """The in-link with this bit brings nothing more."""
    near = hot(w)[p]
    ring, n, clean = masks(w).shape[0], hot(w).shape[0], True
    begin, end = max(processes(w)[p].clean, near.logged - ring), near.logged
    for place in range(begin, end):
        soon = logs(w)[p, (place + AHEAD) & (ring - 1)]
        prefetch(masks(w), (soon & (masks(w).shape[0] - 1)) * masks(w).shape[1] + column, 0)
        serial = logs(w)[p, place & (ring - 1)]
        if serial >= w.oldest:
            slot = serial & (masks(w).shape[0] - 1)
            if masks(w)[slot, column] & bit:
                masks(w)[slot, column] ^= bit
                w.expected -= 1
                slots(w)[slot].live -= 1
            for word in range(near.words):
                clean = clean and masks(w)[slot, p + word * n] == DELIVERED
        if clean:
            processes(w)[p].clean = place + 1


@inner
def drop(w: State, lid: int, p: int) -> None:
    """Forget a link, its memory and its buffers."""
    drop_out(w, lid, p)
    drop_in(w, lid, p)
