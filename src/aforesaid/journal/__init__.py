"""The journal of a node: what its machine was told, on disk before anyone hears what came of it.

A snapshot and the inputs since give the state back, for every algorithm alike. See docs/durability.md.
"""

from aforesaid.journal.committing import WINDOWS, GroupCommit, Window
from aforesaid.journal.durable import Durable
from aforesaid.journal.journal import Journal
from aforesaid.journal.records import Code, Damaged
from aforesaid.journal.recovery import Recovered, recover
from aforesaid.journal.telling import Diverged, Frames, ToldMachine, restored

__all__ = [
    "WINDOWS",
    "Code",
    "Damaged",
    "Diverged",
    "Durable",
    "Frames",
    "GroupCommit",
    "Journal",
    "Recovered",
    "ToldMachine",
    "Window",
    "recover",
    "restored",
]
