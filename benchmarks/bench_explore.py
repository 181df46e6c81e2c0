"""The explorer on growing scopes: states, transitions and seconds, and what each reduction spares.

Every scope is explored with all reductions, with those that keep schedules shortest (no states are skipped,
frames that can have no effect any more are taken away), and with none. Ratios are of states, measured in one
run; a search that is cut off after STATES_MAX states shows as "> ratio". Seconds are of the processor.

    python benchmarks/bench_explore.py [--quick]
"""

import resource
import sys
import time
from typing import Any

from aforesaid.explore import ALL, NONE, Exploration, Reductions, Scope, explore
from aforesaid.explore.cells import SHORTEST

STATES_MAX = 1_000_000

SCOPES: list[tuple[str, dict[str, Any]]] = [
    ("waiting", {"processes": 2, "messages": 2}),
    ("waiting", {"processes": 2, "messages": 3}),
    ("waiting", {"processes": 3, "messages": 1}),
    ("waiting", {"processes": 3, "messages": 1, "duplicates_max": 1}),
    ("waiting", {"processes": 3, "messages": 1, "crashes_max": 1}),
    ("reliable", {"processes": 3, "messages": 1, "crashes_max": 1}),
    (
        "waiting",
        {
            "processes": 2,
            "messages": 1,
            "perfect_links": True,
            "drops_max": 1,
            "duplicates_max": 1,
            "timer_firings_max": 3,
        },
    ),
    ("waiting", {"processes": 3, "messages": (2, 1, 1)}),
    ("no_waiting", {"processes": 3, "messages": (2, 1, 1)}),
    ("uniform", {"processes": 3, "messages": 1}),
    ("waiting", {"processes": 4, "messages": 1}),
]
LARGE: list[tuple[str, dict[str, Any]]] = [
    ("waiting_uniform", {"processes": 3, "messages": 1}),
    ("no_waiting_gc", {"processes": 3, "messages": 1}),
    ("waiting", {"processes": 3, "messages": 2}),
]


def main() -> None:
    print(f"{'':46}{'all':>9}{'':>10}{'':>7}   {'shortest':>19}   {'none':>19}")
    print(f"{'scope':46}{'states':>9}{'trans.':>10}{'s':>7}" + f"{'states':>13}{'s':>7}{'ratio':>9}" * 2)
    for name, bounds in SCOPES if "--quick" in sys.argv else SCOPES + LARGE:
        line = f"{told(name, bounds):46}"
        found, seconds = timed(name, bounds, ALL)
        line += f"{found.states:9,}{found.transitions:10,}{seconds:7.1f}"
        for reductions in (SHORTEST, NONE):
            fuller, seconds = timed(name, bounds, reductions)
            ratio = f"{'' if fuller.complete else '> '}{fuller.states / found.states:,.1f}"
            line += f"{fuller.states:13,}{seconds:7.1f}{ratio:>9}"
        print(line, flush=True)
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def timed(name: str, bounds: dict[str, Any], reductions: Reductions) -> tuple[Exploration, float]:
    began = time.process_time()
    found = explore(name, Scope(**bounds), reductions=reductions, states_max=STATES_MAX)
    assert found.violation is None, str(found)
    return found, time.process_time() - began


def told(name: str, bounds: dict[str, Any]) -> str:
    faults = {"duplicates_max": "duplicate", "drops_max": "drop", "crashes_max": "crash"}
    extras = [text for key, text in faults.items() if bounds.get(key)]
    if bounds.get("perfect_links"):
        extras.append(f"links, {bounds['timer_firings_max']} firings")
    return f"{name} {bounds['processes']}x{bounds['messages']} {', '.join(extras)}"


if __name__ == "__main__":
    main()
