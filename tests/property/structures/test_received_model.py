"""The received numbers against one set of pairs."""

import pickle

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from aforesaid.core import freeze
from aforesaid.structures import Received

ORIGINS = ("p1", "p2", "p3")
NUMBERS_MAX = 10


class Numbers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.received = Received()
        self.model: set[tuple[str, int]] = set()

    @rule(origin=st.sampled_from(ORIGINS), number=st.integers(1, NUMBERS_MAX))
    def add(self, origin: str, number: int) -> None:
        assert self.received.add(origin, number) == ((origin, number) not in self.model)
        self.model.add((origin, number))

    @rule(origin=st.sampled_from(ORIGINS))
    def add_next(self, origin: str) -> None:
        self.add(origin, self.received.prefix(origin) + 1)

    @rule()
    def restored(self) -> None:
        self.received = Received(self.received.frozen())

    @rule()
    def copied(self) -> None:
        self.received = pickle.loads(pickle.dumps(self.received))

    @invariant()
    def same_numbers(self) -> None:
        exceptions = 0
        for origin in ORIGINS:
            numbers = {number for name, number in self.model if name == origin}
            prefix = next(number for number in range(len(numbers) + 1) if number + 1 not in numbers)
            assert self.received.prefix(origin) == prefix
            exceptions += len(numbers) - prefix
            for number in range(1, NUMBERS_MAX + 2):
                assert self.received.has(origin, number) == (number in numbers)
        assert self.received.exceptions == exceptions
        assert self.received.entries == exceptions + len({origin for origin, _ in self.model})

    @invariant()
    def one_picture(self) -> None:
        fresh = Received()
        for origin, number in sorted(self.model, reverse=True):
            fresh.add(origin, number)
        assert fresh.frozen() == self.received.frozen()
        assert hash(fresh.frozen()) == hash(self.received.frozen())
        assert freeze(fresh) == freeze(self.received)


TestNumbers = Numbers.TestCase
TestNumbers.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
