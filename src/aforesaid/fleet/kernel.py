"""The loop: what is planned, what is due and what arrives, in the order of time."""

from collections.abc import Callable

from aforesaid.fleet.arrivals import arrive, expire, take_controls
from aforesaid.fleet.compiled import entry, inner
from aforesaid.fleet.ends import alone
from aforesaid.fleet.layout import (
    AT,
    CRASH,
    DUE,
    ENTER,
    EVENTS,
    FINE,
    HEAD,
    INSIDE,
    INSIDE_COUNT,
    NEVER,
    ORDER,
    PLANNED,
    PROCESS_BITS,
    QUEUE,
    RUN_HEAD,
    RUN_TAIL,
    SAID,
    SAY,
    SETTLE,
    SETTLED,
    SPOKEN,
    STATUS,
    TAIL,
    TAKEN,
    TIME,
    TIMER,
    TIMER_A,
    TIMER_B,
    TRACE_FULL,
    UNSAID,
    UP,
    WHAT,
    WHO,
    WHOM,
)
from aforesaid.fleet.membership import begin_again, crash, join
from aforesaid.fleet.memory import new, new_message
from aforesaid.fleet.notices import heed
from aforesaid.fleet.queues import advance, close_run, stop
from aforesaid.fleet.spray import arm_first
from aforesaid.fleet.spreading import MARGIN, spread, spread_flood
from aforesaid.fleet.tables import W, events, fifo, masks, processes, runs, schedule, slots
from aforesaid.fleet.timers import first_due, take_timer


@inner
def follow_up(w: W, p: int) -> None:
    """After each step: what was flooded to the process, is it alone, and what became of links?"""
    take_controls(w, p)
    if alone(w, p):
        begin_again(w, p)
    heed(w, p)


@inner
def say(w: W, p: int) -> None:
    """A process broadcasts; one that is down, or not inside, has nobody to say it to."""
    said = w[SPOKEN]
    w[SPOKEN] = said + 1
    if processes(w)[p, INSIDE]:
        new(w, p, new_message(w, said), -1)
    else:
        w[UNSAID] += 1


@inner
def plan(w: W, what: int, p: int, contact: int) -> int:
    """What the schedule has in store. Returns -1: nothing of it is to be followed up."""
    if what == SAY:
        say(w, p)
    elif what == ENTER:
        processes(w)[p, UP] = 1
        if contact >= 0:
            join(w, p, contact)
        else:
            processes(w)[p, INSIDE] = 1
            w[INSIDE_COUNT] += 1
            arm_first(w, p)
    elif what == SETTLE:
        processes(w)[:, SETTLED] = 1
    elif what == CRASH:
        crash(w, p)
    return -1


@inner
def receive(w: W, until: int) -> int:
    """Forwards up to the next frame, or that frame. Returns where something is to be followed up, or -1."""
    entry = fifo(w)[0, w[HEAD] & (fifo(w).shape[1] - 1)]
    if entry < 0:
        w[HEAD] += 1
        return arrive(w, -1 - entry)
    if slots(w)[(entry >> PROCESS_BITS) & (masks(w).shape[0] - 1), SAID] < 0:
        return spread_flood(w, entry)
    spread(w, until)
    return -1


@inner
def has_room(w: W) -> bool:
    """Whether there is room for one more step; else the run stops, for good or until the trace is read."""
    if w[TAIL] - w[HEAD] + MARGIN > fifo(w).shape[1]:
        stop(w, QUEUE, 0, 0)
    elif w[EVENTS] + MARGIN > events(w).shape[0]:
        stop(w, TRACE_FULL, 0, 0)
    return bool(w[STATUS] == FINE)


@inner
def step(w: W, until: int) -> None:
    """What comes first: what is planned, what is due, or what arrives."""
    arrival, planned = NEVER, NEVER
    if w[RUN_HEAD] < w[RUN_TAIL]:
        arrival = runs(w)[w[RUN_HEAD] & (runs(w).shape[0] - 1), 0]
    lane = first_due(w)
    if w[PLANNED] < schedule(w).shape[0]:
        planned = schedule(w)[w[PLANNED], AT]
    time = min(arrival, w[DUE], planned)
    if time >= until:
        advance(w, until)
        return
    advance(w, time)
    if planned == time:
        row = w[PLANNED]
        w[PLANNED] += 1
        p = plan(w, schedule(w)[row, WHAT], schedule(w)[row, WHO], schedule(w)[row, WHOM])
    elif w[DUE] == time:
        take_timer(w, lane)
        p = expire(w, w[TAKEN + TIMER], w[TAKEN + ORDER], w[TAKEN + TIMER_A], w[TAKEN + TIMER_B])
    else:
        end = runs(w)[w[RUN_HEAD] & (runs(w).shape[0] - 1), 1]
        p = receive(w, end)
        if w[HEAD] == end:
            w[RUN_HEAD] += 1
    if p >= 0:
        follow_up(w, p)
    close_run(w)


def _run(sources: str) -> Callable[[W, int], None]:
    def run(w: W, until: int) -> None:
        """Run until a time, or until something stops it; `w[STATUS]` says what."""
        while sources and w[STATUS] == FINE and w[TIME] < until:
            if has_room(w):
                step(w, until)

    return run


run = entry(_run)
