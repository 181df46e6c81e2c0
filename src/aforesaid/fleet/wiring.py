"""Which copies a link brings: the bits of in-links in masks, and the wire rows that forwards expand over."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import add_end, drop_end, far_end, side_of
from aforesaid.fleet.layout import (
    BIT,
    BITS,
    BUFFERED,
    BUFFERING,
    CLEAN,
    DEGREE,
    DELIVERED,
    EXPECTED,
    GROUPED,
    IN,
    LINKS_COUNT,
    LIVE,
    LOG,
    LOG_FIRST,
    LOG_OUT,
    LOG_SECOND,
    LOGGED,
    MIRRORED,
    NONE,
    NOTING,
    NUMBER,
    OLDEST,
    OPEN,
    OPEN_COUNT,
    OPEN_MASK,
    OPENED,
    OUT,
    PLACE,
    SAFE,
    SAFE_OUTS,
    SERIALS,
    TARGET_SHIFT,
    WELCOMING,
    WIRED,
    WORDS,
    WORDS_MAX,
    WORDS_USED,
)
from aforesaid.fleet.queues import stop
from aforesaid.fleet.tables import W, hot, links, masks, prefetch, processes, slots, wires

AHEAD = 12
"""How many places of a log ahead a mask is fetched."""


@inner
def open_in(w: W, lid: int, p: int) -> None:
    """The in-link begins to bring copies: give it a bit."""
    s = side_of(w, lid, p)
    for word in range(WORDS_MAX):
        mask = hot(w)[p, OPEN_MASK + word]
        for bit in range(BITS):
            if not (mask >> bit) & 1:
                links(w)[lid, IN + s], links(w)[lid, BIT + s] = OPEN, word * BITS + bit
                hot(w)[p, OPEN_MASK + word] = mask | (1 << bit)
                hot(w)[p, OPEN_COUNT] += 1
                widen(w, p, word + 1)
                return
    stop(w, DEGREE, p, WORDS_MAX * BITS)


@inner
def widen(w: W, p: int, words: int) -> None:
    """Use so many words of p's masks: each has to say which messages p has delivered."""
    n = processes(w).shape[0]
    for word in range(hot(w)[p, WORDS], words):
        hot(w)[p, WORDS] = word + 1
        w[WORDS_USED] = max(w[WORDS_USED], word + 1)
        for serial in range(w[OLDEST], w[SERIALS]):
            slot = serial & (masks(w).shape[0] - 1)
            masks(w)[slot, p + word * n] |= masks(w)[slot, p] & DELIVERED


