"""A world to run a plan in: its arrays, with room for what the plan will need."""

import numpy as np
import numpy.typing as npt

from aforesaid.core import MILLISECOND, SECOND
from aforesaid.fleet.layout import (
    BUCKET,
    CHANCE_1,
    CHANCE_2,
    DETECTOR,
    HEAP,
    HOT,
    JOINING,
    LANE_WAIT,
    LANES,
    LINK,
    LINKS_LEFT,
    LOG,
    PATIENCE,
    PENDING,
    PERIOD,
    SAY,
    SCALARS,
    SERIES,
    SLOT,
    TRACED,
    TRACING,
    TRIES_MAX,
    WHAT,
    WIRE,
    WORDS,
    WORDS_MAX,
    WORDS_USED,
    Tables,
)
from aforesaid.fleet.plan import Plan

EVENTS_MAX = 1 << 18


class World:
    """The arrays of a run; `w` is what kernels get."""

    def __init__(self, plan: Plan) -> None:
        n = plan.processes
        slots = _slots(plan)
        links = max(256, 48 * n)
        self.plan = plan
        self.masks = np.zeros((slots, WORDS_MAX * n), np.int64)
        self.hot = np.zeros((n, HOT), np.int64)
        self.processes = np.zeros((n, LOG + slots), np.int64)
        self.links = np.zeros((links, LINK), np.int64)
        self.slots = np.zeros((slots, SLOT), np.int64)
        self.series = np.zeros((-(-plan.until // plan.bucket), SERIES), np.int64)
        self.events = np.zeros((EVENTS_MAX, 3), np.int64)
        self.w = np.zeros(SCALARS, np.int64)
        self._tables: dict[Tables, npt.NDArray[np.integer]] = {
            Tables.hot: self.hot,
            Tables.masks: self.masks,
            Tables.wires: np.zeros((n, WIRE), np.int32),
            Tables.processes: self.processes,
            Tables.links: self.links,
            Tables.fifo: np.zeros((1, _forwards(plan)), np.int64),
            Tables.heap: np.zeros((4 * n + 1024, HEAP), np.int64),
            Tables.lanes: np.zeros((LANES * _power(_timers(plan)), HEAP), np.int64),
            Tables.slots: self.slots,
            Tables.series: self.series,
            Tables.events: self.events,
            Tables.schedule: np.ascontiguousarray(plan.schedule, np.int64),
            Tables.delays: np.ascontiguousarray(plan.delay, np.int64),
            Tables.runs: np.zeros((_power(max(1 << 16, 2 * n)), 2), np.int64),
        }
        for table, array in self._tables.items():
            self.w[3 * table : 3 * table + 3] = array.ctypes.data, *array.shape
        self._begin()

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self._tables.values())

    def _begin(self) -> None:
        plan, w = self.plan, self.w
        self.hot[:, WORDS] = 1
        self.processes[:, CHANCE_1 : CHANCE_2 + 1] = plan.chance
        self.processes[:, PENDING] = self.processes[:, JOINING] = -1
        self.processes[list(range(plan.processes) if plan.traced is None else plan.traced), TRACED] = 1
        w[LINKS_LEFT], w[WORDS_USED] = len(self.links), 1
        w[PERIOD], w[PATIENCE], w[TRIES_MAX] = plan.period, plan.patience, plan.tries
        w[DETECTOR], w[BUCKET] = plan.detector, plan.bucket
        waits = (plan.patience, plan.patience * 3 // 2, 2 * plan.patience, plan.period)
        w[LANE_WAIT : LANE_WAIT + LANES] = waits
        w[TRACING] = plan.traced is None or len(plan.traced) > 0


def _slots(plan: Plan) -> int:
    """Slots for messages, and places in a delivery log: what is said while a handshake lasts, and more."""
    longest = int(plan.delay[:, 1].max())
    # With crashes a handshake may wait for its time to run out.
    window = 2 * plan.patience if plan.crashes else 12 * longest + 2 * SECOND
    return _power(max(64, _said_within(plan, window) + 64))


def _forwards(plan: Plan) -> int:
    """Words of the FIFO: each process forwards what was said while a forward is under way; and frames."""
    longest = int(plan.delay[:, 1].max())
    said = _said_within(plan, 2 * longest + MILLISECOND)
    return _power(max(1 << 15, plan.processes * (said + 16)))


def _said_within(plan: Plan, window: int) -> int:
    """How much is said at most within such a time."""
    said = plan.schedule[plan.schedule[:, WHAT] == SAY, 0]
    return int((np.searchsorted(said, said + window) - np.arange(len(said))).max(initial=0))


def _timers(plan: Plan) -> int:
    """Timers of a lane that have not gone off: a handshake's and a closing's stay there until their time."""
    changes = 16 * plan.processes * plan.patience * 2 // plan.period
    return max(1 << 14, int(plan.processes * 16 + changes))


def _power(least: int) -> int:
    return 1 << (int(least) - 1).bit_length()
