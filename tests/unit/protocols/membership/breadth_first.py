"""Every state of a small world, breadth first: the shortest way to whatever is wrong is found first.

A world is a plain object. `steps` lists what can happen next. `do` makes it happen, says what it was, and
asserts what must hold at that moment. `check` asserts what must hold in every state, and `settled` says
whether it may stay so.
"""

import pickle
from collections import Counter, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from aforesaid.core import freeze

STATES_MAX = 5_000
"""A world that should be small and is not goes round without an end."""

Step: TypeAlias = tuple[str | int, ...]


class World(Protocol):
    def steps(self) -> Sequence[Step]: ...

    def do(self, step: Step) -> str: ...

    def check(self) -> None: ...

    def settled(self) -> bool: ...


class Found(AssertionError):
    """What must never be, with the steps that lead there."""


@dataclass(frozen=True)
class Explored:
    """How much there was to see."""

    states: int
    settled: int
    happened: Counter[str]
    """How often which kind of step was taken."""


def explore(first: World) -> Explored:
    """Every state keeps what must hold, and from every state a settled one can be reached."""
    reached = _Reached()
    reached.add(first, None)
    unseen, happened = deque([0]), Counter[str]()
    while unseen:
        at = unseen.popleft()
        for step in pickle.loads(reached.worlds[at]).steps():
            world: World = pickle.loads(reached.worlds[at])
            try:
                happened[world.do(step)] += 1
                world.check()
            except AssertionError as error:
                raise Found(f"{error}\nafter {reached.way_to(at)} {step}") from error
            new = reached.add(world, (at, step))
            if new is not None:
                unseen.append(new)
        if len(reached.worlds) > STATES_MAX:
            raise Found(f"no end of states\nafter {reached.way_to(at)}")
    stuck = reached.stuck()
    if stuck is not None:
        raise Found(f"nothing settled can be reached any more\nafter {reached.way_to(stuck)}")
    return Explored(len(reached.worlds), len(reached.settled), happened)


class _Reached:
    """The states, in the order in which they were found."""

    def __init__(self) -> None:
        self.worlds: list[bytes] = []
        self.settled: list[int] = []
        self.before: list[list[int]] = []
        """From where one step leads to each."""
        self._origin: list[tuple[int, Step] | None] = []
        self._known: dict[Hashable, int] = {}

    def add(self, world: World, origin: tuple[int, Step] | None) -> int | None:
        """Its number, if it was never seen before."""
        picture = freeze(world)
        number = self._known.setdefault(picture, len(self.worlds))
        new = number == len(self.worlds)
        if new:
            self.worlds.append(pickle.dumps(world))
            self.before.append([])
            self._origin.append(origin)
            if world.settled():
                self.settled.append(number)
        if origin is not None:
            self.before[number].append(origin[0])
        return number if new else None

    def stuck(self) -> int | None:
        """The first state from which no settled one can be reached."""
        good, left = set(self.settled), list(self.settled)
        while left:
            for number in self.before[left.pop()]:
                if number not in good:
                    good.add(number)
                    left.append(number)
        return next((number for number in range(len(self.worlds)) if number not in good), None)

    def way_to(self, number: int) -> list[Step]:
        steps: list[Step] = []
        while (origin := self._origin[number]) is not None:
            number, step = origin
            steps.append(step)
        return steps[::-1]
