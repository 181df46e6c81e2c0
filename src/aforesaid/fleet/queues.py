"""What is under way and what is due: the FIFO, frames, timers, chance, and integrals over time."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import FRAME, MARGIN, NEVER, PROCESS_BITS, State
from aforesaid.fleet.paces import SHARE_SHIFT, pace_between
from aforesaid.fleet.states import KINDS_COUNTED, Status
from aforesaid.fleet.tables import delays, fifo, links, processes, runs, series

between = inner(pace_between)


@inner
def stop(w: State, why: int, first: int, second: int) -> None:
    """The run cannot go on, or not until there is more room; the first reason counts, one for good most."""
    if w.status <= Status.ROOM and why > w.status:
        w.status, w.status_a, w.status_b = why, first, second


@inner
def pace_of(w: State, source: int, target: int) -> int:
    """At what pace goes what one process sends to another."""
    return between(w.salt, source, target, w.paces) if w.paces > 1 else 0


@inner
def wire_row(w: State, source: int, target: int) -> int:
    """The row of wires that has what the one sends to the other."""
    return pace_of(w, source, target) * processes(w).shape[0] + source


@inner
def push(w: State, serial: int, p: int) -> None:
    """Send a forward, at every pace: it arrives one delay from now."""
    for pace in range(w.paces):
        push_at(w, pace, (serial << PROCESS_BITS) | (pace * processes(w).shape[0] + p))


@inner
def push_at(w: State, pace: int, forward: int) -> None:
    air, room = w.air[pace], fifo(w).shape[1]
    if air.tail - air.head + MARGIN > room:
        stop(w, Status.ROOM, 0, 0)
    if air.tail - air.head >= room:
        stop(w, Status.FULL, 0, 0)
        return
    fifo(w)[pace, air.tail & (room - 1)] = forward
    air.tail += 1


@inner
def send(
    w: State, kind: int, source: int, target: int, travels: int, about: int, first: int, second: int
) -> None:
    """Send a frame, on the link `travels`, about the link `about`; -1: none."""
    if travels >= 0:
        links(w)[travels].refs += 1
    if about >= 0:
        links(w)[about].refs += 1
    if kind < KINDS_COUNTED:
        count_control(w, kind, 1)
    pace, room = pace_of(w, source, target), fifo(w).shape[1]
    air = w.air[pace]
    if air.tail - air.head + MARGIN > room:
        stop(w, Status.ROOM, 0, 0)
    if air.tail - air.head + FRAME > room:
        stop(w, Status.FULL, 0, 0)
        return
    ring, tail = fifo(w)[pace], air.tail
    ring[tail & (room - 1)] = -1 - kind
    ring[(tail + 1) & (room - 1)] = pair(source, target)
    ring[(tail + 2) & (room - 1)] = pair(travels + 1, about + 1)
    ring[(tail + 3) & (room - 1)] = pair(first + 1, second + 1)
    air.tail = tail + FRAME


@inner
def pair(first: int, second: int) -> int:
    """Two numbers in a word; uncompiled, they may be half words."""
    return (int(first) << 32) | int(second)


@inner
def count_control(w: State, kind: int, copies: int) -> None:
    if w.bucket_at < series(w).shape[0]:
        series(w)[w.bucket_at].control[kind] += copies


@inner
def close_run(w: State) -> None:
    """What was pushed at this moment arrives together, if at the same pace."""
    for pace in range(w.paces):
        if w.air[pace].tail != w.air[pace].closed:
            close_run_at(w, pace)


@inner
def close_run_at(w: State, pace: int) -> None:
    air, ring, room = w.air[pace], runs(w)[pace], runs(w).shape[1]
    arrival, tail = w.time + ((delay_now(w) * air.share) >> SHARE_SHIFT), air.run_tail
    if tail > air.run_head and ring[(tail - 1) & (room - 1)].arrival == arrival:
        tail -= 1
    elif tail - air.run_head + 1 >= room:
        stop(w, Status.ROOM, 0, 0)
    ring[tail & (room - 1)].arrival, ring[tail & (room - 1)].end = arrival, air.tail
    air.run_tail, air.closed = tail + 1, air.tail


@inner
def next_arrival(w: State) -> int:
    """When the next of all that is under way arrives; its pace is the current one from here on.

    Of what arrives at one moment the slower was sent first, and arrives first: so slower paces come first.
    """
    soonest = NEVER
    for pace in range(w.paces):
        air = w.air[pace]
        if air.run_head < air.run_tail:
            arrival = runs(w)[pace, air.run_head & (runs(w).shape[1] - 1)].arrival
            if arrival < soonest:
                soonest, w.pace = arrival, pace
    return soonest


@inner
def delay_now(w: State) -> int:
    """How long what is sent now is under way; time only moves on, and so does the row."""
    at = w.delay_at
    for row in range(at + 1, delays(w).shape[0]):
        if delays(w)[row].since > w.time:
            break
        at = row
    w.delay_at = at
    return delays(w)[at].delay


@inner
def advance(w: State, time: int) -> None:
    """Time moves on: integrate what was held meanwhile, bucket by bucket."""
    now = w.time
    while now < time:
        until = min(time, w.bucket_end)
        if w.bucket_at < series(w).shape[0]:
            span, bucket = until - now, series(w)[w.bucket_at]
            bucket.expected += w.expected * span
            bucket.buffered += w.buffered * span
            bucket.inside += w.inside_count * span
            bucket.links += w.links_count * span
            bucket.arcs += w.arcs_count * span
            bucket.receipts += w.receipts - w.receipts_told
            bucket.deliveries += w.deliveries - w.deliveries_told
            w.receipts_told, w.deliveries_told = w.receipts, w.deliveries
        if until == w.bucket_end:
            w.bucket_at, w.bucket_end = w.bucket_at + 1, until + w.bucket
        now = until
    w.time = time


@inner
def choose(w: State, p: int, count: int) -> int:
    """A number below count, from the process's own stream (L'Ecuyer 1988: two generators combined)."""
    high = draw(w, p)
    return ((high << 31) | draw(w, p)) % int(count)


@inner
def draw(w: State, p: int) -> int:
    """31 bits."""
    me = processes(w)[p]
    first = me.chance[0] * 40014 % 2147483563
    second = me.chance[1] * 40692 % 2147483399
    me.chance[0], me.chance[1] = first, second
    return int((first - second) % 2147483562)
