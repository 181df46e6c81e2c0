"""The sliding array, hybrid buffering section 5.3."""

import pickle
import sys
import weakref

import pytest

from aforesaid.core import freeze
from aforesaid.structures import SlidingArray
from aforesaid.structures.sliding_array import EAGER


def filled(count: int, first: int = 1) -> SlidingArray[int]:
    """Each element is its own index."""
    array: SlidingArray[int] = SlidingArray(first)
    for index in range(first, first + count):
        array.add(index)
    return array


def test_an_empty_window_starts_at_1() -> None:
    array: SlidingArray[str] = SlidingArray()
    assert (array.first, array.next, len(array), list(array)) == (1, 1, 0, [])


def test_the_first_index_is_the_callers_choice() -> None:
    array = filled(2, first=40)
    assert (array.first, array.next, array[41]) == (40, 42, 41)
    assert filled(1, first=0)[0] == 0
    with pytest.raises(ValueError, match="-1"):
        SlidingArray(-1)


def test_add_returns_the_index_and_remove_the_oldest() -> None:
    array: SlidingArray[str] = SlidingArray()
    assert [array.add(letter) for letter in "abc"] == [1, 2, 3]
    assert (array.peek, array.remove(), array.remove()) == ("a", "a", "b")
    assert (array.first, array.next, len(array), array.peek) == (3, 4, 1, "c")


@pytest.mark.parametrize("count", [1, EAGER, EAGER + 1, 10 * EAGER])
def test_a_removed_or_future_index_never_reads_or_writes(count: int) -> None:
    array = filled(count)
    for _ in range(count // 2 + 1):
        array.remove()
    for index in (-1, 0, 1, array.first - 1, array.next, array.next + 1):
        with pytest.raises(IndexError, match=r"outside the window \["):
            array[index]
        with pytest.raises(IndexError, match=r"outside the window \["):
            array[index] = 0
    assert list(array) == list(range(array.first, array.next))


def test_an_element_is_replaced_at_its_index() -> None:
    array = filled(3 * EAGER)
    for _ in range(EAGER):
        array.remove()
    array[EAGER + 7] = -1
    assert array[EAGER + 7] == -1
    assert list(array).count(-1) == 1


def test_an_empty_window_has_nothing_to_remove_or_peek_at() -> None:
    array = filled(2)
    array.remove()
    array.remove()
    with pytest.raises(IndexError, match="empty at 3"):
        array.remove()
    with pytest.raises(IndexError, match="empty at 3"):
        _ = array.peek
    assert (array.first, array.next) == (3, 3)


def test_iteration_walks_the_window_as_it_was() -> None:
    array = filled(4)
    seen = []
    for element in array:
        seen.append(element)
        array.remove()
        array.add(0)
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize("count", [3, 5 * EAGER])
def test_a_pickled_copy_is_equal_and_apart(count: int) -> None:
    array = filled(count)
    array.remove()
    copy = pickle.loads(pickle.dumps(array))
    copy.remove()
    assert (array.first, copy.first, copy.next) == (2, 3, count + 1)
    assert list(copy) == list(array)[1:]


def test_the_picture_of_a_small_window_does_not_tell_how_it_came_about() -> None:
    through_a_large_one = filled(10 * EAGER)
    while len(through_a_large_one) > EAGER:
        through_a_large_one.remove()
    directly = filled(EAGER, first=9 * EAGER + 1)
    assert freeze(through_a_large_one) == freeze(directly)


def test_repr_names_the_window() -> None:
    assert repr(filled(3)) == "SlidingArray[1, 4)"


@pytest.mark.parametrize("count", [3, 5 * EAGER])
def test_a_removed_element_is_released_at_once(count: int) -> None:
    class Element:
        pass

    array: SlidingArray[Element] = SlidingArray()
    for _ in range(count):
        array.add(Element())
    oldest = weakref.ref(array.peek)
    array.remove()
    assert oldest() is None


def test_a_window_that_slid_over_ten_million_elements_holds_only_what_is_inside() -> None:
    window = 1_000
    array = filled(window)
    for _ in range(100):
        for index in range(array.next, array.next + 100_000):
            array.add(index)
            array.remove()
        assert len(array._items) <= 2 * window + 1
        assert sys.getsizeof(array._items) <= 3 * window * 8
    assert (array.first, len(array), array.peek) == (10_000_001, window, 10_000_001)
    while array:
        array.remove()
    assert sys.getsizeof(array._items) <= 2 * EAGER * 8


class CountingList(list[int]):
    """Counts the pointers that each deletion at the front moves."""

    moved = 0

    def pop(self, index: int = -1) -> int:  # type: ignore[override]
        element = super().pop(index)
        self.moved += len(self) - index
        return element

    def __delitem__(self, where: object) -> None:
        super().__delitem__(where)  # type: ignore[arg-type]
        self.moved += len(self)


@pytest.mark.parametrize("window", [1, EAGER - 1, EAGER, EAGER + 1, EAGER + 2, 2 * EAGER, 1_000, 50_000])
def test_pointers_moved_are_bounded_by_operations(window: int) -> None:
    array: SlidingArray[int] = SlidingArray()
    counting = array._items = CountingList()
    for _ in range(window):
        array.add(0)
    for _ in range(3 * window + 100):
        array.add(0)
        array.remove()
    added = removed = array.next - 1
    while array:
        array.remove()
    assert array._items is counting
    assert counting.moved <= added + (EAGER + 1) * removed
    if window > 10 * EAGER:
        # The bound of the small window is not the bound of the large one: about one pointer per operation.
        assert counting.moved <= 2 * (added + removed) + EAGER * EAGER
