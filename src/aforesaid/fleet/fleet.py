"""A fleet: very many processes of PRC-broadcast on the overlay that Spray samples, in one compiled kernel.

It does what `Living(PRC, Spray)` does in the simulator, both ways and with α routed, message for message; or,
if a plan says so, what `Living(PreventiveBothWays, Spray)` does: `tests/differential` runs them against each
other. What the kernel does not know: loss and duplication of
frames, connections that break, pauses, partitions; and all links have the same delay at the same time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aforesaid.core import Misuse
from aforesaid.fleet.compiled import compiled_once
from aforesaid.fleet.errors import FleetBroken, FleetFull
from aforesaid.fleet.kernel import run
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.records import Records
from aforesaid.fleet.states import COUNTED, Out, Status
from aforesaid.fleet.world import World
from aforesaid.sim.connected import strongly_connected

SLICES = 200
"""How often a run comes back to tell of its progress."""

BROKEN = (Status.DUPLICATE, Status.LACKING)
"""Stops that only an error of ours explains."""

Progress = Callable[[int, int, int], None]
"""Called now and then with the virtual time, the receipts and the deliveries so far."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """Means over each bucket of time, per process inside; rates per second."""

    time_s: Floats
    """The middle of each bucket."""
    inside: Floats
    expected: Floats
    buffered: Floats
    links: Floats
    """Safe out-links; as many are in-links."""
    arcs: Floats
    control: dict[str, Floats]
    """Control messages sent per process and second, by kind."""
    deliveries: Floats
    receipts: Floats

    @property
    def space(self) -> Floats:
        """Local space as the paper counts it: expected entries and handshake buffers. Preventive broadcast
        expects nothing, and has counters besides, which `vectors` has."""
        return self.expected + self.buffered

    @property
    def control_all(self) -> Floats:
        return np.asarray(np.sum(list(self.control.values()), axis=0))


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    plan: Plan
    series: Series
    broadcasts: int
    unsaid: int
    """Broadcasts planned for processes that were down, or not inside."""
    deliveries: int
    receipts: int
    held: int
    """Entries still held at the end: 0 once everything has come to rest."""
    missed: int
    """Deliveries owed and not made. 0 at rest, unless processes crash or the overlay falls apart."""
    evicted: int
    """Processes that were isolated and began again."""
    connected: bool
    """Whether everyone who was up at the end was inside and could reach everyone else."""
    control: dict[str, int]
    cpu_seconds: float
    """In the kernel, without compiling it."""
    bytes: int


def simulate_fleet(
    plan: Plan, progress: Progress | None = None, events: Callable[[Records], None] | None = None
) -> Outcome:
    """Run a plan to its end. `events` gets the traced rows, chunk by chunk; without it nothing is traced."""
    plan.validate()
    world = World(plan if events else replace(plan, traced=()))
    with compiled_once(run):
        run(world.w, 0)
    began = time.process_time()
    for number in range(1, SLICES + 1):
        run_until(world, plan.until * number // SLICES, events)
        if progress:
            progress(int(world.w.time), int(world.w.receipts), int(world.w.deliveries))
    spent = time.process_time() - began
    return _outcome(world, spent)


def run_until(world: World, until: int, events: Callable[[Records], None] | None = None) -> None:
    """Run to a time; where a table has little room left, it gets more, and the run goes on."""
    w = world.w
    while True:
        run(w, until)
        if events and w.event_count:
            events(world.events[: w.event_count])
        w.event_count = 0
        if w.status > Status.ROOM:
            raise (FleetBroken if w.status in BROKEN else FleetFull)(_reason(world))
        if w.status == Status.FINE:
            return
        world.make_room()
        w.status = Status.FINE


def _reason(world: World) -> str:
    w = world.w
    first, second = int(w.status_a), int(w.status_b)
    why = {
        Status.DUPLICATE: f"p{first} received message {second} where it was not expected: "
        "exactly once is broken",
        Status.LACKING: f"the memory of a link of p{first} lacks {second} of what is expected from it",
        Status.SLOTS: f"message {first} is still expected {second} times when its slot is needed again",
        Status.FULL: "one step needed more room than a table may have",
        Status.LOG_SHORT: f"a handshake of p{first} lasted longer than its delivery log",
    }[Status(w.status)]
    return f"the fleet stopped at {w.time / 1e9:.3f} s: {why} (seed {world.plan.seed})"


def _outcome(world: World, spent: float) -> Outcome:
    w, slots = world.w, world.slots
    kept = slots[: min(int(w.serials), len(slots))]
    still = int((0 if world.plan.preventive else w.expected) + w.buffered)
    lacking = np.maximum(0, kept["owed"] - kept["had"])[kept["said"] >= 0].sum()
    control = world.series["control"].sum(0)
    return Outcome(
        plan=world.plan,
        series=series(_told(world), world.plan.bucket),
        broadcasts=int(w.spoken - w.unsaid),
        unsaid=int(w.unsaid),
        deliveries=int(w.deliveries),
        receipts=int(w.receipts),
        held=still,
        missed=int(w.missed + lacking),
        evicted=int(w.evicted),
        connected=_connected(world),
        control={kind: int(count) for kind, count in zip(COUNTED, control, strict=True)},
        cpu_seconds=spent,
        bytes=world.bytes,
    )


def _told(world: World) -> Records:
    """The kernel knows which copies are still to come; processes of preventive broadcast do not keep it."""
    rows = world.series.copy()
    if world.plan.preventive:
        rows["expected"] = 0
    return rows


def _connected(world: World) -> bool:
    up = np.flatnonzero(world.processes["up"])
    links: dict[str, list[str]] = {str(p): [] for p in up}
    for side, (mine, far) in enumerate((("opener", "other"), ("other", "opener"))):
        safe = world.links[world.links["sides"]["out"][:, side] >= Out.SAFE]
        for p, peer in safe[[mine, far]].tolist():
            links[str(p)].append(str(peer))
    return bool(world.processes["inside"][up].all()) and strongly_connected(links)


def series(rows: Records, bucket: int) -> Series:
    """Integrals and counts as means and rates per process."""
    process_seconds = np.maximum(rows["inside"], 1) / 1e9
    inside = np.maximum(rows["inside"], 1)
    return Series(
        time_s=np.asarray((np.arange(len(rows)) + 0.5) * bucket / 1e9, np.float64),
        inside=rows["inside"] / bucket,
        control={kind: rows["control"][:, i] / process_seconds for i, kind in enumerate(COUNTED)},
        **{name: rows[name] / inside for name in ("expected", "buffered", "links", "arcs")},
        **{name: rows[name] / process_seconds for name in ("deliveries", "receipts")},
    )


def delay_at(plan: Plan, times_s: Floats) -> Floats:
    """The delay at these moments, in seconds."""
    if not len(plan.delay):
        raise Misuse("a plan needs a delay")
    row = np.searchsorted(plan.delay[:, 0] / 1e9, times_s, side="right") - 1
    return np.asarray(plan.delay[row, 1] / 1e9)
