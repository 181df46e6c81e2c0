"""A world to run a plan in: its tables, with room for what the plan will likely need, or more if it does."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aforesaid.core import MILLISECOND, SECOND
from aforesaid.fleet import layout, paces
from aforesaid.fleet.errors import FleetFull
from aforesaid.fleet.layout import (
    COLUMNS_MARGIN,
    DELIVERED,
    LANES,
    MARGIN,
    SLOTS_MARGIN,
    WIRES_MARGIN,
    State,
)
from aforesaid.fleet.plan import COLUMNS_MAX, Plan
from aforesaid.fleet.states import In, Out, What
from aforesaid.fleet.tables import LINE, WORDS_OF_LINE

EVENTS_MAX = 1 << 18

WIRES, WIRES_FEW = 48, 16
"""Words of a wire row to begin with: three cache lines, or one if a process has rows for many paces."""

FURTHER = 64
"""Columns for further words of masks to begin with, or one for so many processes."""

Table = npt.NDArray[Any]


class World:
    """The tables of a run; `w` is what kernels get."""

    def __init__(self, plan: Plan) -> None:
        n, rows = plan.processes, len(plan.paces) * plan.processes
        slots, columns = _slots(plan), _columns(n, max(FURTHER, n // FURTHER))
        self.plan = plan
        self._state = np.zeros(1, State.dtype)
        self.w: State = self._state[0]
        self.tables: dict[str, Table] = {
            "hot": _zeros(rows, layout.Hot.dtype),
            "masks": _zeros((slots, columns), np.int64),
            "columns": _zeros(columns, layout.Column.dtype),
            "opens": _zeros(columns, np.int64),
            "wires": _zeros((rows, WIRES if rows == n else WIRES_FEW), np.uint32),
            "wired": _zeros((rows, WIRES if rows == n else WIRES_FEW), np.int32),
            "logs": _zeros((n, slots + layout.LOG_PADDING), np.int32),
            "processes": _zeros(n, layout.Process.dtype),
            "rows": _zeros(64 * n + 2 * MARGIN, layout.Row.dtype),
            "links": _zeros(16 * n + 2 * MARGIN, layout.Link.dtype),
            "fifo": _zeros((rows // n, _forwards(plan)), np.int64),
            "heap": _zeros(n + 2 * MARGIN, layout.Timer.dtype),
            "lanes": _zeros(LANES * _power(2 * MARGIN + n), layout.Timer.dtype),
            "slots": _zeros(slots, layout.Slot.dtype),
            "marks": _zeros(slots, np.int32),
            "series": _zeros(-(-plan.until // plan.bucket), layout.Bucket.dtype),
            "events": _zeros(EVENTS_MAX, layout.Event.dtype),
            "schedule": np.ascontiguousarray(plan.schedule),
            "delays": np.ascontiguousarray(plan.delay, np.int64).view(layout.Delay.dtype)[:, 0],
            "runs": _zeros((rows // n, _power(max(1 << 12, n))), layout.Run.dtype),
        }
        self._begin()

    def __getattr__(self, name: str) -> Table:
        """A table, by its name."""
        try:
            return self.__dict__["tables"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def bytes(self) -> int:
        return sum(table.nbytes for table in self.tables.values())

    def _begin(self) -> None:
        plan, w = self.plan, self.w
        self.hot["words"], self.opens[: plan.processes] = 1, DELIVERED
        self.columns["process"][: plan.processes] = np.arange(plan.processes)
        self.processes["chance"] = plan.chance
        self.processes["pending"] = self.processes["joining"] = -1
        self.processes["traced"][list(range(plan.processes) if plan.traced is None else plan.traced)] = 1
        w.links_left, w.columns_used = len(self.links), plan.processes
        w.period, w.patience, w.tries_max = plan.period, plan.patience, plan.tries
        w.paces, w.salt = len(plan.paces), plan.seed & paces.LOW
        self._state["air"]["share"][0, : w.paces] = plan.paces
        w.partner_uniform, w.routes_stay = plan.partner_uniform, plan.routes_stay
        w.preventive = plan.preventive
        w.detector, w.bucket, w.bucket_end = plan.detector, plan.bucket, plan.bucket
        waits = (plan.patience, plan.patience * 3 // 2, 2 * plan.patience, plan.period)
        self._state["waiting"]["wait"] = waits
        w.tracing = plan.traced is None or len(plan.traced) > 0
        self._point()

    def _point(self) -> None:
        """Tell the kernel where the tables are."""
        for name, table in self.tables.items():
            columns = table.size // max(1, len(table))
            self._state["tables"][name] = (table.ctypes.data, len(table), columns)

    def make_room(self) -> None:
        """Between two steps: whatever table could run short in the next one becomes larger."""
        w = self.w
        air = self._state["air"][0, : w.paces]
        if (air["tail"] - air["head"] + MARGIN > self.fifo.shape[1]).any():
            self.tables["fifo"] = _all_turned(self.fifo, air["head"], air["tail"])
        if (air["run_tail"] - air["run_head"] + 2 > self.runs.shape[1]).any():
            self.tables["runs"] = _all_turned(self.runs, air["run_head"], air["run_tail"])
        if w.heap_count + MARGIN > len(self.heap):
            self.tables["heap"] = _longer(self.heap)
        if w.rows_used + 2 * MARGIN > len(self.rows):
            self.tables["rows"] = _longer(self.rows)
        if w.links_left < MARGIN:
            w.links_left += len(self.links)
            self.tables["links"] = _longer(self.links)
        if (self.wires[:, 0] + WIRES_MARGIN >= self.wires.shape[1]).any():
            for name in ("wires", "wired"):
                self.tables[name] = _wider(self.tables[name], self.wires.shape[1])
        self._lengthen_lanes()
        self._widen_masks()
        self._add_slots()
        self._point()

    def _lengthen_lanes(self) -> None:
        waiting, lanes = self._state["waiting"][0], self.lanes.reshape(LANES, -1)
        if (waiting["tail"] - waiting["head"] + MARGIN > lanes.shape[1]).any():
            self.tables["lanes"] = _all_turned(lanes, waiting["head"], waiting["tail"]).reshape(-1)

    def _widen_masks(self) -> None:
        """Twice the room for further words, if the processes with many links have used most of it."""
        n, room = self.plan.processes, self.masks.shape[1]
        if self.w.columns_used + COLUMNS_MARGIN > room:
            more = _columns(n, 2 * (room - n)) - room
            if room + more > COLUMNS_MAX:
                raise FleetFull(f"processes have too many links for their masks (seed {self.plan.seed})")
            self.tables["masks"] = _wider(self.masks, more)
            for name in ("opens", "columns"):
                self.tables[name] = _wider(self.tables[name][None], more)[0]

    def _add_slots(self) -> None:
        """Twice the slots, and places in logs, if messages that are needed still take up most of them.

        Needed are those under way or expected, and those in the buffers of handshakes.
        """
        w = self.w
        if w.serials - w.kept + SLOTS_MARGIN <= len(self.slots):
            return
        out, into = (self.links["sides"][end] for end in ("out", "into"))
        noting = (out == Out.BUFFERING) | (out == Out.SAFE) | ((into != In.NONE) & (into != In.OPEN))
        since = self.links["since"][noting.any(1) & (self.links["number"] > 0)]
        w.kept = min(int(w.oldest), int(since.min(initial=w.serials)))
        if w.serials - w.kept + 2 * SLOTS_MARGIN <= len(self.slots):
            return
        count, first = len(self.slots), max(0, int(w.serials) - len(self.slots))
        for name in ("slots", "masks", "marks"):
            self.tables[name] = _turned(self.tables[name], first, int(w.serials))
        logs = _zeros((len(self.logs), 2 * count + layout.LOG_PADDING), np.int32)
        for log, old, logged in zip(logs, self.logs, self.hot["logged"][: len(logs)], strict=True):
            log[: 2 * count] = _turned(old[:count], max(0, logged - count), logged)
        self.tables["logs"] = logs


def _zeros(shape: int | tuple[int, ...], dtype: Any) -> Table:
    """A table that begins with a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + LINE, np.uint8)
    begin = -raw.ctypes.data % LINE
    table: Table = raw[begin : begin + size].view(dtype).reshape(shape)
    return table


