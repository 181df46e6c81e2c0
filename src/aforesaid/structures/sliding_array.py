"""The sliding array: the elements of a window [first, next) of ever-growing indexes.

Almeida (2026), section 5.3. Elements enter at `next`, leave at `first`, and are read and replaced by their
absolute index in between, all in amortised constant time. An index that has left the window, or is not in it
yet, reads nothing: IndexError. What is held is what is inside: a removed element is released at once, and
the room it took is given back as the window slides.

Deviations from the paper:
- Windows start at 1 unless told otherwise, because message numbers do (0 means "none").
- One list with an offset instead of figure 3a's array of arrays, chosen by measurement:
  `python benchmarks/bench_structures.py --designs`. Add + read + remove takes as long with a list as with a
  dict keyed by index (within a tenth), and up to a third longer with blocks. A read takes half as long again
  with blocks; with the dict it takes a quarter less in windows of up to a hundred elements, and up to twice
  as long from a hundred thousand on. An element takes 8 bytes in the list or the blocks and 84 in the dict,
  which gives none back until new elements come. A deque reads its middle in O(n).

How it slides: while at most `EAGER` slots are in use, a removal deletes its slot at once. Above that,
removals leave empty slots in front, which are deleted all together, and before they outnumber the elements
of the window. Over any time, pointers moved <= elements added + (`EAGER` + 1) * elements removed. A window of
up to `EAGER` elements has no empty slots, so that its picture (`core.freeze`) does not tell how it came
about.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

EAGER = 64
_EMPTY: Any = None


class SlidingArray(Generic[T]):
    """A window of elements by absolute index. `first` and `next` are for reading only."""

    __slots__ = ("_base", "_due", "_items", "first", "next")

    def __init__(self, first: int = 1) -> None:
        if first < 0:
            raise ValueError(f"a window cannot start at {first}: indexes start at 0")
        self.first = first
        """Index of the oldest element; equal to `next` when the window is empty."""
        self.next = first
        """Index that the next added element will have."""
        # Element i is at _items[i - _base]; the slots before first - _base are empty, to be deleted when
        # `first` reaches _due. While there are none, _due is 0.
        self._base = first
        self._due = 0
        self._items: list[T] = []

    def add(self, element: T, count: int = 1) -> int:
        """Append the element, so many times, and return its last index."""
        if count == 1:
            self._items.append(element)
        else:
            self._items += [element] * count
        self.next += count
        return self.next - 1

    def remove(self, count: int = 1) -> T:
        """Remove so many of the oldest elements and return the last of them."""
        items, first = self._items, self.first + count
        if first > self.next:
            raise IndexError(f"nothing to remove: the window is empty at {self.next}")
        end = first - self._base
        element = items[end - 1]
        self.first = first
        if len(items) <= EAGER:
            del items[:end]
            self._base = first
            return element
        items[end - count : end] = [_EMPTY] * count
        if first >= self._due:
            self._settle()
        return element

    @property
    def peek(self) -> T:
        """The oldest element."""
        try:
            return self._items[self.first - self._base]
        except IndexError:
            raise IndexError(f"nothing to peek at: the window is empty at {self.first}") from None

    def __getitem__(self, index: int) -> T:
        if index >= self.first:
            try:
                return self._items[index - self._base]
            except IndexError:
                pass
        raise self._outside(index)

    def __setitem__(self, index: int, element: T) -> None:
        """Replace the element at an index inside the window."""
        if index >= self.first:
            try:
                self._items[index - self._base] = element
                return
            except IndexError:
                pass
        raise self._outside(index)

    def __len__(self) -> int:
        return self.next - self.first

    def __iter__(self) -> Iterator[T]:
        """The elements from the oldest on, as they were when the iteration began."""
        return iter(self._items[self.first - self._base :])

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.first}, {self.next})"

    def _settle(self) -> None:
        first = self.first
        slots = len(self._items)
        if self._due == 0:
            # These are the first empty slots since the last deletion: let at most half of the list become
            # empty, and stop before no more than EAGER elements are left behind them.
            self._due = self._base + min(slots - EAGER, slots // 2)
        if first >= self._due:
            del self._items[: first - self._base]
            self._base = first
            self._due = 0

    def _outside(self, index: int) -> IndexError:
        return IndexError(f"index {index} is outside the window [{self.first}, {self.next})")
