"""Messages, and the memory that links have of them (reference: `prc.links`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import side_of, unref
from aforesaid.fleet.layout import (
    BUFFERED,
    CONTROL,
    CONTROLS,
    DELIVERED,
    DELIVERIES,
    ENDS,
    EVENTS,
    EXPECTED,
    FLOOD,
    FLOOD_KIND,
    FLOOD_LINK,
    HAD,
    INSIDE_COUNT,
    LIVE,
    LOG,
    LOGGED,
    MISSED,
    NOTING,
    OLDEST,
    OPEN_COUNT,
    OPEN_MASK,
    OPENER,
    OTHER,
    OUT,
    OWED,
    PROCESS_BITS,
    QUEUE,
    SAFE,
    SAID,
    SERIAL,
    SERIALS,
    SLOTS,
    TIME,
    TRACED,
    WORDS,
    WORDS_USED,
)
from aforesaid.fleet.queues import count_control, push, stop
from aforesaid.fleet.tables import W, events, hot, links, masks, processes, slots
from aforesaid.fleet.wiring import bit_of, column_of


@inner
def new_message(w: W, said: int) -> int:
    """A serial for a message, in a slot that nobody needs any more."""
    serial = w[SERIALS]
    s = serial & (masks(w).shape[0] - 1)
    if serial >= masks(w).shape[0]:
        retire(w, s)
    w[SERIALS] = serial + 1
    slots(w)[s, SERIAL], slots(w)[s, SAID], slots(w)[s, OWED] = serial, said, w[INSIDE_COUNT]
    slots(w)[s, LIVE], slots(w)[s, HAD], slots(w)[s, FLOOD_KIND], slots(w)[s, FLOOD_LINK] = 0, 0, 0, -1
    oldest = w[OLDEST]
    while oldest < serial and slots(w)[oldest & (masks(w).shape[0] - 1), LIVE] == 0:
        oldest += 1
    w[OLDEST] = oldest
    return int(serial)


@inner
def retire(w: W, s: int) -> None:
    """The message in a slot must be everywhere and expected nowhere: then its row is blank again."""
    if slots(w)[s, LIVE] != 0:
        stop(w, SLOTS, slots(w)[s, SERIAL], slots(w)[s, LIVE])
    if slots(w)[s, SAID] >= 0 and slots(w)[s, HAD] < slots(w)[s, OWED]:
        w[MISSED] += slots(w)[s, OWED] - slots(w)[s, HAD]
    masks(w)[s, : w[WORDS_USED] * processes(w).shape[0]] = 0
    if slots(w)[s, FLOOD_LINK] >= 0:
        unref(w, slots(w)[s, FLOOD_LINK])


@inner
def new(w: W, p: int, serial: int, via: int) -> None:
    """A first receipt, or one's own (via -1): note it for the other links, pass it on, deliver it."""
    s = serial & (masks(w).shape[0] - 1)
    count = hot(w)[p, OPEN_COUNT]
    for word in range(hot(w)[p, WORDS]):
        masks(w)[s, p + word * processes(w).shape[0]] = DELIVERED | hot(w)[p, OPEN_MASK + word]
    if via >= 0:
        masks(w)[s, column_of(w, via, p)] &= ~bit_of(w, via, p)
        count -= 1
    w[EXPECTED] += count
    w[BUFFERED] += hot(w)[p, NOTING]
    slots(w)[s, LIVE] += count + 1
    slots(w)[s, HAD] += 1
    processes(w)[p, LOG + (hot(w)[p, LOGGED] & (processes(w).shape[1] - LOG - 1))] = serial
    hot(w)[p, LOGGED] += 1
    push(w, (serial << PROCESS_BITS) | p)
    if slots(w)[s, SAID] >= 0:
        delivered(w, p, slots(w)[s, SAID])
    else:
        flooded(w, p, s)


@inner
def delivered(w: W, p: int, said: int) -> None:
    """Count a delivery, and trace it if asked to."""
    w[DELIVERIES] += 1
    if processes(w)[p, TRACED]:
        record(w, p, said)


@inner
def record(w: W, p: int, what: int) -> None:
    """A row of the trace; the loop makes sure that there is room, but for a very long handshake buffer."""
    row = w[EVENTS]
    if row >= events(w).shape[0]:
        stop(w, QUEUE, p, what)
        return
    events(w)[row, 0], events(w)[row, 1], events(w)[row, 2] = w[TIME], p, what
    w[EVENTS] = row + 1


@inner
def flooded(w: W, p: int, s: int) -> None:
    """A flooded control message: count its copies; whom it is for takes it when this step is over."""
    copies = 0
    for i in range(processes(w)[p, ENDS]):
        lid = processes(w)[p, ENDS + 1 + 2 * i]
        if links(w)[lid, OUT + side_of(w, lid, p)] >= SAFE:
            copies += 1
    count_control(w, FLOOD, copies)
    if flood_target(w, s) == p:
        count = w[CONTROLS]
        w[CONTROL + count] = s
        w[CONTROLS] = count + 1


@inner
def flood_target(w: W, s: int) -> int:
    kind, lid = slots(w)[s, FLOOD_KIND], slots(w)[s, FLOOD_LINK]
    return int(links(w)[lid, OTHER] if kind % 2 == 0 else links(w)[lid, OPENER])
