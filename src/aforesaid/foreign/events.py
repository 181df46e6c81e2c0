"""What other people's logs come down to: who sent and who delivered which message, in each process's order.

A reader of a format gives events, and notes in a `Count` what it could not make one of: *other* lines, which
are about something else, and *refused* ones, which should have been events and are missing now.
"""

import gzip
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, NamedTuple, TypeAlias, cast

from aforesaid.core import Misuse, WrongValue
from aforesaid.storage import Place

NO_TIME = -1
REFUSALS_TOLD = 10
GZIP = b"\x1f\x8b"
"""What its files begin with."""


class Event(NamedTuple):
    """One process sent or delivered a message."""

    process: str
    sent: bool
    """Else it was delivered."""
    message: str
    time_ns: int = NO_TIME
    follows: tuple[str, ...] = ()
    """The messages that a message sent says it follows."""
    to: tuple[str, ...] = ()
    """Whom a message sent is for, if it says so."""
    place: str = ""
    """Where it stands: `file:line`."""


Line: TypeAlias = tuple[str, str]
"""A line, after its place."""


@dataclass
class Count:
    """What was read, and what became of it."""

    records: int = 0
    """Lines, or spans."""
    other: int = 0
    refused: int = 0
    refusals: list[str] = field(default_factory=list)
    """The first of them, each with its place and the reason."""
    gaps: list[str] = field(default_factory=list)
    """What shows that events are missing; each is told once."""

    def add(self, other: "Count") -> None:
        """What was read elsewhere."""
        self.records += other.records
        self.other += other.other
        self.refused += other.refused
        self.refusals = (self.refusals + other.refusals)[:REFUSALS_TOLD]
        self.gaps += other.gaps

    def refuse(self, place: str, reason: str) -> None:
        self.refused += 1
        if len(self.refusals) < REFUSALS_TOLD:
            self.refusals.append(f"{place}: {reason}")


def time_within(told: int | float | str, unit_ns: int = 1) -> int:
    """A time as a trace has room for it, in nanoseconds; WrongValue for what is none."""
    try:
        # Whole numbers stay whole: a float has no room for nanoseconds since 1970.
        number = (int(told) if told.strip().isdecimal() else float(told)) if isinstance(told, str) else told
        time_ns = round(number * unit_ns)
    except (ValueError, OverflowError):
        raise WrongValue(f"{told!r} is no time") from None
    if not 0 <= time_ns < 1 << 63:
        raise WrongValue(f"{told!r} is no time that a trace has room for")
    return time_ns


@contextmanager
def opened(path: Place) -> Iterator[IO[bytes]]:
    """A file's bytes; what gzip has packed is unpacked, whatever it is called."""
    try:
        with path.open("rb") as file:
            packed = file.read(len(GZIP)) == GZIP
            file.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                yield file
    except (OSError, EOFError) as error:
        raise Misuse(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def lines(paths: Sequence[Place], count: Count) -> Iterator[Line]:
    """The lines of files that are not empty."""
    for path in paths:
        with opened(path) as file:
            for number, line in enumerate(file, 1):
                place = f"{path}:{number}"
                line = line.removeprefix(BOM_UTF8) if number == 1 else line
                try:
                    text = line.decode().strip("\r\n")
                except UnicodeDecodeError:
                    count.records += 1
                    count.refuse(place, "it is not text in UTF-8")
                    continue
                if text.strip():
                    count.records += 1
                    yield place, text
