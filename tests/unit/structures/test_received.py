"""The numbers received of each origin: one counter and the exceptions above it."""

import pickle
import sys
from itertools import permutations

import pytest

from aforesaid.core import freeze
from aforesaid.structures import Received, ReceivedPicture


def test_nothing_is_received_at_first() -> None:
    received = Received()
    assert (received.has("a", 1), received.prefix("a"), received.exceptions) == (False, 0, 0)
    assert received.frozen() == ()


def test_add_is_true_once_in_order() -> None:
    received = Received()
    assert [received.add("a", number) for number in (1, 2, 2, 1, 3)] == [True, True, False, False, True]
    assert (received.prefix("a"), received.prefix("b"), received.exceptions) == (3, 0, 0)


def test_a_closed_gap_takes_in_the_exceptions_behind_it() -> None:
    received = Received()
    assert [received.add("a", number) for number in (3, 5, 2, 3)] == [True, True, True, False]
    assert (received.prefix("a"), received.exceptions) == (0, 3)
    assert [received.has("a", number) for number in (1, 2, 3, 4, 5, 6)] == [
        False,
        True,
        True,
        False,
        True,
        False,
    ]
    assert received.add("a", 1)
    assert (received.prefix("a"), received.exceptions) == (3, 1)
    assert received.add("a", 4)
    assert (received.prefix("a"), received.exceptions) == (5, 0)


def test_origins_are_apart() -> None:
    received = Received()
    assert received.add("a", 2)
    assert received.add("b", 1)
    assert received.add("b", 2)
    assert received.frozen() == (("a", 0, (2,)), ("b", 2, ()))


@pytest.mark.parametrize("number", [0, -1])
def test_numbers_start_at_1(number: int) -> None:
    received = Received()
    with pytest.raises(ValueError, match="start at 1"):
        received.add("a", number)
    with pytest.raises(ValueError, match="start at 1"):
        received.has("a", number)
    assert freeze(received) == freeze(Received())


def test_equal_contents_have_equal_pictures_in_any_order_of_arrival() -> None:
    everything = [("a", 1), ("a", 2), ("b", 1), ("b", 3), ("c", 2)]
    pictures, frozen = set(), set()
    for order in permutations(everything):
        received = Received()
        for origin, number in order:
            received.add(origin, number)
        pictures.add(freeze(received))
        frozen.add(received.frozen())
    assert len(pictures) == 1
    assert frozen == {(("a", 2, ()), ("b", 1, (3,)), ("c", 0, (2,)))}


def test_origins_that_cannot_be_sorted_keep_the_order_of_arrival() -> None:
    received = Received()
    for origin in ("a", 7, ("b", 0)):
        received.add(origin, 1)
    assert [origin for origin, _, _ in received.frozen()] == ["a", 7, ("b", 0)]


def test_a_picture_restores_what_it_shows() -> None:
    received = Received()
    for origin, number in [("a", 1), ("a", 4), ("a", 3), ("b", 9)]:
        received.add(origin, number)
    restored = Received(received.frozen())
    assert freeze(restored) == freeze(received)
    restored.add("a", 2)
    assert (restored.prefix("a"), received.prefix("a")) == (4, 1)


@pytest.mark.parametrize(
    "picture",
    [
        (("a", -1, ()),),
        (("a", 0, ()),),
        (("a", 2, (3,)),),
        (("a", 2, (2,)),),
        (("a", 2, (5, 4)),),
        (("a", 2, (4, 4)),),
        (("a", 1, ()), ("a", 1, ())),
    ],
)
def test_a_picture_that_frozen_cannot_have_made_is_refused(
    picture: ReceivedPicture,
) -> None:
    with pytest.raises(ValueError, match="the picture"):
        Received(picture)


def test_a_pickled_copy_is_equal_and_apart() -> None:
    received = Received([("a", 2, (4,))])
    copy = pickle.loads(pickle.dumps(received))
    assert freeze(copy) == freeze(received)
    copy.add("a", 3)
    assert (copy.prefix("a"), received.prefix("a")) == (4, 2)


def test_repr_shows_the_picture() -> None:
    assert repr(Received([("a", 2, (4,))])) == "Received((('a', 2, (4,)),))"


def test_a_million_numbers_out_of_order_leave_one_counter() -> None:
    received = Received()
    for start in range(1, 1_000_001, 100):
        for number in range(start + 99, start, -1):
            received.add("a", number)
        assert received.exceptions == 99
        received.add("a", start)
        assert received.exceptions == 0
    assert received.prefix("a") == 1_000_000
    assert sys.getsizeof(received._expected) + sys.getsizeof(received._ahead) < 1_000
