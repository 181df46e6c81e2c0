"""Every schedule of the shipped protocols at small scope: all orders, crash points, duplicates, losses, and
links that open, close and break at any moment.

`explore` searches, `replay` runs one schedule again. A violation is shown as the shortest schedule that
leads to it, and judged by the same checker as every other trace.
"""

from aforesaid.explore.cells import ALL, NONE, Reductions
from aforesaid.explore.explorer import explore
from aforesaid.explore.rerun import replay
from aforesaid.explore.result import Counterexample, Exploration, Progress, Pruned
from aforesaid.explore.schedule import Schedule, Step
from aforesaid.explore.scope import Build, LinkCall, Scope

__all__ = [
    "ALL",
    "NONE",
    "Build",
    "Counterexample",
    "Exploration",
    "LinkCall",
    "Progress",
    "Pruned",
    "Reductions",
    "Schedule",
    "Scope",
    "Step",
    "explore",
    "replay",
]
