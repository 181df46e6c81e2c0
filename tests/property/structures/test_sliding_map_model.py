"""The sliding maps against a list with one place per position, the key or None."""

import pickle

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aforesaid.core import freeze
from aforesaid.structures import IndexableSlidingMap, SlidingMap

KEYS = st.tuples(st.sampled_from(["p1", "p2"]), st.integers(1, 12))
Key = tuple[str, int]


class Permits(RuleBasedStateMachine):
    @initialize(first=st.sampled_from([0, 1, 1_020]))
    def start(self, first: int) -> None:
        self.plain: SlidingMap[Key] = SlidingMap(first)
        self.indexable: IndexableSlidingMap[Key] = IndexableSlidingMap(first)
        self.start_index = first
        self.places: list[Key | None] = []

    def first(self) -> int:
        for at, key in enumerate(self.places):
            if key is not None:
                return self.start_index + at
        return self.start_index + len(self.places)

    @rule(key=KEYS)
    def add(self, key: Key) -> None:
        for permits in (self.plain, self.indexable):
            if key in self.places:
                with pytest.raises(ValueError, match="present already"):
                    permits.add(key)
            else:
                assert permits.add(key) == self.start_index + len(self.places)
        if key not in self.places:
            self.places.append(key)

    @rule(key=KEYS)
    def remove(self, key: Key) -> None:
        if key not in self.places:
            for permits in (self.plain, self.indexable):
                assert permits.discard(key) is None
                with pytest.raises(KeyError):
                    permits.remove(key)
            return
        at = self.places.index(key)
        assert self.plain.remove(key) == self.start_index + at
        assert self.indexable.discard(key) == self.start_index + at
        self.places[at] = None

    @precondition(lambda self: any(self.places))
    @rule(data=st.data())
    def remove_one_present(self, data: st.DataObject) -> None:
        self.remove(data.draw(st.sampled_from([key for key in self.places if key is not None])))

    @rule()
    def copied(self) -> None:
        self.plain = pickle.loads(pickle.dumps(self.plain))
        self.indexable = pickle.loads(pickle.dumps(self.indexable))

    @invariant()
    def same_window(self) -> None:
        present = [key for key in self.places if key is not None]
        for permits in (self.plain, self.indexable):
            assert (permits.first, permits.next) == (self.first(), self.start_index + len(self.places))
            assert list(permits) == present
            assert len(permits) == len(present)
            assert all(key in permits for key in present)
            assert ("p3", 1) not in permits

    @invariant()
    def same_places(self) -> None:
        first, end = self.first(), self.start_index + len(self.places)
        window = [self.indexable[index] for index in range(first, end)]
        assert window == self.places[first - self.start_index :]
        for outside in (first - 1, end):
            with pytest.raises(IndexError):
                self.indexable[outside]
        for index, key in enumerate(window, first):
            if key is not None:
                assert self.indexable.index(key) == index
        if window:
            assert self.indexable.peek == window[0]
        else:
            with pytest.raises(IndexError):
                _ = self.indexable.peek

    @invariant()
    def one_picture(self) -> None:
        fresh: IndexableSlidingMap[Key | int] = IndexableSlidingMap(self.start_index)
        for at, key in enumerate(self.places):
            fresh.add(at if key is None else key)
        for at, key in enumerate(self.places):
            if key is None:
                fresh.remove(at)
        assert freeze(fresh) == freeze(self.indexable)


TestPermits = Permits.TestCase
TestPermits.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
