"""The sliding map and its indexable variant, hybrid buffering section 5.3."""

import pickle
import sys
import tracemalloc

import pytest

from aforesaid.core import freeze
from aforesaid.structures import IndexableSlidingMap, SlidingMap

BOTH = pytest.mark.parametrize("kind", [SlidingMap, IndexableSlidingMap])


@BOTH
def test_an_empty_window_starts_at_1(kind: type[SlidingMap[str]]) -> None:
    empty = kind()
    assert (empty.first, empty.next, len(empty), list(empty)) == (1, 1, 0, [])
    assert kind(7).add("a") == 7
    with pytest.raises(ValueError, match="-1"):
        kind(-1)


@BOTH
def test_first_advances_over_what_was_removed(kind: type[SlidingMap[str]]) -> None:
    permits = kind()
    assert [permits.add(key) for key in "abcd"] == [1, 2, 3, 4]
    assert permits.remove("c") == 3
    assert permits.first == 1
    assert permits.remove("a") == 1
    assert permits.first == 2
    assert permits.remove("b") == 2
    assert (permits.first, permits.next, list(permits), len(permits)) == (4, 5, ["d"], 1)
    assert permits.remove("d") == 4
    assert (permits.first, permits.next, len(permits)) == (5, 5, 0)


@BOTH
def test_a_key_is_present_once(kind: type[SlidingMap[str]]) -> None:
    permits = kind()
    permits.add("a")
    with pytest.raises(ValueError, match="'a' is present already, at index 1"):
        permits.add("a")
    assert (permits.next, list(permits)) == (2, ["a"])
    permits.remove("a")
    assert permits.add("a") == 2


@BOTH
def test_none_is_not_a_key(kind: type[SlidingMap[None]]) -> None:
    permits = kind()
    with pytest.raises(ValueError, match="None"):
        permits.add(None)
    assert permits.next == 1


@BOTH
def test_remove_of_an_absent_key_is_an_error_and_discard_is_not(kind: type[SlidingMap[str]]) -> None:
    permits = kind()
    permits.add("a")
    with pytest.raises(KeyError):
        permits.remove("b")
    assert permits.discard("b") is None
    assert permits.discard("a") == 1
    assert permits.discard("a") is None
    assert ("a" in permits, permits.first) == (False, 2)


@BOTH
def test_iteration_walks_the_keys_as_they_were(kind: type[SlidingMap[int]]) -> None:
    permits = kind()
    for key in (10, 20, 30):
        permits.add(key)
    seen = []
    for key in permits:
        seen.append(key)
        permits.remove(key)
        if key == 10:
            permits.add(40)
    assert seen == [10, 20, 30]
    assert list(permits) == [40]


@BOTH
def test_a_pickled_copy_is_equal_and_apart(kind: type[SlidingMap[str]]) -> None:
    permits = kind()
    for key in "abc":
        permits.add(key)
    permits.remove("b")
    copy = pickle.loads(pickle.dumps(permits))
    assert freeze(copy) == freeze(permits)
    copy.remove("a")
    assert (permits.first, copy.first, type(copy)) == (1, 3, kind)


def test_the_picture_does_not_tell_how_the_window_came_about() -> None:
    one: SlidingMap[str] = SlidingMap()
    for key in "abc":
        one.add(key)
    one.remove("a")
    one.remove("b")
    other: SlidingMap[str] = SlidingMap()
    for key in "xyc":
        other.add(key)
    other.remove("y")
    other.remove("x")
    assert freeze(one) == freeze(other)


def test_the_key_at_an_index_is_none_where_it_was_removed() -> None:
    permits: IndexableSlidingMap[str] = IndexableSlidingMap()
    for key in "abcd":
        permits.add(key)
    permits.remove("a")
    permits.remove("c")
    assert [permits[index] for index in range(2, 5)] == ["b", None, "d"]
    assert (permits.index("d"), permits.peek) == (4, "b")
    for index in (-1, 0, 1, 5, 6):
        with pytest.raises(IndexError, match=r"outside the window \[2, 5\)"):
            permits[index]
    with pytest.raises(KeyError):
        permits.index("c")


def test_an_empty_window_has_nothing_to_peek_at() -> None:
    permits: IndexableSlidingMap[str] = IndexableSlidingMap()
    permits.add("a")
    permits.remove("a")
    with pytest.raises(IndexError, match="at 2"):
        _ = permits.peek
    with pytest.raises(IndexError, match="outside"):
        permits[1]


def test_repr_names_the_window_and_what_is_present() -> None:
    permits: SlidingMap[str] = SlidingMap()
    permits.add("a")
    permits.add("b")
    permits.remove("b")
    assert repr(permits) == "SlidingMap[1, 3) with 1 present"


def held(permits: SlidingMap[int]) -> int:
    return sys.getsizeof(permits._keys) + sys.getsizeof(permits._indexes)


def test_a_window_that_slid_over_a_million_keys_holds_only_what_is_inside() -> None:
    window = 1_000
    permits: SlidingMap[int] = SlidingMap()
    tracemalloc.start()
    for key in range(window):
        permits.add(key)
    before = tracemalloc.get_traced_memory()[0]
    for key in range(window, 300_000):
        permits.add(key)
        permits.remove(key - window)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after <= 3 * before
    for key in range(300_000, 1_000_000):
        permits.add(key)
        permits.remove(key - window)
        if key % 10_000 == 0:
            assert held(permits) <= 2 * 120 * window
    assert (permits.first, len(permits)) == (1_000_000 - window + 1, window)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_window_that_drained_gives_its_tables_back(backwards: bool) -> None:
    count = 100_000
    permits: SlidingMap[int] = SlidingMap()
    for key in range(count):
        permits.add(key)
    assert held(permits) > 4_000_000
    for key in reversed(range(count)) if backwards else range(count):
        permits.remove(key)
    assert held(permits) < 200_000


def test_one_key_that_stays_does_not_keep_the_holes_once_keys_are_added() -> None:
    permits: SlidingMap[int] = SlidingMap()
    permits.add(-1)
    for key in range(200_000):
        permits.add(key)
        permits.remove(key)
    assert (permits.first, permits.next, len(permits)) == (1, 200_002, 1)
    assert held(permits) < 1_000


class CountingDict(dict[int, int]):
    """Counts how often `first` looks at a position."""

    probes = 0

    def __contains__(self, index: object) -> bool:
        self.probes += 1
        return super().__contains__(index)


@pytest.mark.parametrize("count", [10, 1_000])
def test_first_looks_at_each_position_once(count: int) -> None:
    permits: SlidingMap[int] = SlidingMap()
    counting = permits._keys = CountingDict()
    for key in range(count):
        permits.add(key)
    for key in range(count - 2, 0, -1):
        permits.remove(key)
    assert counting.probes == 0
    permits.remove(0)
    assert (counting.probes, permits.first) == (count - 1, count)
