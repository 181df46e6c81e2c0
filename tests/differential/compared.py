"""One plan through the kernel and through the reference, and what they differ in."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aforesaid.fleet.errors import FleetStopped
from aforesaid.fleet.fleet import run_until
from aforesaid.fleet.layout import FLOODED
from aforesaid.fleet.plan import Plan
from aforesaid.fleet.records import Records
from aforesaid.fleet.states import COUNTED
from aforesaid.fleet.vectors import VectorClocks
from aforesaid.fleet.world import World
from aforesaid.sim.paper import Paper
from differential.reference import Reference

LOOKS = 300
"""Moments at which the space of both is compared."""


@dataclass
class Compared:
    """What both did, in the same terms."""

    differences: list[str]
    deliveries: int
    control: dict[str, int]
    space_max: int
    evicted: int


def small(processes: int, seed: int, delay_ms: float, patience_s: float = 120.0, **more: Any) -> Plan:
    """A few minutes of the paper's experiment, with exchanges three times as often."""
    parts: dict[str, Any] = {
        "minutes": 3.0,
        "speak_from": 0.5,
        "speak_until": 2.0,
        "broadcasts_per_second": 3,
        **more,
    }
    paper = Paper(processes, seed, delay_ms=delay_ms, traced="all", **parts)
    return replace(paper.plan(), period=20_000_000_011, patience=round(patience_s * 1e9) + 7)


def compare(plan: Plan) -> Compared:
    looks = np.sort(np.random.default_rng(plan.seed).integers(0, plan.until, LOOKS)).tolist()
    reference = Reference(plan)
    reference.run(looks)
    world = World(plan)
    w = world.w
    differences, events = [], list[tuple[int, int, int]]()
    clocks = VectorClocks(plan) if plan.preventive else None

    def take(rows: Records) -> None:
        events.extend(rows.tolist())
        if clocks:
            clocks.take(rows)

    for moment in [*looks, plan.until]:
        try:
            run_until(world, moment, take)
        except FleetStopped as stopped:
            return Compared([str(stopped)], 0, {}, 0, 0)
        counted = clocks.entries_at(moment) if clocks else int(w.expected)
        held = (counted, int(w.buffered))
        if moment < plan.until and held != reference.space[moment]:
            differences.append(f"space at {moment}: {held}, reference {reference.space[moment]}")
    if reference.evicted != w.evicted:
        differences.append(f"{w.evicted} began again, in the reference {reference.evicted}")
    differences += _control_differences(world, reference) + _order_differences(events, reference)
    totals: dict[str, int] = {}
    for (_, kind), count in reference.control.items():
        totals[kind] = totals.get(kind, 0) + count
    return Compared(
        differences,
        sum(len(host.delivered) for host in reference.hosts.values()),
        totals,
        max(map(sum, reference.space.values())),
        reference.evicted,
    )


def _control_differences(world: World, reference: Reference) -> list[str]:
    """Every second, every kind."""
    counts = world.series["control"]
    kernel = {(int(b), COUNTED[k]): int(counts[b, k]) for b, k in zip(*np.nonzero(counts), strict=True)}
    return [
        f"{kind} in second {second}: {kernel.get((second, kind), 0)}, not {reference.control[second, kind]}"
        for second, kind in sorted({*kernel, *reference.control})
        if kernel.get((second, kind), 0) != reference.control[second, kind]
    ]


def _order_differences(events: list[tuple[int, int, int]], reference: Reference) -> list[str]:
    """The same messages in the same order at each process."""
    differences = []
    kernel: dict[int, list[int]] = {number: [] for number in reference.hosts}
    for _, number, what in events:
        if 0 <= what < FLOODED:
            kernel[number].append(what)
    for number, host in reference.hosts.items():
        delivered = kernel[number]
        if delivered != host.payloads:
            differences.append(f"p{number} delivered {len(delivered)} messages in another order or number")
    return differences
