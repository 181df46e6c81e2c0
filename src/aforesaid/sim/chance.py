"""Chance that is the same on every machine.

`random.Random.random()` is the same everywhere; logarithms and exponentials of the C library are not, to the
last bit. So nothing here calls them while sampling: exponential variates come from comparisons of uniforms
alone (von Neumann (1951)), log-normal ones from a table of quantiles made with decimal arithmetic.
"""

import hashlib
import random
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

T = TypeVar("T")

QUANTILES = 4096


class Chance:
    """One stream of chance, named so that drawing from one stream never shifts another."""

    def __init__(self, seed: int, name: str) -> None:
        self._seed, self._name = seed, name
        digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
        self.uniform = random.Random(int.from_bytes(digest, "big")).random
        """A float in [0, 1)."""

    def branch(self, name: str) -> "Chance":
        """A stream of its own under this one's name, the same whatever was drawn before."""
        return Chance(self._seed, f"{self._name}/{name}")

    def below(self, count: int) -> int:
        """A whole number in [0, count)."""
        return int(self.uniform() * count)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """That many of the items, different ones; all of them if there are fewer."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(count, len(rest)))]

    def between(self, low: int, high: int) -> int:
        """A whole number in [low, high]."""
        return low + self.below(high - low + 1)

    def exponential(self, mean: int) -> int:
        """Exponentially distributed, by von Neumann's comparisons: no logarithm."""
        whole = 0
        uniform = self.uniform
        while True:
            first = last = uniform()
            run = 1
            while (following := uniform()) < last:
                last = following
                run += 1
            if run % 2:
                return int((whole + first) * mean)
            whole += 1


@lru_cache(maxsize=64)
def lognormal_quantiles(median: int, sigma: float) -> tuple[int, ...]:
    """The median times exp(sigma z) at the middle of each of 4,096 equal shares of probability.

    z is rounded to nine digits and the exponential is decimal: no machine's floating point shows through.
    """
    normal = NormalDist()
    table = []
    for share in range(QUANTILES):
        z = round(normal.inv_cdf((share + 0.5) / QUANTILES), 9)
        table.append(int(median * (Decimal(repr(sigma)) * Decimal(repr(z))).exp()))
    return tuple(table)
