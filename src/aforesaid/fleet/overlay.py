"""A static overlay: every process sends to `degree` others and hears from as many.

It is made of `degree` random circles through all processes, so it is strongly connected, and the in-link that
belongs to circle j has bit j at its receiver. No process is linked twice to the same one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aforesaid.core import Misuse
from aforesaid.fleet.compiled import entry, inner
from aforesaid.fleet.layout import BITS, TARGET_SHIFT
from aforesaid.fleet.records import Int32s, Int64s

PROCESSES_MAX = 1 << 25
"""An entry of a wire row has 25 bits for its target."""


@dataclass(frozen=True)
class Overlay:
    """Who sends to whom."""

    wires: Int32s
    """Rows as the kernels read them: the number of entries, then target and bit of each."""
    opens: Int64s
    """Per process the bits of its in-links."""

    def in_views(self) -> list[list[int]]:
        """By process, whom it hears from."""
        views: list[list[int]] = [[] for _ in self.wires]
        for sender, row in enumerate(self.wires):
            for packed in row[1 : row[0] + 1].tolist():
                views[packed >> TARGET_SHIFT].append(sender)
        return views


def random_overlay(processes: int, degree: int, seed: int) -> Overlay:
    if not 3 <= processes <= PROCESSES_MAX:
        raise Misuse(f"an overlay has 3 to {PROCESSES_MAX:,} processes, not {processes:,}")
    if not 1 <= degree <= min(BITS, processes // 3):
        raise Misuse(f"the degree must be 1 to {BITS}, and at most a third of {processes}, not {degree}")
    wires = np.zeros((processes, degree + 1), np.int32)
    chance = np.random.default_rng(seed).integers(1, 2147483398, 2)
    if not _circles(wires, np.arange(processes, dtype=np.int32), chance):
        raise Misuse(f"found no overlay of degree {degree} on {processes} processes; try another seed")
    return Overlay(wires, np.full(processes, (1 << degree) - 1, np.int64))


@inner
def _below(chance: Int64s, count: int) -> int:
    """As `queues.choose`, from one stream."""
    bits = 0
    for _ in range(2):
        chance[0] = chance[0] * 40014 % 2147483563
        chance[1] = chance[1] * 40692 % 2147483399
        bits = (bits << 31) | ((chance[0] - chance[1]) % 2147483562)
    return bits % count


@inner
def _linked(wires: Int32s, p: int, q: int, circles: int) -> bool:
    repeats = 0
    for i in range(1, circles + 1):
        repeats += wires[p, i] >> TARGET_SHIFT == q
    return repeats > 0


@inner
def _mended(wires: Int32s, order: Int32s, chance: Int64s, circle: int) -> bool:
    """Exchange places in the circle until it repeats no link of the circles before it."""
    n = order.size
    for _ in range(200):
        repeats = 0
        for i in range(n):
            if _linked(wires, order[i], order[(i + 1) % n], circle):
                repeats += 1
                other = _below(chance, n)
                order[(i + 1) % n], order[other] = order[other], order[(i + 1) % n]
        if repeats == 0:
            return True
    return False


def _make(sources: str) -> Callable[[Int32s, Int32s, Int64s], bool]:
    def circles(wires: Int32s, order: Int32s, chance: Int64s) -> bool:
        n, degree = wires.shape[0], wires.shape[1] - 1
        for circle in range(degree):
            for i in range(n - 1, 0, -1):
                other = _below(chance, i + 1)
                order[i], order[other] = order[other], order[i]
            if sources and not _mended(wires, order, chance, circle):
                return False
            for i in range(n):
                wires[order[i], circle + 1] = (order[(i + 1) % n] << TARGET_SHIFT) | circle
        wires[:, 0] = degree
        return True

    return circles


_circles = entry(_make)
