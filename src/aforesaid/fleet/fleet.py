"""A fleet: very many processes of PRC-broadcast on the overlay that Spray samples, in one compiled kernel.

It does what `Living(PRC, Spray)` does in the simulator, both ways and with α routed, message for message:
`tests/differential` runs the two against each other. What the kernel does not know: loss and duplication of
frames, connections that break, pauses, partitions; and all links have the same delay at the same time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aforesaid.core import Misuse
from aforesaid.sim.connected import strongly_connected
from aforesaid.fleet.compiled import compiled_once
from aforesaid.fleet.kernel import run
from aforesaid.fleet.layout import (
    BITS,
    BUFFERED,
    COUNTED,
    DEGREE,
    DELIVERIES,
    DUPLICATE,
    EVENTS,
    EVICTED,
    EXPECTED,
    FINE,
    HAD,
    INSIDE,
    LINKS_GONE,
    LISTS,
    LOG_SHORT,
    MISSED,
    OPENER,
    OTHER,
    OUT,
    OWED,
    QUEUE,
    RECEIPTS,
    S_ARCS,
    S_BUFFERED,
    S_CONTROL,
    S_DELIVERIES,
    S_EXPECTED,
    S_INSIDE,
    S_LINKS,
    S_RECEIPTS,
    SAFE,
    SAID,
    SERIALS,
    SLOTS,
    SPOKEN,
    STATUS,
    STATUS_A,
    STATUS_B,
    TIME,
    TRACE_FULL,
    UNSAID,
    UP,
    WORDS_MAX,
    Int64s,
)
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.world import World

SLICES = 200
"""How often a run comes back to tell of its progress."""

Progress = Callable[[int, int, int], None]
"""Called now and then with the virtual time, the receipts and the deliveries so far."""

Floats = npt.NDArray[np.float64]


class FleetStopped(RuntimeError):
    """A run cannot go on: there is no room for what happens, or the protocol broke its promise."""


class FleetBroken(FleetStopped):
    """The protocol broke its promise: a message would have been delivered twice."""


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
        """Local space as the paper counts it: expected entries and handshake buffers."""
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
    plan: Plan, progress: Progress | None = None, events: Callable[[Int64s], None] | None = None
) -> Outcome:
    """Run a plan to its end. `events` gets the traced rows, chunk by chunk; without it nothing is traced."""
    plan.validate()
    world = World(plan if events else replace(plan, traced=()))
    with compiled_once(run):
        run(world.w, 0)
    began = time.process_time()
    for number in range(1, SLICES + 1):
        _run(world, plan.until * number // SLICES, events)
        if progress:
            progress(int(world.w[TIME]), int(world.w[RECEIPTS]), int(world.w[DELIVERIES]))
    spent = time.process_time() - began
    return _outcome(world, spent)


def _run(world: World, until: int, events: Callable[[Int64s], None] | None) -> None:
    w = world.w
    while True:
        run(w, until)
        if events and w[EVENTS]:
            events(world.events[: w[EVENTS]])
        w[EVENTS] = 0
        if w[STATUS] == FINE:
            return
        if w[STATUS] != TRACE_FULL:
            raise (FleetBroken if w[STATUS] == DUPLICATE else FleetStopped)(_reason(world))
        w[STATUS] = FINE


def _reason(world: World) -> str:
    w = world.w
    first, second = int(w[STATUS_A]), int(w[STATUS_B])
    why = {
        DUPLICATE: f"p{first} received message {second} where it was not expected: exactly once is broken",
        SLOTS: f"message {first} is still expected {second} times when its slot is needed again",
        DEGREE: f"p{first} has more than {BITS * WORDS_MAX} links",
        QUEUE: "the queues are full",
        LINKS_GONE: "the table of links is full",
        LISTS: f"p{first} has more arcs or pairs to remember than there is room for",
        LOG_SHORT: f"a handshake of p{first} lasted longer than its delivery log",
    }[int(w[STATUS])]
    return f"the fleet stopped at {w[TIME] / 1e9:.3f} s: {why} (seed {world.plan.seed})"


def _outcome(world: World, spent: float) -> Outcome:
    w, slots = world.w, world.slots
    kept = slots[: min(int(w[SERIALS]), len(slots))]
    still = int(w[EXPECTED] + w[BUFFERED])
    lacking = np.maximum(0, kept[:, OWED] - kept[:, HAD])[kept[:, SAID] >= 0].sum()
    control = world.series[:, S_CONTROL:].sum(0)
    return Outcome(
        plan=world.plan,
        series=series(world.series, world.plan.bucket),
        broadcasts=int(w[SPOKEN] - w[UNSAID]),
        unsaid=int(w[UNSAID]),
        deliveries=int(w[DELIVERIES]),
        receipts=int(w[RECEIPTS]),
        held=still,
        missed=int(w[MISSED] + lacking),
        evicted=int(w[EVICTED]),
        connected=_connected(world),
        control={kind: int(count) for kind, count in zip(COUNTED, control, strict=True)},
        cpu_seconds=spent,
        bytes=world.bytes,
    )


def _connected(world: World) -> bool:
    up = np.flatnonzero(world.processes[:, UP])
    links: dict[str, list[str]] = {str(p): [] for p in up}
    for side in (0, 1):
        safe = world.links[world.links[:, OUT + side] >= SAFE]
        for p, peer in safe[:, [OPENER + side, OTHER - side]].tolist():
            links[str(p)].append(str(peer))
    return bool(world.processes[up, INSIDE].all()) and strongly_connected(links)


def series(rows: Int64s, bucket: int) -> Series:
    """Integrals and counts as means and rates per process."""
    process_seconds = np.maximum(rows[:, S_INSIDE], 1) / 1e9
    inside = np.maximum(rows[:, S_INSIDE], 1)
    return Series(
        time_s=np.asarray((np.arange(len(rows)) + 0.5) * bucket / 1e9, np.float64),
        inside=rows[:, S_INSIDE] / bucket,
        expected=rows[:, S_EXPECTED] / inside,
        buffered=rows[:, S_BUFFERED] / inside,
        links=rows[:, S_LINKS] / inside,
        arcs=rows[:, S_ARCS] / inside,
        control={kind: rows[:, S_CONTROL + i] / process_seconds for i, kind in enumerate(COUNTED)},
        deliveries=rows[:, S_DELIVERIES] / process_seconds,
        receipts=rows[:, S_RECEIPTS] / process_seconds,
    )


def delay_at(plan: Plan, times_s: Floats) -> Floats:
    """The delay at these moments, in seconds."""
    if not len(plan.delay):
        raise Misuse("a plan needs a delay")
    row = np.searchsorted(plan.delay[:, 0] / 1e9, times_s, side="right") - 1
    return np.asarray(plan.delay[row, 1] / 1e9)
