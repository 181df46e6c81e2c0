"""Copies arrive: the hot loop."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import end_of, far_end
from aforesaid.fleet.layout import DELIVERED, MARGIN, NEVER, PROCESS_BITS, TARGET_SHIFT, State
from aforesaid.fleet.lists import append, row
from aforesaid.fleet.memory import new, record
from aforesaid.fleet.queues import push_at, stop
from aforesaid.fleet.states import In, Status
from aforesaid.fleet.tables import (
    WORDS_OF_LINE,
    columns,
    events,
    fifo,
    hot,
    logs,
    masks,
    opens,
    prefetch,
    processes,
    slots,
    wired,
    wires,
)
from aforesaid.fleet.wiring import bit_of, column_of

LOW_PROCESS = (1 << PROCESS_BITS) - 1
AHEAD = 6
"""How many forwards ahead the wire row of one is fetched."""

HOT_AHEAD, LOG_AHEAD = 24, 12
"""How many first receipts ahead what they need of a process is fetched."""

MANY = 16
"""Where one in so many columns is pushed, it takes less time to look at all."""

FEW_COPIES = 256
"""With fewer forwards than one for so many columns, copies want less than half of the masks' cache lines."""


@inner
def spread(w: State, until: int) -> None:
    """Forwards of one message arrive, as many as follow one another: each is a copy at every process that its
    sender had a safe link to. This is the hot loop.

    Every copy flips its bit, and is pushed where the mask was 0. What the others expect that had it for the
    first time is put into their masks when all copies are there: nothing here waits for what a copy finds.
    """
    table, rows, queue, near = masks(w), wires(w), fifo(w)[w.pace], hot(w)
    air = w.air[w.pace]
    begin, tail, head, room = air.tail, air.tail, air.head, last_place(w)
    serial, copies, twice = queue[head & room] >> PROCESS_BITS, 0, -1
    s, acceptable = serial & (table.shape[0] - 1), room_elsewhere(w)
    if (until - head) * FEW_COPIES > w.columns_used:
        fetch_masks(w, s)
    while head < until and queue[head & room] >> PROCESS_BITS == serial:
        if tail - head + MARGIN > room + 1 or tail - begin + MARGIN > acceptable:
            stop(w, Status.ROOM, 0, 0)
            break
        p = queue[head & room] & LOW_PROCESS
        head += 1
        following = queue[(head + AHEAD) & room] & LOW_PROCESS
        prefetch(rows, following * rows.shape[1], 0)
        prefetch(rows, following * rows.shape[1], 1)
        near[p].arrived += 1
        count = int(rows[p, 0])
        copies += count
        for i in range(1, count + 1):
            packed = int(rows[p, i])
            column, bit = packed >> TARGET_SHIFT, 1 << (packed & 63)
            mask = table[s, column]
            table[s, column] = mask ^ bit
            queue[tail & room] = (serial << PROCESS_BITS) | column
            tail += mask == 0
            if mask & (DELIVERED | bit) == DELIVERED:
                twice = columns(w)[column].process
    w.expected -= copies
    w.receipts += copies
    slots(w)[s].live -= copies + head - air.head
    air.head = head
    if (tail - begin) * MANY > table.shape[1]:
        put_in_order(w, s, tail)
    first_receipts(w, s, tail)
    if w.paces > 1:
        pass_on(w, begin, air.tail)
    if twice >= 0:
        stop(w, Status.DUPLICATE, twice, slots(w)[s].said)


@inner
def room_elsewhere(w: State) -> int:
    """How many first receipts may be traced, and passed on at the other paces."""
    room = events(w).shape[0] - w.event_count
    for pace in range(w.paces):
        if pace != w.pace:
            room = min(room, fifo(w).shape[1] - w.air[pace].tail + w.air[pace].head)
    return room


@inner
def pass_on(w: State, begin: int, end: int) -> None:
    """The forwards that were pushed just now go at every pace, each for the wire row of that pace."""
    ring, room, n = fifo(w)[w.pace], last_place(w), processes(w).shape[0]
    for pace in range(w.paces):
        if pace != w.pace:
            for place in range(begin, end):
                push_at(w, pace, ring[place & room] + pace * n)
    for place in range(begin, end):
        ring[place & room] += w.pace * n


@inner
def fetch_masks(w: State, s: int) -> None:
    """Fetch the masks of a message, one after the other: its copies want them in no order."""
    for column in range(0, w.columns_used, WORDS_OF_LINE):
        prefetch(masks(w), s * masks(w).shape[1] + column, 0)


