"""The state of a fleet: a few tables of records, so that one compiled kernel may run over all of it.

Every record is declared here, once, by the names of its fields; kernels read fields by these names, and mypy
knows them. What the numbers in them stand for is in `states`. Four tables are no records but plain words,
with what stands where told at `Tables`: `masks` and `logs` are as wide as the plan asks, `wires` has 32 bits
to a word, so that the links of most processes are two cache lines, and a word of `fifo` is a forward or a
part of a frame.

Numbers stand for names: a process is its row, a link instance its row in `links`, a message its *serial*, and
serial mod S is its *slot*. What the reference protocol keeps per message and link is one bit here:
`masks[slot, process]`, bit j = the copy from in-link j is still expected. (A process with more in-links than
a word has bits has further columns behind those of all.) The mask of a message that the process has not
delivered is 0, so a copy that is neither expected nor the first is seen at once.

Everything sent takes the time d(t), and t + d(t) grows: so one FIFO holds all that is under way, or one for
each of a few paces where links differ (`paces`). A *forward* (process, message) stands for its copies on
all links, of that pace, and is expanded when it arrives, over the `wires` row of its sender. That row
changes when the first or last frame of a link *arrives*, so it is what the sender's safe links were when it
sent. Handshake buffers are intervals of the process's delivery log.
"""

from typing import Annotated

from aforesaid.fleet.paces import PACES_MAX
from aforesaid.fleet.records import SHORT_MAX, Int64s, Record, Rows, Short, Tiny
from aforesaid.fleet.states import KINDS_COUNTED

DELIVERED = 1 << 62
"""In a mask: this process has delivered the message."""

BITS = 62
"""In-links that one word of a mask has room for."""

PROCESS_BITS = 26
"""A forward in a FIFO is serial << PROCESS_BITS | wire row; a negative entry is a frame of its own."""

TARGET_SHIFT = 6
"""An entry of a wire row is column << TARGET_SHIFT | bit: where masks have the in-link's bit."""

LOG_PADDING = 16
"""Columns of a log row that nobody uses. Without them, all logs would want the same lines of the cache."""

FRAME = 4
"""Words of a frame in the FIFO: -1 - kind; source, target; the link it travels on, the link it is about; and
two numbers that its kind needs. Two numbers to a word, the latter two pairs plus 1."""

COUNT_MAX = SHORT_MAX // 2
"""Timers that a run may arm, and messages: their numbers, and those of ends, stand in half words."""

LANES = 4
NEVER = 1 << 62

FLOODED = 1 << 61
"""An event's `what` from here on: a control message came that was flooded, and who flooded it."""

MARGIN = 1 << 12
"""Room that one step may need, in any table: with less, the run comes back for more (`World.make_room`)."""

SLOTS_MARGIN = 1 << 7
"""The same for slots: messages that one step may begin, floods mostly."""

COLUMNS_MARGIN = 8
"""The same for columns of the masks: further words that one step may give to processes."""

WIRES_MARGIN = 4
"""The same for the wire row of one process, and its count before it."""

FEW = 8
"""Rows that a list begins with."""

SPANS = 40
"""How often a list may double."""


class Hot(Record):
    """What copies need of a process; three of them are a cache line."""

    open_count: Short
    """Open in-links."""
    noting: Short
    """Ends that note deliveries."""
    logged: Short
    """Deliveries so far, floods included."""
    words: Short
    """Words of its masks."""
    arrived: Short
    """Forwards of this process that have arrived, floods not included; at further paces than the first in the
    rows behind those of all, where nothing else is."""


class Column(Record):
    """A column of the masks."""

    process: Short
    following: Short
    """The column with the process's next word; 0: there is none."""


class Row(Record):
    """A row of a list: a peer, and what the list says of it."""

    peer: Short
    what: Short
    more: Short


class Listed(Record):
    """A list: where in the table of rows it begins, how many rows it has, and for how many there is room."""

    at: Short
    count: Short
    room: Short


class Process(Record):
    up: Short
    inside: Short
    grouped: Short
    opened: Short
    chance: Annotated[Int64s, 2]
    incarnation: Short
    traced: Short
    pending: Short
    exchange: Short
    begun: Short
    joining: Short
    settled: Short
    safe_outs: Short
    """On how many links it sends."""
    ends: Listed
    """Peers, the links that lead to them, and how far these are (`ends.state_of`); oldest first."""
    free: Listed
    """Arcs that this process may give away: peers and ages."""
    lent: Listed
    mediators: Listed
    """Peers, and who can mediate the link to them."""
    retained: Listed
    """Peers given away, the partners they were given to, and the numbers of the timers."""
    put_off: Listed
    offer: Listed
    """Arcs that this process offers in the exchange that it has begun."""
    answer: Listed
    """Arcs that it is given for it."""


class Side(Record):
    """One end of a link: what one of the two processes knows of it. What is read most stands together."""

    out: Tiny
    into: Tiny
    closing: Tiny
    welcoming: Tiny
    close_tries: Tiny
    bit: Short
    place: Short
    owing: Short
    """Of an open in-link: how much is expected from it, less what the process has logged, and plus what has
    arrived of its sender's forwards while these took the link. So neither changes with a copy."""
    log_out: Short
    log_first: Short
    log_second: Short
    handshake_timer: Short
    close_timer: Short


