"""The loop: what is planned, what is due and what arrives, in the order of time."""

from collections.abc import Callable

from aforesaid.fleet.arrivals import arrive, expire, take_controls
from aforesaid.fleet.compiled import entry, inner
from aforesaid.fleet.ends import alone
from aforesaid.fleet.layout import NEVER, PROCESS_BITS, State
from aforesaid.fleet.membership import begin_again, crash, join
from aforesaid.fleet.memory import new, new_message
from aforesaid.fleet.notices import heed
from aforesaid.fleet.queues import advance, close_run, next_arrival
from aforesaid.fleet.spray import arm_first
from aforesaid.fleet.spreading import spread, spread_flood
from aforesaid.fleet.states import Status, What
from aforesaid.fleet.tables import fifo, masks, processes, runs, schedule, slots
from aforesaid.fleet.timers import first_due, take_timer


@inner
def follow_up(w: State, p: int) -> None:
    """After each step: what was flooded to the process, is it alone, and what became of links?"""
    take_controls(w, p)
    if alone(w, p):
        begin_again(w, p)
    heed(w, p)


@inner
def say(w: State, p: int) -> None:
    """A process broadcasts; one that is down, or not inside, has nobody to say it to."""
    said = w.spoken
    w.spoken = said + 1
    if processes(w)[p].inside:
        new(w, p, new_message(w, said), -1)
    else:
        w.unsaid += 1


@inner
def plan(w: State, what: int, p: int, contact: int) -> int:
    """What the schedule has in store. Returns -1: nothing of it is to be followed up."""
    if what == What.SAY:
        say(w, p)
    elif what == What.ENTER:
        processes(w)[p].up = 1
        if contact >= 0:
            join(w, p, contact)
        else:
            processes(w)[p].inside = 1
            w.inside_count += 1
            arm_first(w, p)
    elif what == What.SETTLE:
        for q in range(processes(w).shape[0]):
            processes(w)[q].settled = 1
    elif what == What.CRASH:
        crash(w, p)
    return -1


@inner
def receive(w: State, until: int) -> int:
    """Forwards up to the next frame, or that frame. Returns where something is to be followed up, or -1."""
    entry = fifo(w)[w.pace, w.air[w.pace].head & (fifo(w).shape[1] - 1)]
    if entry < 0:
        w.air[w.pace].head += 1
        return arrive(w, -1 - entry)
    if slots(w)[(entry >> PROCESS_BITS) & (masks(w).shape[0] - 1)].said < 0:
        return spread_flood(w, entry)
    spread(w, until)
    return -1


@inner
def step(w: State, until: int) -> None:
    """What comes first: what is planned, what is due, or what arrives."""
    arrival, planned = next_arrival(w), NEVER
    lane = first_due(w)
    if w.planned < schedule(w).shape[0]:
        planned = schedule(w)[w.planned].at
    time = min(arrival, w.due, planned)
    if time >= until:
        advance(w, until)
        return
    advance(w, time)
    if planned == time:
        row = w.planned
        w.planned += 1
        p = plan(w, schedule(w)[row].what, schedule(w)[row].who, schedule(w)[row].whom)
    elif w.due == time:
        take_timer(w, lane)
        p = expire(w, w.taken.due, w.taken.order, w.taken.first, w.taken.second)
    else:
        arrivals(w)
        p = -1
    if p >= 0:
        follow_up(w, p)
    close_run(w)


@inner
def arrivals(w: State) -> None:
    """All that arrives at this moment, at one pace. What was planned or due then has gone first, and nothing
    that arrives makes anything due at once: every wait takes time. Without a delay, what it sends arrives
    behind it."""
    air = w.air[w.pace]
    end = runs(w)[w.pace, air.run_head & (runs(w).shape[1] - 1)].end
    while air.head < end and w.status == Status.FINE:
        p = receive(w, end)
        if p >= 0:
            follow_up(w, p)
    if air.head == end:
        air.run_head += 1


def _run(sources: str) -> Callable[[State, int], None]:
    def run(w: State, until: int) -> None:
        """Run until a time, or until something stops it; `w.status` says what."""
        while sources and w.status == Status.FINE and w.time < until:
            step(w, until)

    return run


run = entry(_run)
