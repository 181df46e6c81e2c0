"""The two ends of every link, and what is known of them (reference: `prc.links`)."""

from aforesaid.sim.fleet.compiled import (
    inner,
)
from aforesaid.sim.fleet.layout import (
    BIT,
    BITS,
    BUFFERED,
    BUFFERING,
    CLEAN,
    CLOSE_TIMER,
    CLOSE_TRIES,
    CLOSING,
    CONFIRMED,
    DEGREE,
    DELIVERED,
    ENDS,
    ENDS_MAX,
    EXPECTED,
    FIN,
    FREE_LINK,
    GROUPED,
    HANDSHAKE_TIMER,
    IN,
    LINKS_COUNT,
    LINKS_GONE,
    LINKS_LEFT,
    LISTS,
    LIVE,
    LOG,
    LOG_FIRST,
    LOG_OUT,
    LOG_SECOND,
    LOGGED,
    MIRRORED,
    NONE,
    NOTICE,
    NOTICES,
    NOTING,
    NUMBER,
    OLDEST,
    OPEN,
    OPEN_COUNT,
    OPEN_MASK,
    OPENED,
    OPENER,
    OTHER,
    OUT,
    PLACE,
    PLACES,
    REFS,
    RESET,
    ROUTE,
    ROUTE_BACK,
    SAFE,
    SERIALS,
    TARGET_SHIFT,
    TRIES,
    WELCOMING,
    WIRED,
    WORDS,
    WORDS_MAX,
    WORDS_USED,
)
from aforesaid.sim.fleet.queues import (
    send,
    stop,
)
from aforesaid.sim.fleet.tables import (
    W,
    hot,
    links,
    masks,
    processes,
    slots,
    wires,
)


@inner
def side_of(w: W, lid: int, p: int) -> int:
    return 0 if links(w)[lid, OPENER] == p else 1


@inner
def far_end(w: W, lid: int, p: int) -> int:
    return int(links(w)[lid, OTHER] if links(w)[lid, OPENER] == p else links(w)[lid, OPENER])


@inner
def known(w: W, lid: int, p: int) -> bool:
    s = side_of(w, lid, p)
    return bool(links(w)[lid, OUT + s] != NONE or links(w)[lid, IN + s] != NONE)


@inner
def complete(w: W, lid: int, p: int) -> bool:
    """Every end that the process has of the link is initialised."""
    s = side_of(w, lid, p)
    sends = links(w)[lid, OUT + s] == NONE or links(w)[lid, OUT + s] == CONFIRMED
    return bool(sends and (links(w)[lid, IN + s] == NONE or links(w)[lid, IN + s] == OPEN))


@inner
def linked(w: W, lid: int, p: int) -> bool:
    """Whether the process counts the link among its `links()`: complete, able to send, not being closed."""
    s = side_of(w, lid, p)
    return links(w)[lid, OUT + s] == CONFIRMED and links(w)[lid, CLOSING + s] == 0 and complete(w, lid, p)


@inner
def links_to(w: W, p: int, peer: int) -> int:
    count = 0
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        if processes(w)[p, ENDS + 2 + 2 * i] == peer and linked(w, lid, p):
            count += 1
    return count


@inner
def safe_to(w: W, p: int, peer: int) -> int:
    """The oldest link on which what is sent to the peer arrives after all that precedes it; -1: none."""
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        if processes(w)[p, ENDS + 2 + 2 * i] == peer and links(w)[lid, OUT + side_of(w, lid, p)] >= SAFE:
            return int(lid)
    return -1


@inner
def bound_to(w: W, p: int, peer: int) -> bool:
    """True if there is a link to the peer, or one being opened, that is not being closed."""
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        if processes(w)[p, ENDS + 2 + 2 * i] == peer and links(w)[lid, CLOSING + side_of(w, lid, p)] == 0:
            return True
    return False


@inner
def precedes(w: W, lid: int, later: int) -> bool:
    same = links(w)[lid, OPENER] == links(w)[later, OPENER]
    return bool(same and links(w)[lid, NUMBER] < links(w)[later, NUMBER])


@inner
def new_link(w: W, p: int, peer: int) -> int:
    """A link instance with a name of its own."""
    processes(w)[p, OPENED] += 1
    if w[LINKS_LEFT] == 0:
        stop(w, LINKS_GONE, p, peer)
        return 0
    w[LINKS_LEFT] -= 1
    lid = w[FREE_LINK]
    w[FREE_LINK] = links(w)[lid, OTHER]
    links(w)[lid] = 0
    links(w)[lid, OPENER], links(w)[lid, OTHER], links(w)[lid, NUMBER] = p, peer, processes(w)[p, OPENED]
    links(w)[lid, ROUTE], links(w)[lid, ROUTE_BACK], links(w)[lid, TRIES] = -1, -1, 1
    return int(lid)


