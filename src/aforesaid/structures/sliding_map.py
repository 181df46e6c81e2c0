"""The sliding map: distinct keys that take the indexes of a sliding window and leave it in any order.

Almeida (2026), section 5.3. A key enters at `next`; it is removed by key, wherever it is, and leaves a
hole; `first` is always the index of the oldest key present, or `next` when there is none. Operations take
amortised constant time: `first` passes over each hole once. `IndexableSlidingMap` also finds the key at an
index.

Memory is as the number of positions in the window, holes included, however few keys remain: one key that
stays keeps its window open (docs/corrections.md, R13). As long as keys are added it is less, as the
number of keys present: the tables leave the holes out whenever they are rebuilt to take in more.

Deviations from the paper:
- Windows start at 1 unless told otherwise, because 0 means "none".
- A second map, from indexes to keys, instead of the bit-array (figure 3b) and of the sliding array of
  optional keys: the holes are the indexes it lacks. One class then serves both variants, and its picture
  (`core.freeze`) never tells how it came about. `python benchmarks/bench_structures.py --designs`: in
  windows of up to ten thousand keys, add + remove takes a sixth longer with bits when keys leave in order
  and a tenth less when they do not (a third less at a million); with the sliding array it takes half as
  long again to twice as long. A key present takes 137 bytes here, 85 with bits, 92 with the sliding array.
- `remove` of an absent key is a KeyError; where duplicates are normal (R9), `discard`.
"""

import sys
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# The tables are looked at each time `first` enters another run of 2 ** _TRIM_SHIFT indexes.
_TRIM_SHIFT = 10
_TABLE_BYTES_MIN = 16_384
_TABLE_BYTES_PER_KEY_MAX = 256


class SlidingMap(Generic[K]):
    """Keys of a sliding window. `first` and `next` are for reading only. None is not a key."""

    __slots__ = ("_indexes", "_keys", "first", "next")

    def __init__(self, first: int = 1) -> None:
        if first < 0:
            raise ValueError(f"a window cannot start at {first}: indexes start at 0")
        self.first = first
        """Index of the oldest key present; equal to `next` when there is none."""
        self.next = first
        """Index that the next added key will have."""
        # Each the inverse of the other, both in the order of the indexes.
        self._indexes: dict[K, int] = {}
        self._keys: dict[int, K] = {}

    def add(self, key: K) -> int:
        """Append a key that is not present and return its index."""
        indexes = self._indexes
        if key in indexes:
            raise ValueError(f"{key!r} is present already, at index {indexes[key]}")
        if key is None:
            raise ValueError("None is not a key: it stands for a removed one")
        index = self.next
        indexes[key] = index
        self._keys[index] = key
        self.next = index + 1
        return index

    def remove(self, key: K) -> int:
        """Remove a key and return the index it had; KeyError if it is not present."""
        index = self._indexes.pop(key)
        keys = self._keys
        del keys[index]
        if index == self.first:
            if keys:
                first = index + 1
                while first not in keys:
                    first += 1
            else:
                first = self.next
            self.first = first
            if first >> _TRIM_SHIFT != index >> _TRIM_SHIFT:
                self._trim()
        return index

    def discard(self, key: K) -> int | None:
        """Remove a key and return the index it had; None if it is not present."""
        return self.remove(key) if key in self._indexes else None

    def __contains__(self, key: object) -> bool:
        return key in self._indexes

    def __len__(self) -> int:
        """How many keys are present, not how many positions the window has."""
        return len(self._indexes)

    def __iter__(self) -> Iterator[K]:
        """The keys from the oldest on, as they were when the iteration began."""
        return iter(tuple(self._indexes))

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.first}, {self.next}) with {len(self)} present"

    def _trim(self) -> None:
        # A dict shrinks only when it takes in new keys. A window that drained must not hold its old tables;
        # copying costs no more than the removals that made them too large.
        table_bytes_max = _TABLE_BYTES_MIN + _TABLE_BYTES_PER_KEY_MAX * len(self._keys)
        if sys.getsizeof(self._keys) > table_bytes_max:
            self._keys = dict(self._keys)
        if sys.getsizeof(self._indexes) > table_bytes_max:
            self._indexes = dict(self._indexes)


class IndexableSlidingMap(SlidingMap[K]):
    """A sliding map that also knows which key is at an index."""

    __slots__ = ()

    def __getitem__(self, index: int) -> K | None:
        """The key at an index of the window, None if it was removed; IndexError outside the window."""
        key = self._keys.get(index)
        if key is None and not self.first <= index < self.next:
            raise IndexError(f"index {index} is outside the window [{self.first}, {self.next})")
        return key

    def index(self, key: K) -> int:
        """The index of a key; KeyError if it is not present."""
        return self._indexes[key]

    @property
    def peek(self) -> K:
        """The oldest key present."""
        try:
            return self._keys[self.first]
        except KeyError:
            raise IndexError(f"nothing to peek at: no key is present at {self.first}") from None