@inner
def put_in_order(w: State, s: int, end: int) -> None:
    """Push the same columns in their order: these and the next copies then find in a row what they need."""
    table, queue, room, tail, serial = (
        masks(w),
        fifo(w)[w.pace],
        last_place(w),
        w.air[w.pace].tail,
        slots(w)[s].serial,
    )
    for column in range(w.columns_used):
        queue[tail & room] = (serial << PROCESS_BITS) | column
        tail += 0 < table[s, column] < DELIVERED
    if tail != end:
        stop(w, Status.DUPLICATE, 0, slots(w)[s].said)


@inner
def first_receipts(w: State, s: int, end: int) -> None:
    """The columns that were pushed are of processes that have this slot's message for the first time: they
    expect it from their other in-links, log it, and pass it on."""
    table, near, log, queue = masks(w), hot(w), logs(w), fifo(w)[w.pace]
    room, ring = last_place(w), table.shape[0] - 1
    slot, begin, tail, expected, noted = slots(w)[s], w.air[w.pace].tail, w.air[w.pace].tail, 0, 0
    for place in range(begin, end):
        prefetch(near, queue[(place + HOT_AHEAD) & room] & LOW_PROCESS, 0)
        soon = process_at(w, min(place + LOG_AHEAD, end - 1))
        prefetch(log, soon * log.shape[1] + (near[soon].logged & ring), 0)
        q, found = process_at(w, place), table[s, queue[place & room] & LOW_PROCESS]
        if found == 0 or (found & DELIVERED and near[q].words == 1):
            stop(w, Status.DUPLICATE, q, slot.said)
            continue
        if found & DELIVERED:
            continue  # Its copies were the first in two words of its mask.
        table[s, q] ^= opens(w)[q]
        if near[q].words > 1:
            flip_further(w, s, q)
        expected += near[q].open_count
        noted += near[q].noting
        log[q, near[q].logged & ring] = slot.serial
        near[q].logged += 1
        queue[tail & room] = (slot.serial << PROCESS_BITS) | q
        tail += 1
    w.air[w.pace].tail = tail
    w.expected += expected
    w.buffered += noted
    w.deliveries += tail - begin
    slot.live += expected + (tail - begin) * w.paces
    slot.had += tail - begin
    if w.tracing:
        record_firsts(w, begin, tail, slot.said)


@inner
def flip_further(w: State, s: int, q: int) -> None:
    """The same in the further words of its mask."""
    column = columns(w)[q].following
    while column:
        masks(w)[s, column] ^= opens(w)[column]
        column = columns(w)[column].following


@inner
def last_place(w: State) -> int:
    """The last of the FIFO's ring: the compiler sees that it is positive, and so is a place up to it."""
    return int(fifo(w).shape[1] - 1) & (NEVER - 1)


@inner
def process_at(w: State, place: int) -> int:
    """Whose column stands at a place of the FIFO."""
    column, n = fifo(w)[w.pace, place & last_place(w)] & LOW_PROCESS, processes(w).shape[0]
    return int(column if column < n else columns(w)[column].process)


@inner
def record_firsts(w: State, begin: int, end: int, said: int) -> None:
    """Trace the deliveries whose forwards were pushed just now."""
    for place in range(begin, end):
        q = fifo(w)[w.pace, place & last_place(w)] & LOW_PROCESS
        if processes(w)[q].traced:
            record(w, q, said)


@inner
def spread_flood(w: State, forward: int) -> int:
    """Copies of a flooded control message arrive, up to one at the process that it is for: links may change.

    Returns that process, and goes on the next time; -1: all copies have arrived.
    """
    wire, serial = forward & LOW_PROCESS, forward >> PROCESS_BITS
    p = wire % processes(w).shape[0]
    s = serial & (masks(w).shape[0] - 1)
    if w.flooding == 0:
        w.neighbours.count = 0
        for i in range(1, wires(w)[wire, 0] + 1):
            append(w, w.neighbours, 0, int(wired(w)[wire, i]))
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
            end_of(w, lid, q).owing -= 1
        elif mask == 0:
            new(w, q, serial, lid)
            end_of(w, lid, q).owing -= 1
            if w.controls.count:
                return q
        else:
            stop(w, Status.DUPLICATE, q, -1)
    w.flooding = 0
    w.air[w.pace].head += 1
    w.receipts += w.neighbours.count
    slots(w)[s].live -= 1
    return -1
