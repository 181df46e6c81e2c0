"""Who speaks, and which message is meant.

A process has a stable name; each time it comes back without its state it is a new incarnation of that name.
A message is known by its id alone, never by its content. Numbers start at 1, so that 0 can mean "none yet".
"""

import re
from typing import NamedTuple, TypeAlias

from aforesaid.core.errors import Misuse
from aforesaid.core.fields import Count, Number, Process

Nanoseconds: TypeAlias = int
"""Time and durations. Integers, so that a simulation gives the same trace on every machine."""

MICROSECOND: Nanoseconds = 1_000
MILLISECOND: Nanoseconds = 1_000_000
SECOND: Nanoseconds = 1_000_000_000

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
"""What a process on a real network may be called: the name stands in files, certificates and addresses."""


class MessageId(NamedTuple):
    """The number-th message of one incarnation of its origin."""

    origin: Process
    incarnation: Count
    number: Number

    def __str__(self) -> str:
        return message_label(self.origin, self.incarnation, self.number)


def check_name(name: Process) -> None:
    if not NAME.fullmatch(name):
        raise Misuse(f"{name!r}: a name has 1 to 64 letters, digits, _ . -, and does not begin with . or -")


def process_label(name: Process, incarnation: int) -> str:
    """How a process is written for people: `p2`, or `p2~3` for a later incarnation."""
    return name if incarnation == 0 else f"{name}~{incarnation}"


def message_label(name: Process, incarnation: int, number: int) -> str:
    """How a message is written for people: `p2#5`."""
    return f"{process_label(name, incarnation)}#{number}"