def _longer(table: Table) -> Table:
    longer = _zeros((2 * len(table), *table.shape[1:]), table.dtype)
    longer[: len(table)] = table
    return longer


def _wider(table: Table, by: int) -> Table:
    wider = _zeros((len(table), table.shape[1] + by), table.dtype)
    wider[:, : table.shape[1]] = table
    return wider


def _turned(ring: Table, first: int, end: int) -> Table:
    """A ring of twice the length, with what the old one has from a place on up to another."""
    longer, places = _zeros((2 * len(ring), *ring.shape[1:]), ring.dtype), np.arange(first, end)
    longer[places & (len(longer) - 1)] = ring[places & (len(ring) - 1)]
    return longer


def _all_turned(rings: Table, firsts: Table, ends: Table) -> Table:
    """The same for each row of a table."""
    longer = _zeros((len(rings), 2 * rings.shape[1]), rings.dtype)
    for row, (ring, first, end) in enumerate(zip(rings, firsts, ends, strict=True)):
        longer[row] = _turned(ring, first, end)
    return longer


def _columns(processes: int, further: int) -> int:
    """Columns of the masks, or a few more: an odd number of cache lines, so that a process's masks do not
    all want the same place in the cache."""
    return (-(-(processes + further) // WORDS_OF_LINE) | 1) * WORDS_OF_LINE


def _slots(plan: Plan) -> int:
    """Slots for messages, and places in a delivery log: what is said while a handshake lasts, and more."""
    window = 12 * plan.slowest + 2 * SECOND
    if plan.crashes:
        window = max(window, 2 * plan.patience)  # A handshake may wait for its time to run out.
    return _power(_said_within(plan, window) + 2 * SLOTS_MARGIN)


def _forwards(plan: Plan) -> int:
    """Words of the FIFO: each process forwards what was said while a forward is under way; and frames."""
    said = _said_within(plan, 2 * plan.slowest + MILLISECOND)
    return _power(max(1 << 15, plan.processes * (said + 16)))


def _said_within(plan: Plan, window: int) -> int:
    """How much is said at most within such a time."""
    said = plan.steps(What.SAY)["at"]
    return int((np.searchsorted(said, said + window) - np.arange(len(said))).max(initial=0))


def _power(least: int) -> int:
    return 1 << (int(least) - 1).bit_length()