@inner
def column_of(w: W, lid: int, p: int) -> int:
    """Where the masks of p have the in-link's bit."""
    return int(p + links(w)[lid, BIT + side_of(w, lid, p)] // BITS * processes(w).shape[0])


@inner
def bit_of(w: W, lid: int, p: int) -> int:
    """The in-link's bit in the masks of p."""
    return int(1 << (links(w)[lid, BIT + side_of(w, lid, p)] % BITS))


@inner
def establish(w: W, lid: int, p: int, out_state: int) -> None:
    """Have a link, both ways, without a handshake: between a newcomer and its contact."""
    add_end(w, lid, p)
    links(w)[lid, OUT + side_of(w, lid, p)] = out_state
    processes(w)[p, SAFE_OUTS] += 1
    open_in(w, lid, p)
    processes(w)[p, OPENED] = max(processes(w)[p, OPENED], links(w)[lid, NUMBER])
    processes(w)[p, GROUPED] = 1


@inner
def add_wire(w: W, lid: int, p: int) -> None:
    """From here on, forwards of p expand over the link too; in the order of p's out-view."""
    q = far_end(w, lid, p)
    count = int(wires(w)[p, 0])
    if count + 1 >= wires(w).shape[1]:
        stop(w, DEGREE, p, count)
        return
    place, seniority = count + 1, links(w)[lid, PLACE + side_of(w, lid, p)]
    while place > 1:
        other = processes(w)[p, WIRED + place - 1]
        if links(w)[other, PLACE + side_of(w, other, p)] < seniority:
            break
        wires(w)[p, place], processes(w)[p, WIRED + place] = (
            wires(w)[p, place - 1],
            processes(w)[p, WIRED + place - 1],
        )
        place -= 1
    bit = links(w)[lid, BIT + side_of(w, lid, q)] % BITS
    wires(w)[p, place] = (column_of(w, lid, q) << TARGET_SHIFT) | bit
    processes(w)[p, WIRED + place] = lid
    wires(w)[p, 0] = count + 1
    w[LINKS_COUNT] += 1


@inner
def unwire(w: W, lid: int, p: int) -> None:
    """Forwards of p that arrive from here on do not take the link."""
    count = int(wires(w)[p, 0])
    for place in range(1, count + 1):
        if processes(w)[p, WIRED + place] == lid:
            for later in range(place, count):
                wires(w)[p, later], processes(w)[p, WIRED + later] = (
                    wires(w)[p, later + 1],
                    processes(w)[p, WIRED + later + 1],
                )
            wires(w)[p, 0] = count - 1
            w[LINKS_COUNT] -= 1
            return


@inner
def drop_out(w: W, lid: int, p: int) -> None:
    """The sender's end is gone. What was sent still arrives: the wire changes with a frame that follows."""
    s = side_of(w, lid, p)
    if links(w)[lid, OUT + s] == BUFFERING:
        w[BUFFERED] -= hot(w)[p, LOGGED] - links(w)[lid, LOG_OUT + s]
        hot(w)[p, NOTING] -= 1
    processes(w)[p, SAFE_OUTS] -= links(w)[lid, OUT + s] >= SAFE
    links(w)[lid, OUT + s], links(w)[lid, WELCOMING + s] = NONE, 0
    drop_end(w, lid, p)


@inner
def drop_in(w: W, lid: int, p: int) -> None:
    """The receiver's end is gone, with its memory."""
    s = side_of(w, lid, p)
    state = links(w)[lid, IN + s]
    if state == OPEN:
        forget_expected(w, p, column_of(w, lid, p), bit_of(w, lid, p))
        hot(w)[p, OPEN_MASK + links(w)[lid, BIT + s] // BITS] &= ~bit_of(w, lid, p)
        hot(w)[p, OPEN_COUNT] -= 1
        unwire(w, lid, far_end(w, lid, p))
    elif state == MIRRORED:
        w[BUFFERED] -= links(w)[lid, LOG_SECOND + s] - links(w)[lid, LOG_FIRST + s]
    elif state != NONE:
        w[BUFFERED] -= hot(w)[p, LOGGED] - links(w)[lid, LOG_FIRST + s]
        hot(w)[p, NOTING] -= 1
    links(w)[lid, IN + s] = NONE
    drop_end(w, lid, p)


@inner
def forget_expected(w: W, p: int, column: int, bit: int) -> None:
    """The in-link with this bit brings nothing more."""
    ring, n, clean = processes(w).shape[1] - LOG, hot(w).shape[0], True
    begin, end = max(processes(w)[p, CLEAN], hot(w)[p, LOGGED] - ring), hot(w)[p, LOGGED]
    for place in range(begin, end):
        soon = processes(w)[p, LOG + ((place + AHEAD) & (ring - 1))]
        prefetch(masks(w), (soon & (masks(w).shape[0] - 1)) * masks(w).shape[1] + column)
        serial = processes(w)[p, LOG + (place & (ring - 1))]
        if serial >= w[OLDEST]:
            slot = serial & (masks(w).shape[0] - 1)
            if masks(w)[slot, column] & bit:
                masks(w)[slot, column] ^= bit
                w[EXPECTED] -= 1
                slots(w)[slot, LIVE] -= 1
            for word in range(hot(w)[p, WORDS]):
                clean = clean and masks(w)[slot, p + word * n] == DELIVERED
        if clean:
            processes(w)[p, CLEAN] = place + 1


@inner
def drop(w: W, lid: int, p: int) -> None:
    """Forget a link, its memory and its buffers."""
    drop_out(w, lid, p)
    drop_in(w, lid, p)
