"""Doing something again and again, as long as the fault phase lasts: workloads and faults take turns so."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from aforesaid.core import SECOND, Nanoseconds
from aforesaid.sim.chance import Chance
from aforesaid.sim.parts import nanoseconds

if TYPE_CHECKING:
    from aforesaid.sim.simulation import Simulation


def repeat(
    clock: "Simulation", wait: Callable[[], Nanoseconds], action: Callable[[], None], until: Nanoseconds
) -> None:
    """Do the action again and again, waiting before each time."""

    def turn() -> None:
        action()
        repeat(clock, wait, action, until)

    time = clock.now + max(1, wait())
    if time < until:
        clock.at(time, turn)


def poisson(per_second: float, chance: Chance) -> Callable[[], Nanoseconds]:
    """How long to wait before each turn of a Poisson process."""
    mean = round(SECOND / per_second)
    return lambda: chance.exponential(mean)


def last_moment(clock: "Simulation", until_ms: float | None) -> Nanoseconds:
    """When a part of a scenario ends that may say so itself: with the fault phase at the latest."""
    return clock.until if until_ms is None else min(clock.until, nanoseconds(until_ms))
