"""The state of a fleet: a few plain arrays, so that one compiled kernel may run over all of it.

Numbers stand for names: a process is its row, a link instance its row in `link`, a message its *serial*, and
serial mod S is its *slot*. What the reference protocol keeps per message and link is one bit here:
`mask[slot, process]`, bit j = the copy from in-link j is still expected. (A process with more in-links than a
word has bits goes on N columns further.) The mask of a message that the
process has not delivered is 0, so a copy that is neither expected nor the first is seen at once.

Everything sent takes the time d(t), and t + d(t) grows: so one FIFO holds all that is under way. A *forward*
(process, message) stands for its copies on all links and is expanded when it arrives, over the `wire` row of
its sender. That row changes when the first or last frame of a link *arrives*, so it is what the sender's safe
links were when it sent. Handshake buffers are intervals of the process's delivery log.
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

DELIVERED = 1 << 62
"""In a mask: this process has delivered the message."""

BITS, WORDS_MAX = 62, 4
"""In-links that one word of a mask has room for; words that a process may need, if it has very many."""

PROCESS_BITS = 26
"""A forward in the FIFO is serial << PROCESS_BITS | process; a negative entry is a frame of its own."""

TARGET_SHIFT = 6
"""An entry of a wire row is column << TARGET_SHIFT | bit: where masks have the in-link's bit."""

# hot[process]: what a first receipt needs, one cache line.
OPEN_COUNT, NOTING, LOGGED, WORDS, OPEN_MASK = range(5)
"""Open in-links; ends that note deliveries; deliveries so far, floods included; words in use of its masks;
and from there on the bits of open in-links, word by word."""
HOT = OPEN_MASK + WORDS_MAX

WIRE = 1 + BITS * WORDS_MAX
"""Columns of a wire row: one entry for each link a process may send on, and their number."""

# Lists in a row of `process` hold their length first.
ENDS_MAX, ARCS_MAX, LENT_MAX, NAMES_MAX = 200, 120, 61, 100

(UP, INSIDE, GROUPED, OPENED, CHANCE_1, CHANCE_2, INCARNATION, TRACED) = range(8)
(PENDING, EXCHANGE, BEGUN, JOINING, SETTLED, SAFE_OUTS, CLEAN) = range(8, 15)
"""SAFE_OUTS: on how many links it sends. CLEAN: nothing that stands before this place of the delivery log is
still expected."""
ENDS = 15
"""Links with an end here, oldest first, and where each leads to."""
FREE = ENDS + 1 + 2 * ENDS_MAX
"""Arcs (peer, age) that this process may give away."""
LENT = FREE + 1 + 2 * ARCS_MAX
MEDIATORS = LENT + 1 + 2 * LENT_MAX
"""(peer, who can mediate the link to it)"""
RETAINED = MEDIATORS + 1 + 2 * NAMES_MAX
"""(partner, peer given to it, number of the timer)"""
PUT_OFF = RETAINED + 1 + 3 * NAMES_MAX
OFFER = PUT_OFF + 1 + NAMES_MAX
"""What this process offers in the exchange that it has begun: a number, a length, arcs."""
ANSWER = OFFER + 2 + 2 * LENT_MAX
"""What it is given for it."""
WIRED = ANSWER + 2 + 2 * LENT_MAX
"""The links of the entries of its wire row, in the same places."""
LOG = WIRED + WIRE
"""From here to the end of the row: a ring of the serials it delivered."""

# link[l]; columns from OUT on come in pairs, one for each end: the opener's, the other's.
(OPENER, OTHER, NUMBER, ROUTE, ROUTE_BACK, TRIES, REFS) = range(7)
(OUT, IN, BIT, LOG_OUT, LOG_FIRST, LOG_SECOND) = range(7, 19, 2)
(CLOSING, CLOSE_TRIES, HANDSHAKE_TIMER, CLOSE_TIMER, WELCOMING, PLACE) = range(19, 31, 2)
LINK = 31

NONE = 0
ASKED, BUFFERING, SAFE, CONFIRMED = 1, 2, 3, 4
FIRST, SECOND, MIRRORED, OPEN = 1, 2, 3, 4

FRAME = 4
"""Words of a frame in the FIFO: -1 - kind; source, target; the link it travels on, the link it is about; and
two numbers that its kind needs. Two numbers to a word, the latter two pairs plus 1."""

ALPHA, BETA, PI, RHO, JOIN, WELCOME, INTRODUCE, REQUEST, REPLY, SPARE, FLOOD, KINDS_COUNTED = range(12)
BUFFER, ACK, CLOSE, KEEP, FIN, RESET = range(12, 18)
COUNTED = ("α", "β", "π", "ρ", "Join", "Welcome", "Introduce", "Request", "Reply", "Spare", "Flood")
"""The kinds of control messages that count, in the order of their numbers."""

