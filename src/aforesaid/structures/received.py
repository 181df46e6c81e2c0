"""Which numbers of each origin have been received.

Law: `add` says True exactly once per origin and number. Per origin there is one counter, for the numbers
received without a gap from 1 on, and a set of exceptions, the numbers above the first gap. Closing a gap
moves the exceptions behind it into the counter, each once. So memory is one counter per origin plus what is
received ahead of a gap, which the caller bounds by what it accepts (see `exceptions`).

Source: the received set of preventive broadcast (Nédelec, Molli and Mostéfaoui (2018a)). It is on the path of
each copy of each message of a reliable broadcast: the next number and a number below the gap are decided by
one lookup and one or two comparisons (`benchmarks/bench_structures.py`).
"""

from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

Origin: TypeAlias = Hashable

ReceivedPicture: TypeAlias = tuple[tuple[Origin, int, tuple[int, ...]], ...]
"""Of each origin: its name, the length of its prefix, its exceptions in ascending order."""


class Received:
    """The numbers received of each origin. Numbers start at 1; an origin is any hashable value."""

    __slots__ = ("_ahead", "_expected")

    def __init__(self, picture: Iterable[tuple[Origin, int, tuple[int, ...]]] = ()) -> None:
        """Nothing received, or what a picture shows; ValueError if `frozen` cannot have made the picture."""
        # The lowest number missing, of each origin of which something was received.
        self._expected: dict[Origin, int] = {}
        # The numbers received above it. No empty sets, and no origin that _expected lacks.
        self._ahead: dict[Origin, set[int]] = {}
        for origin, prefix, exceptions in picture:
            self._restore(origin, prefix, exceptions)

    def add(self, origin: Origin, number: int) -> bool:
        """Count the number as received; True if it is new."""
        expected = self._expected
        try:
            missing = expected[origin]
        except KeyError:
            missing = 1
        if number == missing:
            expected[origin] = number + 1
            if self._ahead and origin in self._ahead:
                self._close_gap(origin, number + 1)
            return True
        if number < missing:
            if number < 1:
                raise ValueError(f"{number} is not a number of {origin!r}: numbers start at 1")
            return False
        return self._add_ahead(origin, number)

    def has(self, origin: Origin, number: int) -> bool:
        """Whether the number has been received."""
        if number < 1:
            raise ValueError(f"{number} is not a number of {origin!r}: numbers start at 1")
        return number < self._expected.get(origin, 1) or number in self._ahead.get(origin, ())

    def prefix(self, origin: Origin) -> int:
        """The highest number up to which everything has been received; 0 if not even 1."""
        return self._expected.get(origin, 1) - 1

    @property
    def exceptions(self) -> int:
        """How many numbers are held one by one because one below them is missing."""
        return sum(map(len, self._ahead.values()))

    @property
    def entries(self) -> int:
        """How much this is: a counter for each origin, and the exceptions."""
        return len(self._expected) + self.exceptions

    def frozen(self) -> ReceivedPicture:
        """An immutable picture, which a message can carry and the constructor takes.

        Equal contents give equal pictures where origins can be sorted. Where they cannot, origins are in the
        order in which they were first heard of: the same calls still give the same picture.
        """
        origins: list[Any] = list(self._expected)
        with suppress(TypeError):
            origins = sorted(origins)
        return tuple((o, self._expected[o] - 1, tuple(sorted(self._ahead.get(o, ())))) for o in origins)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.frozen()!r})"

    def _close_gap(self, origin: Origin, missing: int) -> None:
        ahead = self._ahead[origin]
        while missing in ahead:
            ahead.remove(missing)
            missing += 1
        self._expected[origin] = missing
        if not ahead:
            del self._ahead[origin]

    def _add_ahead(self, origin: Origin, number: int) -> bool:
        ahead = self._ahead.get(origin)
        if ahead is None:
            self._ahead[origin] = {number}
            self._expected.setdefault(origin, 1)
            return True
        if number in ahead:
            return False
        ahead.add(number)
        return True

    def _restore(self, origin: Origin, prefix: int, exceptions: tuple[int, ...]) -> None:
        if origin in self._expected:
            raise ValueError(f"the picture names {origin!r} twice")
        if prefix < 0 or (prefix == 0 and not exceptions):
            raise ValueError(f"the picture of {origin!r} shows nothing received: prefix {prefix}")
        above = prefix + 1
        for number in exceptions:
            if number <= above:
                raise ValueError(f"the picture of {origin!r} has {number} where more than {above} must be")
            above = number
        self._expected[origin] = prefix + 1
        if exceptions:
            self._ahead[origin] = set(exceptions)
