"""What is due: timers in the order of their times, at the same time in the order in which they were armed.

Nearly all timers run for one of four durations, so for each of these a FIFO, a *lane*, is in order by itself;
the few others stand in a heap. A timer is never taken out before its time: whoever armed it knows by its
number whether it still holds.
"""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.layout import COUNT_MAX, LANES, MARGIN, NEVER, State, Timer
from aforesaid.fleet.queues import stop
from aforesaid.fleet.states import Due, Status
from aforesaid.fleet.tables import heap, lanes, links, prefetch, processes

AHEAD = 4
"""How many timers ahead what one looks at is fetched."""


@inner
def arm(w: State, wait: int, due: int, first: int, second: int) -> int:
    """A timer that goes off after a wait; returns its number."""
    number = w.timers + 1
    w.timers = number
    if number >= COUNT_MAX:
        stop(w, Status.FULL, 0, 0)
    time = w.time + wait
    for lane in range(LANES):
        if w.waiting[lane].wait == wait:
            room = lanes(w).shape[0] // LANES
            tail = w.waiting[lane].tail
            if tail - w.waiting[lane].head + MARGIN > room:
                stop(w, Status.ROOM, 0, 0)
            if tail - w.waiting[lane].head >= room:
                stop(w, Status.FULL, 0, 0)
                return number
            row = lane * room + (tail & (room - 1))
            w.waiting[lane].tail = tail + 1
            put(lanes(w)[row], time, number, due, first, second)
            return number
    place = w.heap_count
    if place + MARGIN > heap(w).shape[0]:
        stop(w, Status.ROOM, 0, 0)
    if place >= heap(w).shape[0]:
        stop(w, Status.FULL, 0, 0)
        return number
    w.heap_count = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if heap(w)[parent].when <= time:
            break
        heap(w)[place] = heap(w)[parent]
        place = parent
    put(heap(w)[place], time, number, due, first, second)
    return number


@inner
def put(timer: Timer, time: int, number: int, due: int, first: int, second: int) -> None:
    timer.when, timer.order, timer.due, timer.first, timer.second = time, number, due, first, second


@inner
def first_due(w: State) -> int:
    """The lane whose first timer goes off first; LANES: the heap's does; -1: there is none."""
    chosen, when, order = -1, 0, 0
    if w.heap_count:
        chosen, when, order = LANES, heap(w)[0].when, heap(w)[0].order
    room = lanes(w).shape[0] // LANES
    for lane in range(LANES):
        head = w.waiting[lane].head
        if head < w.waiting[lane].tail:
            row = lane * room + (head & (room - 1))
            time, number = lanes(w)[row].when, lanes(w)[row].order
            if chosen < 0 or time < when or (time == when and number < order):
                chosen, when, order = lane, time, number
    w.due = when if chosen >= 0 else NEVER
    return chosen


@inner
def take_timer(w: State, lane: int) -> None:
    """Remove the first timer of a lane, or of the heap; it is in `w.taken`."""
    if lane < LANES:
        room = lanes(w).shape[0] // LANES
        row = lane * room + (w.waiting[lane].head & (room - 1))
        w.waiting[lane].head += 1
        fetch_timer(w, lane * room + ((w.waiting[lane].head + AHEAD) & (room - 1)))
        take(w, lanes(w)[row])
    else:
        take(w, heap(w)[0])
        sift(w)


@inner
def fetch_timer(w: State, row: int) -> None:
    """Fetch what a timer looks at to see whether it still holds: most do not, and have nothing else to do."""
    timer = lanes(w)[row]
    prefetch(processes(w), timer.first, 0)
    if timer.due in (Due.HANDSHAKE, Due.CLOSE):
        prefetch(links(w), timer.second, 0)
        prefetch(links(w), timer.second, 1)


@inner
def take(w: State, timer: Timer) -> None:
    put(w.taken, timer.when, timer.order, timer.due, timer.first, timer.second)


@inner
def sift(w: State) -> None:
    """Take the heap's first row away."""
    last = w.heap_count - 1
    w.heap_count = last
    place = 0
    while True:
        child = 2 * place + 1
        if child >= last:
            break
        if child + 1 < last and earlier(w, child + 1, child):
            child += 1
        if earlier(w, last, child):
            break
        heap(w)[place] = heap(w)[child]
        place = child
    heap(w)[place] = heap(w)[last]


@inner
def earlier(w: State, one: int, other: int) -> bool:
    first, second = heap(w)[one], heap(w)[other]
    return first.when < second.when or (first.when == second.when and first.order < second.order)
