"""The sliding array against a list of everything ever added, of which the front is cut off."""

import pickle

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aforesaid.core import freeze
from aforesaid.structures import SlidingArray
from aforesaid.structures.sliding_array import EAGER


class Sliding(RuleBasedStateMachine):
    @initialize(first=st.sampled_from([0, 1, 2, 1_000]))
    def start(self, first: int) -> None:
        self.array: SlidingArray[int] = SlidingArray(first)
        self.first = first
        self.model: list[int] = []
        self.elements = 0

    @rule(count=st.sampled_from([1, 1, 2, EAGER - 1, EAGER, EAGER + 1, 3 * EAGER]))
    def add(self, count: int) -> None:
        for _ in range(count):
            assert self.array.add(self.elements) == self.first + len(self.model)
            self.model.append(self.elements)
            self.elements += 1

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        for _ in range(data.draw(st.integers(1, len(self.model)))):
            assert self.array.remove() == self.model.pop(0)
            self.first += 1

    @precondition(lambda self: self.model)
    @rule(count=st.integers(1, 3 * EAGER))
    def slide(self, count: int) -> None:
        for _ in range(count):
            self.add(1)
            assert self.array.remove() == self.model.pop(0)
            self.first += 1

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.model) - 1))
        self.array[self.first + at] = self.model[at] = -1

    @rule(distance=st.integers(0, 200))
    def outside(self, distance: int) -> None:
        for index in (self.first - 1 - distance, self.first + len(self.model) + distance):
            with pytest.raises(IndexError):
                self.array[index]
            with pytest.raises(IndexError):
                self.array[index] = 0

    @precondition(lambda self: not self.model)
    @rule()
    def empty(self) -> None:
        with pytest.raises(IndexError):
            self.array.remove()
        with pytest.raises(IndexError):
            _ = self.array.peek

    @rule()
    def copied(self) -> None:
        self.array = pickle.loads(pickle.dumps(self.array))

    @invariant()
    def same_window(self) -> None:
        assert (self.array.first, self.array.next) == (self.first, self.first + len(self.model))
        assert len(self.array) == len(self.model)
        assert list(self.array) == self.model
        assert [self.array[index] for index in range(self.array.first, self.array.next)] == self.model
        if self.model:
            assert self.array.peek == self.model[0]

    @invariant()
    def room_is_as_the_window(self) -> None:
        assert len(self.array._items) <= 2 * len(self.model) + 1

    @invariant()
    def a_small_window_has_one_picture(self) -> None:
        if len(self.model) <= EAGER:
            fresh: SlidingArray[int] = SlidingArray(self.first)
            for element in self.model:
                fresh.add(element)
            assert freeze(fresh) == freeze(self.array)


TestSliding = Sliding.TestCase
TestSliding.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
