"""Runs scenarios: with the trace in memory, or into a sink."""

import time
from collections.abc import Callable
from dataclasses import replace

from aforesaid.core import AforesaidError, Speaker
from aforesaid.protocols.catalog import Setup
from aforesaid.sim.paper import Paper
from aforesaid.sim.scenario import Scenario
from aforesaid.sim.simulation import Outcome, Progress, Simulation
from aforesaid.trace import MemorySink, MemoryTrace, Sink, Tracer


class SimulationFailed(AforesaidError, RuntimeError):
    """A protocol broke one of its own invariants; the cause is chained, the text says how to replay it."""


def simulate(
    scenario: Scenario,
    run: str | None = None,
    build: Callable[[Setup], Speaker] | None = None,
    progress: Progress | None = None,
) -> tuple[Outcome, MemoryTrace]:
    """Run a scenario with its trace in memory, and receipts only if it asks for them.

    `build` puts another protocol in the algorithm's place.
    """
    sink = MemorySink()
    outcome = simulate_into(sink, scenario, run, build, progress, bool(scenario.receipts))
    return outcome, sink.trace


def simulate_into(
    sink: Sink,
    scenario: Scenario,
    run: str | None = None,
    build: Callable[[Setup], Speaker] | None = None,
    progress: Progress | None = None,
    receipts: bool | None = None,
) -> Outcome:
    """Run a scenario and write its trace into a sink, chunk by chunk.

    With receipts or without as the scenario says, unless it is said here.
    """
    scenario.validate()
    receipts = scenario.receipts if receipts is None else receipts
    simulation = Simulation(scenario, Tracer(sink), build, receipts)
    began = time.perf_counter()
    try:
        ended = simulation.run(progress)
    except Exception as error:
        raise SimulationFailed(
            f"{scenario.label}, seed {scenario.seed}, failed at {simulation.now / 1e6:.3f} ms: {error!r}"
        ) from error
    played_s = time.perf_counter() - began
    return replace(simulation.close(run or run_name(scenario), ended), played_s=played_s)


def run_name(scenario: Scenario | Paper) -> str:
    """The default name of a scenario's run."""
    return f"{scenario.label}-n{scenario.processes}-s{scenario.seed}"
