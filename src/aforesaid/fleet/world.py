"""A world to run a plan in: its tables, with room for what the plan will need."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aforesaid.core import MILLISECOND, SECOND
from aforesaid.fleet import layout
from aforesaid.fleet.layout import State
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.states import What

EVENTS_MAX = 1 << 18


class World:
    """The tables of a run; `w` is what kernels get."""

    def __init__(self, plan: Plan) -> None:
        n = plan.processes
        slots = _slots(plan)
        links = max(256, 48 * n)
        self.plan = plan
        self.masks = np.zeros((slots, layout.WORDS_MAX * n), np.int64)
        self.hot = np.zeros(n, layout.Hot.dtype)
        self.processes = np.zeros(n, layout.Process.dtype)
        self.links = np.zeros(links, layout.Link.dtype)
        self.slots = np.zeros(slots, layout.Slot.dtype)
        self.series = np.zeros(-(-plan.until // plan.bucket), layout.Bucket.dtype)
        self.events = np.zeros(EVENTS_MAX, layout.Event.dtype)
        self._state = np.zeros(1, State.dtype)
        self.w: State = self._state[0]
        self._tables: dict[str, npt.NDArray[Any]] = {
            "hot": self.hot,
            "masks": self.masks,
            "wires": np.zeros((n, layout.WIRE), np.int32),
            "logs": np.zeros((n, slots + layout.LOG_PADDING), np.int64),
            "processes": self.processes,
            "links": self.links,
            "fifo": np.zeros(_forwards(plan), np.int64),
            "heap": np.zeros(4 * n + 1024, layout.Timer.dtype),
            "lanes": np.zeros(layout.LANES * _power(_timers(plan)), layout.Timer.dtype),
            "slots": self.slots,
            "series": self.series,
            "events": self.events,
            "schedule": np.ascontiguousarray(plan.schedule),
            "delays": np.ascontiguousarray(plan.delay, np.int64).view(layout.Delay.dtype)[:, 0],
            "runs": np.zeros(_power(max(1 << 16, 2 * n)), layout.Run.dtype),
        }
        for name in layout.Tables.dtype.fields or ():
            table = self._tables[name]
            self._state["tables"][name] = (table.ctypes.data, len(table), table.size // max(1, len(table)))
        self._begin()

    @property
    def bytes(self) -> int:
        return sum(table.nbytes for table in self._tables.values())

    def _begin(self) -> None:
        plan, w = self.plan, self.w
        self.hot["words"] = 1
        self.processes["chance"] = plan.chance
        self.processes["pending"] = self.processes["joining"] = -1
        self.processes["traced"][list(range(plan.processes) if plan.traced is None else plan.traced)] = 1
        w.links_left, w.words_used = len(self.links), 1
        w.period, w.patience, w.tries_max = plan.period, plan.patience, plan.tries
        w.detector, w.bucket = plan.detector, plan.bucket
        waits = (plan.patience, plan.patience * 3 // 2, 2 * plan.patience, plan.period)
        self._state["waiting"]["wait"] = waits
        w.tracing = plan.traced is None or len(plan.traced) > 0


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
    said = plan.steps(What.SAY)["at"]
    return int((np.searchsorted(said, said + window) - np.arange(len(said))).max(initial=0))


def _timers(plan: Plan) -> int:
    """Timers of a lane that have not gone off: a handshake's and a closing's stay there until their time."""
    changes = 16 * plan.processes * plan.patience * 2 // plan.period
    return max(1 << 14, int(plan.processes * 16 + changes))


def _power(least: int) -> int:
    return 1 << (int(least) - 1).bit_length()
