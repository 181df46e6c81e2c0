"""Measures a run while it goes on: what the protocols hold, and the traffic."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aforesaid.core import Process, Remembering
from aforesaid.sim.parts import nanoseconds

if TYPE_CHECKING:
    from aforesaid.sim.simulation import Simulation


def gauges(machines: Mapping[Process, Any]) -> dict[str, int]:
    """What the protocols hold, all together, by kind."""
    total: dict[str, int] = {}
    for machine in machines.values():
        for name, value in machine.gauges().items():
            total[name] = total.get(name, 0) + value
    return total


def sample(simulation: "Simulation") -> None:
    """Measure now, and again as often as the scenario says."""
    tracer, now, counters = simulation.tracer, simulation.now, simulation.counters
    for name, value in gauges(simulation.machines).items():
        tracer.sample(now, name, value)
    inside = [simulation.seats[name].machine for name in simulation.contacts()]
    entries = [machine.entries() for machine in inside if isinstance(machine, Remembering)]
    if entries:
        tracer.sample(now, "entries", sum(entries))
        tracer.sample(now, "inside", len(inside))
    tracer.sample(now, "frames_sent", counters.sent)
    tracer.sample(now, "in_flight", len(simulation.agenda))
    if counters.control:
        tracer.sample(now, "control_sent", counters.control)
    # The sampler must not keep a finished run going.
    if simulation.agenda:
        simulation.at(now + nanoseconds(simulation.scenario.sample_ms), lambda: sample(simulation))
