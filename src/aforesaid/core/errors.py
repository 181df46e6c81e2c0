"""Two families of errors, and a request for patience.

`Misuse` is the caller's: a wrong argument, an unknown name, a scenario that cannot be. The text is one line
that names the thing at fault and what would be right. `Misbehaviour` is the remote side's: a frame that no
correct peer would send; a host drops it and counts it. A broken invariant of our own is neither: it crashes.
A host that knows how to replay it says so in an error of its own, with the crash as its cause.

`Busy` is no fault at all but back-pressure: the caller is asked to come again later.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class AforesaidError(Exception):
    """What every error of this package is."""


class Misuse(AforesaidError):
    """The caller asked for something that cannot be."""


class WrongValue(Misuse, ValueError):
    """A misuse that is a ValueError too, as Python's callers expect of an argument that does not fit."""


class Misbehaviour(AforesaidError):
    """A peer sent something that no correct peer sends."""


class Refused(Misbehaviour):
    """Bytes or a frame that were not let in; `reason` is a word or two, for counting."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Busy(AforesaidError):
    """A bounded queue is full: nothing was accepted, try again when something has been delivered."""


def meant(wrong: str, known: Iterable[str]) -> str:
    """What stands between a wrong name and the list of those that are known: a guess, if one is near."""
    near = get_close_matches(wrong, list(known), 1, cutoff=0.7)
    return f", did you mean {near[0]}?" if near else ";"
