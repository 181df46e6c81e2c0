"""The deterministic simulator: a scenario in, a trace out. Same scenario, same trace, on any machine."""

from aforesaid.sim.scenario import Scenario
from aforesaid.sim.simulation import Outcome, SimulationFailed, run_name, simulate, simulate_into

__all__ = ["Outcome", "Scenario", "SimulationFailed", "run_name", "simulate", "simulate_into"]
