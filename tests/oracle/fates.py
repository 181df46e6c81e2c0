"""What befell the runs of a world, counted: what befell none of them was not tried.

A run is known by its frame: the payload is a `Run`. Nothing is judged here.
"""

from collections import Counter
from typing import Any

from aforesaid.core import Run
from oracle.inside import unfinished, unsent_to

FATES = (
    "said",
    "to several",
    "held back",
    "left over",
    "flagged",
    "lost",
    "doubled",
    "early",
    "again",
    "to the gone",
    "of the gone",
)
"""Held back at its sender; left over by a step that was long enough; came before its time; came once more."""
ADAPTIVE_FATES = ("waits", "names")
"""Its receiver is to wait for others' messages; others are to be named by its receiver."""


def run_in(frame: Any) -> Any:
    """The message in a frame, if it is a run."""
    message = getattr(frame, "message", frame)
    return message if type(getattr(message, "payload", None)) is Run else None


class Fates(Counter[str]):
    """By fate, how many runs had it."""

    def count(self, fate: str, had: object) -> None:
        if had:
            self[fate] += 1

    def sent(self, frame: Any, copies: int) -> None:
        """A frame is handed to the network, which carries so many copies of it."""
        if run := run_in(frame):
            self.count("flagged", getattr(run, "flagged", False) or getattr(run, "opaque", False))
            self.count("lost", copies == 0)
            self.count("doubled", copies > 1)
            for fate in ADAPTIVE_FATES:
                self.count(fate, getattr(run, fate, ()))

    def came(self, frame: Any, before: int, delivered: int) -> None:
        """A frame was handed to a process that had delivered, and has, so many of the channel."""
        if run := run_in(frame):
            self.count("again", run.number <= before)
            self.count("early", run.number > delivered)

    def over(self, machine: Any) -> None:
        """A step is over. What it left over is counted once for each step that did not get to it."""
        u, k = machine.u, machine.m1
        if u.first <= k < u.next and u[k].count > 1 and _unsent(machine, u[k]):
            self.count("held back", not unfinished(machine))
            self.count("left over", machine.left)

    def gone(self, machine: Any, peer: str, flying: list[Any]) -> None:
        """A process is about to evict a peer, some of whose frames are on their way to it."""
        self.count("of the gone", any(map(run_in, flying)))
        unacked = (entry for entry in machine.u if entry.count > 1)
        self.count("to the gone", any(peer in machine._unacked_by(entry) for entry in unacked))


def _unsent(machine: Any, entry: Any) -> bool:
    return bool(unsent_to(entry))
