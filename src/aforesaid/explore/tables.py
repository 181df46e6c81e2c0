"""Functions of numbers, worked out once, and looked up for many numbers at a time.

Whatever the explorer meets is numbered (`local`, `cells`), so that most of what it asks is a table.
"""

from array import array
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.int64]

Flags: TypeAlias = npt.NDArray[np.bool_]

HALF = 32
"""Two numbers are one of so many higher and so many lower bits."""


class Memo(dict[int, int]):
    """A function of a number, worked out once for each."""

    def __init__(self, work: Callable[[int], int]) -> None:
        self._work = work

    def __missing__(self, key: int) -> int:
        value = self[key] = self._work(key)
        return value

    def of(self, keys: Numbers) -> Numbers:
        return np.fromiter(map(self.__getitem__, keys.tolist()), np.int64, len(keys))


class PairMemo(Memo):
    """A function of two numbers."""

    def __init__(self, work: Callable[[int, int], int]) -> None:
        super().__init__(lambda key: work(key >> HALF, key & (1 << HALF) - 1))

    def of_pairs(self, ones: Numbers, others: Numbers) -> Numbers:
        return self.of(ones << HALF | others)


def keys(rows: Numbers) -> list[Any]:
    """Rows of an array as bytes: equal rows are equal keys."""
    whole = np.ascontiguousarray(rows, np.int32)
    return whole.view(np.dtype((np.void, whole.strides[0]))).ravel().tolist()


class Column:
    """Numbers that are appended, as an array."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self._array = np.zeros(0, np.int64)

    @property
    def array(self) -> Numbers:
        if len(self._array) < len(self.numbers):
            self._array = np.array(self.numbers)
        return self._array
