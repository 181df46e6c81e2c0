"""How long something took, as a histogram: with powers of two as bounds, to add one costs next to nothing.

Both ends of what is measured here are read from one clock, this process's own.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from aforesaid.core import SECOND, Nanoseconds

FIRST, LAST = 14, 37
"""The bounds that are told, as powers of two: from 16 microseconds to 137 seconds."""


class Histogram:
    """How often something took how long."""

    __slots__ = ("_counts", "_sum", "_told", "_told_sum")

    def __init__(self) -> None:
        self._counts = [0] * 64
        """At place b: what took more than half of 2**b nanoseconds, and no more than all of it."""
        self._sum: Nanoseconds = 0
        self._told = [0] * 64
        """What `news` has told."""
        self._told_sum: Nanoseconds = 0

    def add(self, took: Nanoseconds, count: int = 1) -> None:
        """So many took so long."""
        self._counts[(took - 1).bit_length()] += count
        self._sum += took * count

    def add_each(self, times: Sequence[Nanoseconds], since: Nanoseconds = 0) -> None:
        """One lasted from then until each of these times, which ascend: a step for each bucket, not for each
        of them."""
        counts, at = self._counts, 0
        last = (times[-1] - since - 1).bit_length()
        for power in range((times[0] - since - 1).bit_length(), last):
            upto = bisect_right(times, since + (1 << power), at)
            counts[power] += upto - at
            at = upto
        counts[last] += len(times) - at
        self._sum += sum(times) - since * len(times)

    def facts(self) -> dict[str, Any]:
        """As plain data: how many in all, how long together, and how many took no longer than each bound."""
        below = sum(self._counts[:FIRST])
        bounds = []
        for power in range(FIRST, LAST + 1):
            below += self._counts[power]
            bounds.append([(1 << power) / SECOND, below])
        return {"count": sum(self._counts), "sum_s": self._sum / SECOND, "within_s": bounds}

    def news(self) -> tuple[list[tuple[int, int]], Nanoseconds]:
        """What came since this was last asked: by the power of two in nanoseconds that it did not exceed, how
        often; and how long together."""
        added = [(power, now - self._told[power]) for power, now in enumerate(self._counts)]
        took = self._sum - self._told_sum
        self._told, self._told_sum = self._counts.copy(), self._sum
        return [(power, count) for power, count in added if count], took
