"""Messages, and the memory that links have of them (reference: `prc.links`)."""

from aforesaid.fleet.compiled import inner
from aforesaid.fleet.ends import unref
from aforesaid.fleet.layout import COUNT_MAX, FLOODED, MARGIN, SLOTS_MARGIN, State
from aforesaid.fleet.lists import append
from aforesaid.fleet.queues import count_control, push, stop
from aforesaid.fleet.states import Kind, Status
from aforesaid.fleet.tables import columns, events, hot, links, logs, masks, opens, processes, slots
from aforesaid.fleet.wiring import bit_of, column_of


@inner
def new_message(w: State, said: int) -> int:
    """A serial for a message, in a slot that nobody needs any more."""
    serial = w.serials
    s = serial & (masks(w).shape[0] - 1)
    if serial >= masks(w).shape[0]:
        retire(w, s)
    w.serials = serial + 1
    slot = slots(w)[s]
    slot.serial, slot.said, slot.owed = serial, said, w.inside_count
    slot.live, slot.had, slot.flood_kind, slot.flood_link, slot.flooder = 0, 0, 0, -1, -1
    oldest = w.oldest
    while oldest < serial and slots(w)[oldest & (masks(w).shape[0] - 1)].live == 0:
        oldest += 1
    w.oldest = oldest
    if serial >= COUNT_MAX:
        stop(w, Status.FULL, 0, 0)
    if serial - w.kept + SLOTS_MARGIN > masks(w).shape[0]:
        stop(w, Status.ROOM, 0, 0)
    return serial


@inner
def retire(w: State, s: int) -> None:
    """The message in a slot must be everywhere and expected nowhere: then its row is blank again."""
    slot = slots(w)[s]
    if slot.live != 0:
        stop(w, Status.SLOTS, slot.serial, slot.live)
    if slot.said >= 0 and slot.had < slot.owed:
        w.missed += slot.owed - slot.had
    masks(w)[s, : w.columns_used] = 0
    if slot.flood_link >= 0:
        unref(w, slot.flood_link)


@inner
def new(w: State, p: int, serial: int, via: int) -> None:
    """A first receipt, or one's own (via -1): note it for the other links, pass it on, deliver it."""
    s = serial & (masks(w).shape[0] - 1)
    slot, near = slots(w)[s], hot(w)[p]
    count = near.open_count
    column = p
    for _ in range(near.words):
        masks(w)[s, column] = opens(w)[column]
        column = columns(w)[column].following
    if via >= 0:
        masks(w)[s, column_of(w, via, p)] &= ~bit_of(w, via, p)
        count -= 1
    w.expected += count
    w.buffered += near.noting
    slot.live += count + w.paces
    slot.had += 1
    logs(w)[p, near.logged & (masks(w).shape[0] - 1)] = serial
    near.logged += 1
    push(w, serial, p)
    if slot.said >= 0:
        delivered(w, p, slot.said)
    else:
        flooded(w, p, s)


@inner
def delivered(w: State, p: int, said: int) -> None:
    """Count a delivery, and trace it if asked to."""
    w.deliveries += 1
    if processes(w)[p].traced:
        record(w, p, said)


@inner
def record(w: State, p: int, what: int) -> None:
    """A row of the trace."""
    if w.event_count + MARGIN > events(w).shape[0]:
        stop(w, Status.ROOM, 0, 0)
    if w.event_count >= events(w).shape[0]:
        stop(w, Status.FULL, 0, 0)
        return
    event = events(w)[w.event_count]
    event.time, event.process, event.what = w.time, p, what
    w.event_count += 1


@inner
def flooded(w: State, p: int, s: int) -> None:
    """A flooded control message: count its copies; whom it is for takes it when this step is over."""
    count_control(w, Kind.FLOOD, processes(w)[p].safe_outs)
    if w.preventive and processes(w)[p].traced:
        record(w, p, FLOODED + slots(w)[s].flooder)
    if flood_target(w, s) == p:
        append(w, w.controls, s, 0)


@inner
def flood_target(w: State, s: int) -> int:
    kind, lid = slots(w)[s].flood_kind, slots(w)[s].flood_link
    return links(w)[lid].other if kind % 2 == 0 else links(w)[lid].opener
