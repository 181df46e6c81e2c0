"""What is under way and what is due: the FIFO, frames, timers, chance, and integrals over time."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import FRAME, MARGIN, State
from aforesaid.fleet.states import KINDS_COUNTED, Status
from aforesaid.fleet.tables import delays, fifo, links, processes, runs, series


@inner
def stop(w: State, why: int, first: int, second: int) -> None:
    """The run cannot go on, or not until there is more room; the first reason counts, one for good most."""
    if w.status <= Status.ROOM and why > w.status:
        w.status, w.status_a, w.status_b = why, first, second


@inner
def push(w: State, entry: int) -> None:
    """Send a forward or a frame: it arrives one delay from now."""
    if w.tail - w.head + MARGIN > fifo(w).shape[0]:
        stop(w, Status.ROOM, 0, 0)
    if w.tail - w.head >= fifo(w).shape[0]:
        stop(w, Status.FULL, 0, 0)
        return
    fifo(w)[w.tail & (fifo(w).shape[0] - 1)] = entry
    w.tail += 1


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
    if w.tail - w.head + MARGIN > fifo(w).shape[0]:
        stop(w, Status.ROOM, 0, 0)
    if w.tail - w.head + FRAME > fifo(w).shape[0]:
        stop(w, Status.FULL, 0, 0)
        return
    queue, tail, room = fifo(w), w.tail, fifo(w).shape[0] - 1
    queue[tail & room] = -1 - kind
    queue[(tail + 1) & room] = pair(source, target)
    queue[(tail + 2) & room] = pair(travels + 1, about + 1)
    queue[(tail + 3) & room] = pair(first + 1, second + 1)
    w.tail = tail + FRAME


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
    """What was pushed at this moment arrives together."""
    if w.tail == w.closed:
        return
    arrival, tail, room = w.time + delay_now(w), w.run_tail, runs(w).shape[0]
    if tail > w.run_head and runs(w)[(tail - 1) & (room - 1)].arrival == arrival:
        tail -= 1
    elif tail - w.run_head + 1 >= room:
        stop(w, Status.ROOM, 0, 0)
    runs(w)[tail & (room - 1)].arrival, runs(w)[tail & (room - 1)].end = arrival, w.tail
    w.run_tail, w.closed = tail + 1, w.tail


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
