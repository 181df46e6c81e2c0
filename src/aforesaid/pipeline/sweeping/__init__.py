"""Sweeps: a grid of scenarios as Spark tasks, one each, into one directory of traces.

`sweep` does it all. Its steps: `plan` finds out what a directory still lacks, `execute` runs that on Spark,
`conclude` writes the table of what came of it all. What a task does (`task`) and how a directory remembers
(`ledger`) know nothing of Spark.
"""

from aforesaid.pipeline.sweeping.driver import (
    Plan,
    Progress,
    complete,
    conclude,
    execute,
    plan,
    retrying,
    sweep,
)
from aforesaid.pipeline.sweeping.ledger import Ledger, Row, Tally

__all__ = [
    "Ledger",
    "Plan",
    "Progress",
    "Row",
    "Tally",
    "complete",
    "conclude",
    "execute",
    "plan",
    "retrying",
    "sweep",
]