class Link(Record):
    """Less than two cache lines."""

    opener: Short
    other: Short
    number: Short
    route: Short
    route_back: Short
    tries: Short
    refs: Short
    since: Short
    """The oldest message under way when it was begun: none in a buffer of its handshake is older."""
    sides: Annotated[Rows[Side], 2]
    """The opener's, the other's."""


class Timer(Record):
    when: int
    order: int
    """Its number: of those due at the same time, the one armed first goes off first."""
    due: int
    first: int
    second: int
    """What it is for, and two arguments."""


class Slot(Record):
    serial: int
    live: int
    """Expected copies and forwards under way."""
    had: int
    """Deliveries."""
    owed: int
    """How many were inside when it was said."""
    said: int
    """Its number among the broadcasts, -1 for a flood."""
    flood_kind: int
    flood_link: int
    flooder: int
    """Whose flood: its incarnation << PROCESS_BITS | its number."""


class Step(Record):
    """What is planned."""

    at: int
    what: int
    who: int
    whom: int


class Bucket(Record):
    """Integrals over a bucket of time; deliveries, receipts and sends of each counted kind in it."""

    expected: int
    buffered: int
    inside: int
    links: int
    arcs: int
    deliveries: int
    receipts: int
    control: Annotated[Int64s, KINDS_COUNTED]


class Event(Record):
    time: int
    process: int
    what: int
    """The broadcast delivered; or -1 - newcomer admitted, itself if it begins again; or `FLOODED` + flooder,
    told of preventive broadcast only, which counts floods, too."""


class Delay(Record):
    since: int
    delay: int


class Run(Record):
    """All entries of a FIFO before the end arrive then."""

    arrival: int
    end: int


class Air(Record):
    """What is under way at one pace: its FIFO, from head to tail, and its runs."""

    head: int
    tail: int
    closed: int
    run_head: int
    run_tail: int
    share: int
    """Of the plan's delay (`paces`)."""


class Lane(Record):
    """Timers that all run for the same time."""

    wait: int
    head: int
    tail: int


class Table(Record):
    """Where a table is."""

    address: int
    rows: int
    columns: int


class Tables(Record):
    """The tables; a table of records has one column."""

    hot: Table
    masks: Table
    """Per slot: a word for each process; then further words of those that need them."""
    columns: Table
    opens: Table
    """In the places of a slot's masks: `DELIVERED` and the bits of the open in-links; 0 where not in use."""
    wires: Table
    """Per pace and process: the number of entries, then the entries, one for each link that it sends on."""
    wired: Table
    """The links of the entries of the wire rows, in the same places."""
    logs: Table
    """Per process: a ring of the serials it delivered, with as many places as there are slots."""
    processes: Table
    rows: Table
    """The rows of all lists."""
    links: Table
    fifo: Table
    """Per pace, a ring of forwards and frames (`PROCESS_BITS`, `FRAME`)."""
    heap: Table
    lanes: Table
    """Rows like those of the heap, the same number for each lane."""
    slots: Table
    marks: Table
    """Per slot, in half words: see `handshake.mark`."""
    series: Table
    events: Table
    schedule: Table
    delays: Table
    runs: Table
    """Per pace."""


class State(Record):
    """What a kernel gets: where the tables are, and the scalars."""

    tables: Tables
    time: int
    status: int
    status_a: int
    status_b: int
    serials: int
    oldest: int
    kept: int
    """No message older than this serial is needed by anyone."""
    pace: int
    """At which arrives what arrives now."""
    paces: int
    salt: int
    air: Annotated[Rows[Air], PACES_MAX]
    free_link: int
    marks: int
    heap_count: int
    timers: int
    planned: int
    expected: int
    buffered: int
    inside_count: int
    links_count: int
    arcs_count: int
    lost_of_old: int
    """Of the arcs lost last, how many were not new."""
    receipts: int
    spoken: int
    links_left: int
    columns_used: int
    event_count: int
    delay_at: int
    places: int
    period: int
    patience: int
    tries_max: int
    partner_uniform: int
    routes_stay: int
    preventive: int
    detector: int
    bucket: int
    bucket_at: int
    bucket_end: int
    """The bucket that the time is in: no division for a frame."""
    evicted: int
    deliveries: int
    receipts_told: int
    deliveries_told: int
    tracing: int
    flooding: int
    missed: int
    due: int
    unsaid: int
    waiting: Annotated[Rows[Lane], LANES]
    taken: Timer
    """The timer that has gone off."""
    blank: Link
    """A link row as nobody has used it."""
    rows_used: int
    spare: Annotated[Int64s, SPANS]
    """By size, where rows lie that no list has any more, plus 1; the first of them says where others lie."""
    # Scratch, for one step of one process.
    notices: Listed
    """What became of links: `peer` is the link or process, `what` the news."""
    controls: Listed
    """Slots of flooded control messages for the process."""
    neighbours: Listed
    """Links that a flood is passed on over."""
    introduced: Listed
    urn: Listed
    """Arcs it may give."""
    given: Listed
    """Arcs it gives."""
