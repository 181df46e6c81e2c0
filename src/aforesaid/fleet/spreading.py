"""Copies arrive: the hot loop."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import end_of, far_end
from aforesaid.fleet.layout import DELIVERED, MARGIN, PROCESS_BITS, TARGET_SHIFT, State
from aforesaid.fleet.lists import append, row
from aforesaid.fleet.memory import new, record
from aforesaid.fleet.queues import stop
from aforesaid.fleet.states import In, Status
from aforesaid.fleet.tables import events, fifo, hot, logs, masks, prefetch, processes, slots, wired, wires
from aforesaid.fleet.wiring import bit_of, column_of

LOW_PROCESS = (1 << PROCESS_BITS) - 1
AHEAD = 6
"""How many forwards ahead the wire row of one is fetched."""


@inner
def spread(w: State, until: int) -> None:
    """Forwards arrive, as many as follow one another: each is a copy at every process that its sender had a
    safe link to. This is the hot loop."""
    table, rows, near, log, queue = masks(w), wires(w), hot(w), logs(w), fifo(w)
    head, tail, room = w.head, w.tail, queue.shape[0] - 1
    slots_less_1, n = table.shape[0] - 1, near.shape[0]
    while head < until:
        forward = queue[head & room]
        if forward < 0:
            break
        p, serial = forward & LOW_PROCESS, forward >> PROCESS_BITS
        s = serial & slots_less_1
        if slots(w)[s].said < 0:
            break
        if tail - head + MARGIN > room + 1 or w.event_count + MARGIN > events(w).shape[0]:
            stop(w, Status.ROOM, 0, 0)
            break
        head += 1
        following = queue[(head + AHEAD) & room]
        if following >= 0:
            prefetch(rows, (following & LOW_PROCESS) * rows.shape[1], 0)
            prefetch(rows, (following & LOW_PROCESS) * rows.shape[1], 1)
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
                table[s, q] = DELIVERED | near[q].open_mask[0]
                for word in range(1, near[q].words):
                    table[s, q + word * n] = DELIVERED | near[q].open_mask[word]
                table[s, column] &= ~bit
                expected += near[q].open_count
                noted += near[q].noting
                at = near[q].logged
                log[q, at & slots_less_1] = serial
                near[q].logged = at + 1
                queue[tail & room] = (serial << PROCESS_BITS) | q
                tail += 1
            else:
                twice = column % n
        # A first receipt expects one copy less than there are links, any other frees one: so all free one.
        firsts = tail - begin
        w.expected += expected - count
        w.buffered += noted
        w.receipts += count
        w.deliveries += firsts
        slots(w)[s].live += expected - count + firsts - 1
        slots(w)[s].had += firsts
        if w.tracing:
            record_firsts(w, begin, tail, slots(w)[s].said)
        if twice >= 0:
            stop(w, Status.DUPLICATE, twice, slots(w)[s].said)
            break
    w.head, w.tail = head, tail


@inner
def record_firsts(w: State, begin: int, end: int, said: int) -> None:
    """Trace the deliveries whose forwards were pushed just now."""
    for place in range(begin, end):
        q = fifo(w)[place & (fifo(w).shape[0] - 1)] & LOW_PROCESS
        if processes(w)[q].traced:
            record(w, q, said)


@inner
def spread_flood(w: State, forward: int) -> int:
    """Copies of a flooded control message arrive, up to one at the process that it is for: links may change.

    Returns that process, and goes on the next time; -1: all copies have arrived.
    """
    p, serial = forward & LOW_PROCESS, forward >> PROCESS_BITS
    s = serial & (masks(w).shape[0] - 1)
    if w.flooding == 0:
        w.neighbours.count = 0
        for i in range(1, wires(w)[p, 0] + 1):
            append(w, w.neighbours, 0, int(wired(w)[p, i]))
    while w.flooding < w.neighbours.count:
        lid = row(w, w.neighbours, w.flooding).what
        w.flooding += 1
        q = far_end(w, lid, p)
        if end_of(w, lid, q).into != In.OPEN:
            continue
        bit, column = bit_of(w, lid, q), column_of(w, lid, q)
        mask = masks(w)[s, column]
        if mask & bit:
            masks(w)[s, column] = mask ^ bit
            w.expected -= 1
            slots(w)[s].live -= 1
        elif mask == 0:
            new(w, q, serial, lid)
            if w.controls.count:
                return q
        else:
            stop(w, Status.DUPLICATE, q, -1)
    w.flooding = 0
    w.head += 1
    w.receipts += w.neighbours.count
    slots(w)[s].live -= 1
    return -1
