"""The deterministic simulator: a scenario in, a trace out. Same scenario, same trace, on any machine."""

from aforesaid.sim.experiment import Experiment, experiment_of, read_experiment, run_into
from aforesaid.sim.paper import Paper
from aforesaid.sim.running import SimulationFailed, run_name, simulate, simulate_into
from aforesaid.sim.scenario import Scenario
from aforesaid.sim.simulation import Outcome

__all__ = [
    "Experiment",
    "Outcome",
    "Paper",
    "Scenario",
    "SimulationFailed",
    "experiment_of",
    "read_experiment",
    "run_into",
    "run_name",
    "simulate",
    "simulate_into",
]
