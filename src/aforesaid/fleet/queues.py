"""What is under way and what is due: the FIFO, frames, timers, chance, and integrals over time."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import (
    ARCS_COUNT,
    BUCKET,
    BUFFERED,
    CHANCE_1,
    CHANCE_2,
    CLOSED,
    DELAY_AT,
    DELIVERIES,
    DELIVERIES_TOLD,
    EXPECTED,
    FINE,
    HEAD,
    INSIDE_COUNT,
    KINDS_COUNTED,
    LINKS_COUNT,
    QUEUE,
    RECEIPTS,
    RECEIPTS_TOLD,
    REFS,
    RUN_HEAD,
    RUN_TAIL,
    S_ARCS,
    S_BUFFERED,
    S_CONTROL,
    S_DELIVERIES,
    S_EXPECTED,
    S_INSIDE,
    S_LINKS,
    S_RECEIPTS,
    STATUS,
    STATUS_A,
    STATUS_B,
    TAIL,
    TIME,
)
from aforesaid.fleet.tables import W, delays, fifo, links, processes, runs, series


@inner
def stop(w: W, why: int, first: int, second: int) -> None:
    """The run cannot go on; the first reason counts."""
    if w[STATUS] == FINE:
        w[STATUS], w[STATUS_A], w[STATUS_B] = why, first, second


@inner
def push(w: W, entry: int) -> None:
    """Send a forward or a frame: it arrives one delay from now."""
    if w[TAIL] - w[HEAD] >= fifo(w).shape[1]:
        stop(w, QUEUE, 0, 0)
        return
    fifo(w)[0, w[TAIL] & (fifo(w).shape[1] - 1)] = entry
    w[TAIL] += 1


@inner
def send(
    w: W, kind: int, source: int, target: int, travels: int, about: int, first: int, second: int
) -> None:
    """Send a frame, on the link `travels`, about the link `about`; -1: none."""
    if travels >= 0:
        links(w)[travels, REFS] += 1
    if about >= 0:
        links(w)[about, REFS] += 1
    if kind < KINDS_COUNTED:
        count_control(w, kind, 1)
    push(w, -1 - kind)
    push(w, (source << 32) | target)
    push(w, ((travels + 1) << 32) | (about + 1))
    push(w, ((first + 1) << 32) | (second + 1))


@inner
def count_control(w: W, kind: int, copies: int) -> None:
    bucket = w[TIME] // w[BUCKET]
    if bucket < series(w).shape[0]:
        series(w)[bucket, S_CONTROL + kind] += copies


@inner
def close_run(w: W) -> None:
    """What was pushed at this moment arrives together."""
    if w[TAIL] == w[CLOSED]:
        return
    arrival, tail, room = w[TIME] + delay_now(w), w[RUN_TAIL], runs(w).shape[0]
    if tail > w[RUN_HEAD] and runs(w)[(tail - 1) & (room - 1), 0] == arrival:
        tail -= 1
    elif tail - w[RUN_HEAD] >= room:
        stop(w, QUEUE, -1, -1)
        return
    runs(w)[tail & (room - 1), 0], runs(w)[tail & (room - 1), 1] = arrival, w[TAIL]
    w[RUN_TAIL], w[CLOSED] = tail + 1, w[TAIL]


@inner
def delay_now(w: W) -> int:
    """How long what is sent now is under way; time only moves on, and so does the row."""
    at = w[DELAY_AT]
    for row in range(at + 1, delays(w).shape[0]):
        if delays(w)[row, 0] > w[TIME]:
            break
        at = row
    w[DELAY_AT] = at
    return int(delays(w)[at, 1])


@inner
def advance(w: W, time: int) -> None:
    """Time moves on: integrate what was held meanwhile, bucket by bucket."""
    now, width = w[TIME], w[BUCKET]
    while now < time:
        bucket = now // width
        until = min(time, (bucket + 1) * width)
        if bucket < series(w).shape[0]:
            span = until - now
            series(w)[bucket, S_EXPECTED] += w[EXPECTED] * span
            series(w)[bucket, S_BUFFERED] += w[BUFFERED] * span
            series(w)[bucket, S_INSIDE] += w[INSIDE_COUNT] * span
            series(w)[bucket, S_LINKS] += w[LINKS_COUNT] * span
            series(w)[bucket, S_ARCS] += w[ARCS_COUNT] * span
            series(w)[bucket, S_RECEIPTS] += w[RECEIPTS] - w[RECEIPTS_TOLD]
            series(w)[bucket, S_DELIVERIES] += w[DELIVERIES] - w[DELIVERIES_TOLD]
            w[RECEIPTS_TOLD], w[DELIVERIES_TOLD] = w[RECEIPTS], w[DELIVERIES]
        now = until
    w[TIME] = time


@inner
def choose(w: W, p: int, count: int) -> int:
    """A number below count, from the process's own stream (L'Ecuyer 1988: two generators combined)."""
    high = draw(w, p)
    return ((high << 31) | draw(w, p)) % count


@inner
def draw(w: W, p: int) -> int:
    """31 bits."""
    first = processes(w)[p, CHANCE_1] * 40014 % 2147483563
    second = processes(w)[p, CHANCE_2] * 40692 % 2147483399
    processes(w)[p, CHANCE_1], processes(w)[p, CHANCE_2] = first, second
    return int((first - second) % 2147483562)