# heap[i]: a timer: when, its number, what for, and two arguments.
WHEN, ORDER, TIMER, TIMER_A, TIMER_B, HEAP = range(6)
LANES = 4
NEVER = 1 << 62
(PERIOD_TIMER, HANDSHAKE_TIMEOUT, CLOSE_TIMEOUT, RETAINED_TIMEOUT, JOIN_TIMEOUT, PEER_DOWN) = range(6)

# slot[s]
SERIAL, LIVE, HAD, OWED, SAID, FLOOD_KIND, FLOOD_LINK, MARK, SLOT = range(9)
"""LIVE: expected copies and forwards under way. HAD: deliveries; OWED: how many were inside when it was said.
SAID: its number among the broadcasts, -1 for a flood. MARK: see `handshake.mark`."""

# schedule[i]
AT, WHAT, WHO, WHOM, SCHEDULE = range(5)
SAY, ENTER, SETTLE, CRASH = range(4)

# series[bucket]
(S_EXPECTED, S_BUFFERED, S_INSIDE, S_LINKS, S_ARCS) = range(5)
"""Integrals over the bucket's time."""
S_DELIVERIES, S_RECEIPTS = range(5, 7)
S_CONTROL = 7
"""Sends, one column for each counted kind."""
SERIES = S_CONTROL + KINDS_COUNTED

# w[...]: the scalars, behind what is said of the tables.
_ = 3 * 14
(TIME, STATUS, STATUS_A, STATUS_B, SERIALS, OLDEST, HEAD, TAIL, CLOSED) = range(_, _ + 9)
(RUN_HEAD, RUN_TAIL, FREE_LINK, MARKS, HEAP_COUNT, TIMERS, PLANNED) = range(_ + 9, _ + 16)
(EXPECTED, BUFFERED, INSIDE_COUNT, LINKS_COUNT, ARCS_COUNT, RECEIPTS, SPOKEN) = range(_ + 16, _ + 23)
(LINKS_LEFT, NOTICES, CONTROLS, WORDS_USED, EVENTS, DELAY_AT, PLACES) = range(_ + 23, _ + 30)
(PERIOD, PATIENCE, TRIES_MAX, DETECTOR, BUCKET, EVICTED) = range(_ + 30, _ + 36)
(DELIVERIES, RECEIPTS_TOLD, DELIVERIES_TOLD, TRACING, FLOODING, MISSED, DUE, UNSAID) = range(_ + 36, _ + 44)
LANE_WAIT, LANE_HEAD, LANE_TAIL = _ + 44, _ + 44 + LANES, _ + 44 + 2 * LANES
TAKEN = _ + 44 + 3 * LANES
"""A row of the heap: the timer that has gone off."""
NOTICE = TAKEN + HEAP
"""Scratch, for one step of one process: what became of links, as pairs (kind, link or process);"""
CONTROL = NOTICE + 512
"""slots of flooded control messages for the process;"""
NEIGHBOURS = CONTROL + 64
"""links or neighbours, counted first;"""
INTRODUCED = NEIGHBOURS + WIRE
URN = INTRODUCED + ARCS_MAX
"""arcs it may give;"""
GIVEN = URN + 2 * ARCS_MAX
"""arcs it gives."""
SCALARS = GIVEN + 2 * ARCS_MAX

(FINE, DUPLICATE, SLOTS, DEGREE, QUEUE, LINKS_GONE, LISTS, TRACE_FULL, LOG_SHORT) = range(9)
"""Why a run stopped."""

# What became of a link.
N_UP, N_DOWN, N_DOWN_AGREED, N_FAILED, N_ASKED, N_MEDIATED, N_JOINED, N_WELCOMED = range(8)


class Tables(IntEnum):
    """The tables, in the order in which the head of `w` has their addresses, rows and columns."""

    hot = 0
    masks = 1
    """Per slot: a word for each process; then second words, and so on."""
    wires = 2
    """Per process: the number of entries, then the entries."""
    processes = 3
    links = 4
    fifo = 5
    heap = 6
    slots = 7
    series = 8
    events = 9
    """Rows (time, process, broadcast delivered; or -1 - newcomer admitted, itself if it begins again)."""
    schedule = 10
    delays = 11
    """Rows (from when, how long)."""
    lanes = 13
    """Rows like those of the heap, the same number for each lane."""
    runs = 12
    """Rows (arrival, end): all entries of the FIFO before the end arrive then."""