@inner
def add_end(w: W, lid: int, p: int) -> None:
    count = processes(w)[p, ENDS]
    if count >= ENDS_MAX:
        stop(w, LISTS, p, count)
        return
    processes(w)[p, ENDS + 1 + 2 * count] = lid
    processes(w)[p, ENDS + 2 + 2 * count] = far_end(w, lid, p)
    processes(w)[p, ENDS] = count + 1
    w[PLACES] += 1
    links(w)[lid, PLACE + side_of(w, lid, p)] = w[PLACES]


@inner
def free_if_idle(w: W, lid: int) -> None:
    """A link that neither end knows, and nothing under way names, is no more."""
    idle = links(w)[lid, OUT] == NONE and links(w)[lid, OUT + 1] == NONE
    idle = idle and links(w)[lid, IN] == NONE and links(w)[lid, IN + 1] == NONE
    if idle and links(w)[lid, REFS] == 0 and links(w)[lid, NUMBER] > 0:
        links(w)[lid, NUMBER], links(w)[lid, OTHER] = 0, w[FREE_LINK]
        w[FREE_LINK] = lid
        w[LINKS_LEFT] += 1


@inner
def unref(w: W, lid: int) -> None:
    if lid >= 0:
        links(w)[lid, REFS] -= 1
        free_if_idle(w, lid)


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
def drop_end(w: W, lid: int, p: int) -> None:
    """Forget the link at p if nothing is left of it there."""
    s = side_of(w, lid, p)
    if links(w)[lid, OUT + s] != NONE or links(w)[lid, IN + s] != NONE:
        return
    count = processes(w)[p, ENDS]
    for i in range(count):
        if processes(w)[p, ENDS + 1 + 2 * i] == lid:
            for column in range(ENDS + 1 + 2 * i, ENDS - 1 + 2 * count):
                processes(w)[p, column] = processes(w)[p, column + 2]
            processes(w)[p, ENDS] = count - 1
            break
    links(w)[lid, CLOSING + s], links(w)[lid, CLOSE_TRIES + s] = 0, 0
    links(w)[lid, HANDSHAKE_TIMER + s], links(w)[lid, CLOSE_TIMER + s] = 0, 0
    free_if_idle(w, lid)


@inner
def drop(w: W, lid: int, p: int) -> None:
    """Forget a link, its memory and its buffers."""
    drop_out(w, lid, p)
    drop_in(w, lid, p)


@inner
def last(w: W, lid: int, p: int) -> bool:
    """True if the process needs the link: without it, it would send to nobody, or hear nobody."""
    sends, hears = False, False
    for i in range(processes(w)[p, ENDS]):
        other = processes(w)[p, ENDS + 1 + 2 * i]
        s = side_of(w, other, p)
        if other != lid and links(w)[other, CLOSING + s] == 0:
            sends = sends or links(w)[other, OUT + s] == CONFIRMED
            hears = hears or links(w)[other, IN + s] == OPEN
    s = side_of(w, lid, p)
    return (links(w)[lid, OUT + s] != NONE and not sends) or (links(w)[lid, IN + s] != NONE and not hears)


@inner
def alone(w: W, p: int) -> bool:
    """True if the process had links and has lost its last safe out-link or open in-link."""
    if not processes(w)[p, GROUPED]:
        return False
    sends, hears = False, hot(w)[p, OPEN_COUNT] > 0
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        sends = sends or links(w)[lid, OUT + side_of(w, lid, p)] >= SAFE
    return not (sends and hears)


@inner
def notify(w: W, kind: int, what: int) -> None:
    count = w[NOTICES]
    w[NOTICE + 2 * count], w[NOTICE + 1 + 2 * count] = kind, what
    w[NOTICES] = count + 1


@inner
def refuse(w: W, p: int, source: int, lid: int) -> None:
    """Answer a frame of a link that is not here, or not in the state for it."""
    send(w, RESET, p, source, -1, lid, 0, 0)


@inner
def part(w: W, p: int, lid: int) -> None:
    """Tell the other end that we have done with a link: after frames of ours, in their order, by Fin."""
    if links(w)[lid, OUT + side_of(w, lid, p)] >= SAFE:
        send(w, FIN, p, far_end(w, lid, p), lid, -1, 0, 0)
    else:
        send(w, RESET, p, far_end(w, lid, p), -1, lid, 0, 0)
