"""The explorer on growing scopes: states, transitions and seconds, and what each reduction spares.

Every scope is explored with all reductions, with those that keep schedules shortest (no states are skipped,
frames that can have no effect any more are taken away), and with none. Ratios are of states, measured in one
run; a search that is cut off after STATES_MAX states shows as "> ratio". Seconds are of the processor.

Scopes with links come last: as they are explored unless it is said (plain, since there are few worlds), and
with all reductions. With --against, another checkout explores each of them too, in turn with this one: its
states a second, and how many times as fast this one is in states a second and in seconds to the verdict.

    python benchmarks/bench_explore.py [--quick] [--links] [--against DIRECTORY]
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
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

RING: Any = {"degree": 1, "both_ways": False}
BOTH: Any = {"degree": 1, "both_ways": True}
OPENS, CLOSES = ("p0", "open", "p2", ("p1",)), ("p0", "close", "p2")
LINKS: dict[str, dict[str, Any]] = {
    "open, close": {"messages": (1, 1, 0), "links": (OPENS, CLOSES), "options": RING},
    "open, close, open": {"messages": (1, 1, 0), "links": (OPENS, CLOSES, OPENS), "options": RING},
    "both ways, two say": {"messages": (1, 1, 0), "links": (CLOSES, OPENS), "options": BOTH},
    "open, close, drop, timer": {
        "messages": (0, 1, 0),
        "links": (OPENS, CLOSES),
        "drops_max": 1,
        "timer_firings_max": 1,
        "options": RING,
    },
    "disconnection": {"messages": (1, 1, 0), "links": (OPENS,), "disconnections_max": 1, "options": RING},
    "crash": {"messages": (1, 0, 0), "links": (CLOSES, OPENS), "crashes_max": 1, "options": BOTH},
}
"""Scopes of `prc` with three processes."""


def main() -> None:
    if "--one" in sys.argv:
        print(json.dumps(measured(sys.argv[-1])))
        return
    if "--links" not in sys.argv:
        compare_reductions()
    compare_links(Path(sys.argv[sys.argv.index("--against") + 1]) if "--against" in sys.argv else None)
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def compare_links(other: Path | None) -> None:
    print(
        f"\n{'prc, links':26}{'states':>9}{'s':>7}{'states/s':>10}   {'all':>9}{'s':>7}{'factor':>8}", end=""
    )
    print(f"   {'against':>9}{'s':>7}{'states/s':>10}{'x states/s':>12}{'x s':>6}" if other else "")
    for name in LINKS:
        states, seconds = measured(name)
        reduced, reduced_seconds = timed("prc", {"processes": 3, **LINKS[name]}, ALL)
        line = f"{name:26}{states:9,}{seconds:7.2f}{states / seconds:10,.0f}"
        line += f"   {reduced.states:9,}{reduced_seconds:7.2f}{states / reduced.states:8.1f}"
        if other:
            before, before_seconds = elsewhere(other, name)
            rate, ratio = before / before_seconds, before_seconds / seconds
            line += (
                f"   {before:9,}{before_seconds:7.2f}{rate:10,.0f}{states / seconds / rate:12.1f}{ratio:6.1f}"
            )
        print(line, flush=True)


def measured(name: str) -> tuple[int, float]:
    """States and CPU seconds of a scope with links, as it is explored unless it is said how."""
    began = time.process_time()
    found = explore("prc", Scope(3, **LINKS[name]))
    assert found.verdict == "kept", str(found)
    return found.states, time.process_time() - began


def elsewhere(directory: Path, name: str) -> tuple[int, float]:
    environment = {**os.environ, "PYTHONPATH": str(directory / "src")}
    asked = [sys.executable, __file__, "--one", name]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    states, seconds = json.loads(done.stdout)
    return states, seconds


def compare_reductions() -> None:
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
