"""The worlds an algorithm is put into: every fault that its needs do not rule out, as parts of scenarios."""

from typing import Any

from aforesaid.explore import Scope
from aforesaid.protocols.algorithm import Algorithm, Need

PROCESSES = 4
CALM = "reordering"
"""The world with nothing but delays, which every algorithm has to stand."""

_DELAY = {"kind": "lognormal", "median_ms": 15, "sigma": 1.0}
_BASE: dict[str, Any] = {
    "processes": PROCESSES,
    "duration_ms": 250,
    "drain_ms": 60_000,
    "events_max": 50_000,
    "workload": [{"kind": "rate", "per_second": 15}, {"kind": "chain", "per_second": 10, "depth": 3}],
}


def worlds(entry: Algorithm) -> dict[str, dict[str, Any]]:
    """By name, the scenarios without algorithm and seed."""
    fifo = Need.FIFO_LINKS in entry.needs
    network = {"delay": _DELAY, "fifo": fifo}
    found: dict[str, dict[str, Any]] = {CALM: {"network": network}}
    if not fifo:
        found["duplication"] = {"network": {**network, "duplication": 0.2}}
        lossy = {**network, "loss": 0.2, "duplication": 0.1, "retransmit": Need.RELIABLE_LINKS in entry.needs}
        found["loss"] = {"network": lossy}
    found["partition and pause"] = {
        "network": network,
        "fault": [
            {"kind": "partition", "from_ms": 60, "until_ms": 160, "groups": [["p0", "p1"], ["p2", "p3"]]},
            {"kind": "pause", "at_ms": [30, 200], "for_ms": 60},
        ],
    }
    if Need.NO_CRASH not in entry.needs:
        found["crash"] = {"network": network, "fault": [{"kind": "crash", "at_ms": [30, 250]}]}
        found["crash at a delivery"] = {
            "network": network,
            "fault": [{"kind": "crash", "after_deliveries": 3}],
        }
    return {name: {**_BASE, **world} for name, world in found.items()}


def scopes(entry: Algorithm, timers: int) -> dict[str, Scope]:
    """By name, what is explored: orders, a copy of a frame, a crash."""
    found = {"every order": Scope(3, (2, 1, 0), timer_firings_max=timers)}
    if Need.FIFO_LINKS not in entry.needs:
        found["a frame twice"] = Scope(3, (1, 1, 0), duplicates_max=1, timer_firings_max=timers)
    if Need.NO_CRASH not in entry.needs:
        found["a crash"] = Scope(3, (1, 1, 0), crashes_max=1, timer_firings_max=timers)
    return found
