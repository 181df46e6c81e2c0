"""The fleet: the paper's experiment with 10,000 processes in a minute, and floods of a million.

A compiled kernel (numba) for PRC-broadcast; the only package that knows numba, so import it by name.
"""

from aforesaid.fleet.errors import FleetBroken, FleetFull, FleetStopped
from aforesaid.fleet.fleet import Outcome, Series, delay_at, simulate_fleet
from aforesaid.fleet.flood import Flood, flood, flood_wheel
from aforesaid.fleet.overlay import Overlay, random_overlay
from aforesaid.fleet.plan import Plan, authors_experiment
from aforesaid.fleet.tracing import trace_fleet
from aforesaid.sim.paper import Paper

__all__ = [
    "FleetBroken",
    "FleetFull",
    "FleetStopped",
    "Flood",
    "Outcome",
    "Overlay",
    "Paper",
    "Plan",
    "Series",
    "authors_experiment",
    "delay_at",
    "flood",
    "flood_wheel",
    "random_overlay",
    "simulate_fleet",
    "trace_fleet",
]
