"""What is due: timers in the order of their times, at the same time in the order in which they were armed.

Nearly all timers run for one of four durations, so for each of these a FIFO, a *lane*, is in order by itself;
the few others stand in a heap. A timer is never taken out before its time: whoever armed it knows by its
number whether it still holds.
"""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import (
    DUE,
    HEAP,
    HEAP_COUNT,
    LANE_HEAD,
    LANE_TAIL,
    LANE_WAIT,
    LANES,
    NEVER,
    ORDER,
    QUEUE,
    TAKEN,
    TIME,
    TIMER,
    TIMER_A,
    TIMER_B,
    TIMERS,
    WHEN,
    Int64s,
)
from aforesaid.fleet.queues import stop
from aforesaid.fleet.tables import W, heap, lanes


@inner
def arm(w: W, wait: int, kind: int, first: int, second: int) -> int:
    """A timer that goes off after a wait; returns its number."""
    number = w[TIMERS] + 1
    w[TIMERS] = number
    time = w[TIME] + wait
    for lane in range(LANES):
        if w[LANE_WAIT + lane] == wait:
            room = lanes(w).shape[0] // LANES
            tail = w[LANE_TAIL + lane]
            if tail - w[LANE_HEAD + lane] >= room:
                stop(w, QUEUE, first, second)
            row = lane * room + (tail & (room - 1))
            w[LANE_TAIL + lane] = tail + 1
            put(lanes(w), row, time, number, kind, first, second)
            return int(number)
    place = w[HEAP_COUNT]
    if place >= heap(w).shape[0]:
        stop(w, QUEUE, first, second)
        return int(number)
    w[HEAP_COUNT] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if heap(w)[parent, WHEN] <= time:
            break
        move(w, parent, place)
        place = parent
    put(heap(w), place, time, number, kind, first, second)
    return int(number)


@inner
def put(table: Int64s, row: int, time: int, number: int, kind: int, first: int, second: int) -> None:
    table[row, WHEN], table[row, ORDER], table[row, TIMER] = time, number, kind
    table[row, TIMER_A], table[row, TIMER_B] = first, second


@inner
def first_due(w: W) -> int:
    """The lane whose first timer goes off first; LANES: the heap's does; -1: there is none."""
    chosen, when, order = -1, 0, 0
    if w[HEAP_COUNT]:
        chosen, when, order = LANES, heap(w)[0, WHEN], heap(w)[0, ORDER]
    room = lanes(w).shape[0] // LANES
    for lane in range(LANES):
        head = w[LANE_HEAD + lane]
        if head < w[LANE_TAIL + lane]:
            row = lane * room + (head & (room - 1))
            time, number = lanes(w)[row, WHEN], lanes(w)[row, ORDER]
            if chosen < 0 or time < when or (time == when and number < order):
                chosen, when, order = lane, time, number
    w[DUE] = when if chosen >= 0 else NEVER
    return chosen


@inner
def take_timer(w: W, lane: int) -> None:
    """Remove the first timer of a lane, or of the heap; what it is for is in w from TAKEN on."""
    if lane < LANES:
        room = lanes(w).shape[0] // LANES
        row = lane * room + (w[LANE_HEAD + lane] & (room - 1))
        w[LANE_HEAD + lane] += 1
        for column in range(HEAP):
            w[TAKEN + column] = lanes(w)[row, column]
    else:
        for column in range(HEAP):
            w[TAKEN + column] = heap(w)[0, column]
        sift(w)


@inner
def sift(w: W) -> None:
    """Take the heap's first row away."""
    last = w[HEAP_COUNT] - 1
    w[HEAP_COUNT] = last
    place = 0
    while True:
        child = 2 * place + 1
        if child >= last:
            break
        if child + 1 < last and earlier(w, child + 1, child):
            child += 1
        if earlier(w, last, child):
            break
        move(w, child, place)
        place = child
    move(w, last, place)


@inner
def move(w: W, source: int, target: int) -> None:
    for column in range(HEAP):
        heap(w)[target, column] = heap(w)[source, column]


@inner
def earlier(w: W, one: int, other: int) -> bool:
    if heap(w)[one, WHEN] != heap(w)[other, WHEN]:
        return bool(heap(w)[one, WHEN] < heap(w)[other, WHEN])
    return bool(heap(w)[one, ORDER] < heap(w)[other, ORDER])
