"""What a file describes: a scenario for the simulator, or (`engine = "fleet"`) an experiment on the fleet.

Both have an algorithm, processes, a seed and a duration, are validated when read, and are kept by their trace
as JSON. Only here, and where results are told, does it matter which one it is.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from aforesaid.core import Misuse
from aforesaid.sim.paper import Paper
from aforesaid.sim.running import simulate_into
from aforesaid.sim.scenario import Scenario, read_file
from aforesaid.trace import Run, Sink

Experiment: TypeAlias = Scenario | Paper


def read_experiment(path: Path) -> Experiment:
    """Read and validate a scenario file of either engine."""
    return read_file(path, "scenario", experiment_of)


def experiment_of(data: Mapping[str, Any]) -> Experiment:
    """Validate plain data; every error names the key and what is allowed there."""
    if "engine" not in data:
        return Scenario.of(dict(data))
    if data["engine"] != "fleet":
        raise Misuse(f"engine: {data['engine']!r} is none; allowed: fleet; without the key, the simulator")
    return Paper.of(dict(data))


def run_into(
    sink: Sink, experiment: Experiment, run: str, progress: Callable[[int, int, int], None] | None = None
) -> Run:
    """Run an experiment on its engine and write its trace into a sink."""
    if isinstance(experiment, Scenario):
        return simulate_into(sink, experiment, run, progress=progress).run
    from aforesaid.fleet import trace_fleet

    return trace_fleet(experiment.plan(), sink, run, progress)[1]
