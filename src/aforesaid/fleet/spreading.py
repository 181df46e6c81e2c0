"""Copies arrive: the hot loop."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import far_end, side_of
from aforesaid.fleet.layout import (
    BUFFERED,
    CONTROLS,
    DELIVERED,
    DELIVERIES,
    DUPLICATE,
    EVENTS,
    EXPECTED,
    FLOODING,
    HAD,
    HEAD,
    IN,
    LIVE,
    LOG,
    LOGGED,
    NEIGHBOURS,
    NOTING,
    OPEN,
    OPEN_COUNT,
    OPEN_MASK,
    PROCESS_BITS,
    RECEIPTS,
    SAID,
    TAIL,
    TARGET_SHIFT,
    TRACED,
    TRACING,
    WIRED,
    WORDS,
)
from aforesaid.fleet.memory import new, record
from aforesaid.fleet.queues import stop
from aforesaid.fleet.tables import W, events, fifo, hot, links, masks, prefetch, processes, slots, wires
from aforesaid.fleet.wiring import bit_of, column_of

LOW_PROCESS = (1 << PROCESS_BITS) - 1
AHEAD = 6
"""How many forwards ahead the wire row of one is fetched."""

MARGIN = 1 << 12
"""Room that one step may need."""


@inner
def spread(w: W, until: int) -> None:
    """Forwards arrive, as many as follow one another: each is a copy at every process that its sender had a
    safe link to. This is the hot loop."""
    table, rows, near, deep, queue = masks(w), wires(w), hot(w), processes(w), fifo(w)
    head, tail, room = w[HEAD], w[TAIL], queue.shape[1] - 1
    slots_less_1, ring, n = table.shape[0] - 1, deep.shape[1] - LOG - 1, near.shape[0]
    while head < until:
        forward = queue[0, head & room]
        if forward < 0:
            break
        p, serial = forward & LOW_PROCESS, forward >> PROCESS_BITS
        s = serial & slots_less_1
        # As `kernel.has_room` says it: what stops here must stop there.
        full = tail - head + MARGIN > room + 1 or w[EVENTS] + MARGIN > events(w).shape[0]
        if slots(w)[s, SAID] < 0 or full:
            break
        head += 1
        following = queue[0, (head + AHEAD) & room]
        if following >= 0:
            prefetch(rows, (following & LOW_PROCESS) * rows.shape[1])
            prefetch(rows, (following & LOW_PROCESS) * rows.shape[1] + 16)
        begin, expected, noted, twice = tail, 0, 0, -1
        count = int(rows[p, 0])
        for i in range(1, count + 1):
            packed = int(rows[p, i])
            column, bit = packed >> TARGET_SHIFT, 1 << (packed & 63)
            mask = table[s, column]
            if mask & bit:
                table[s, column] = mask ^ bit
            elif mask == 0:
                q = column if column < n else column % n
                table[s, q] = DELIVERED | near[q, OPEN_MASK]
                for word in range(1, near[q, WORDS]):
                    table[s, q + word * n] = DELIVERED | near[q, OPEN_MASK + word]
                table[s, column] &= ~bit
                expected += near[q, OPEN_COUNT]
                noted += near[q, NOTING]
                at = near[q, LOGGED]
                deep[q, LOG + (at & ring)] = serial
                near[q, LOGGED] = at + 1
                queue[0, tail & room] = (serial << PROCESS_BITS) | q
                tail += 1
            else:
                twice = column % n
        # A first receipt expects one copy less than there are links, any other frees one: so all free one.
        firsts = tail - begin
        w[EXPECTED] += expected - count
        w[BUFFERED] += noted
        w[RECEIPTS] += count
        w[DELIVERIES] += firsts
        slots(w)[s, LIVE] += expected - count + firsts - 1
        slots(w)[s, HAD] += firsts
        if w[TRACING]:
            record_firsts(w, begin, tail, slots(w)[s, SAID])
        if twice >= 0:
            stop(w, DUPLICATE, twice, slots(w)[s, SAID])
            break
    w[HEAD], w[TAIL] = head, tail


@inner
def record_firsts(w: W, begin: int, end: int, said: int) -> None:
    """Trace the deliveries whose forwards were pushed just now."""
    for place in range(begin, end):
        q = fifo(w)[0, place & (fifo(w).shape[1] - 1)] & LOW_PROCESS
        if processes(w)[q, TRACED]:
            record(w, q, said)


@inner
def spread_flood(w: W, forward: int) -> int:
    """Copies of a flooded control message arrive, up to one at the process that it is for: links may change.

    Returns that process, and goes on the next time; -1: all copies have arrived.
    """
    p, serial = forward & LOW_PROCESS, forward >> PROCESS_BITS
    s = serial & (masks(w).shape[0] - 1)
    if w[FLOODING] == 0:
        w[NEIGHBOURS] = wires(w)[p, 0]
        for i in range(1, w[NEIGHBOURS] + 1):
            w[NEIGHBOURS + i] = processes(w)[p, WIRED + i]
    while w[FLOODING] < w[NEIGHBOURS]:
        w[FLOODING] += 1
        lid = w[NEIGHBOURS + w[FLOODING]]
        q = far_end(w, lid, p)
        if links(w)[lid, IN + side_of(w, lid, q)] != OPEN:
            continue
        bit, column = bit_of(w, lid, q), column_of(w, lid, q)
        mask = masks(w)[s, column]
        if mask & bit:
            masks(w)[s, column] = mask ^ bit
            w[EXPECTED] -= 1
            slots(w)[s, LIVE] -= 1
        elif mask == 0:
            new(w, q, serial, lid)
            if w[CONTROLS]:
                return int(q)
        else:
            stop(w, DUPLICATE, q, -1)
    w[FLOODING] = 0
    w[HEAD] += 1
    w[RECEIPTS] += w[NEIGHBOURS]
    slots(w)[s, LIVE] -= 1
    return -1
