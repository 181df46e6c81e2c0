"""Worlds in which what is named, or not named, matters: slow links, and word that travels around them.

In a world that mixes all frames evenly, what should come first mostly does. Here some links are *slow*: what
is on one of them arrives when hardly anything else can. Meanwhile who has just delivered something *relays*:
it speaks next, and often to those who wait at the end of a slow link, so that what they must not deliver yet
comes to them by every way around. Who goes down is one of those who relayed last.
"""

import random
from dataclasses import dataclass
from functools import partial

from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from oracle.adaptive import AdaptiveWorld, checked
from oracle.world import Build, Plan


@dataclass(frozen=True)
class Sharp(Plan):
    """One such world."""

    slow: float = 0.3
    """How many of the links are slow."""
    relay: float = 0.7
    """How often who delivered something last speaks next."""
    aimed: float = 0.5
    """How often it speaks to who waits at the end of a slow link."""
    hub: float = 0.0
    """How often the first process is spoken to, or speaks."""


class SharpWorld(AdaptiveWorld):
    """Plays one."""

    plan: Sharp

    def __init__(self, build: Build, plan: Sharp, peek: bool = True) -> None:
        super().__init__(build, plan, peek)
        pairs = [(i, j) for i in range(plan.processes) for j in range(plan.processes) if i != j]
        self.slow = set(self.chance.sample(pairs, round(plan.slow * len(pairs))))
        self.relays: list[int] = []
        """Who delivered something, the last one at the end."""

    def _over(self, i: int) -> None:
        super()._over(i)
        if self.got[i] and (not self.relays or self.relays[-1] != i):
            self.relays.append(i)

    def fated(self) -> list[int]:
        fated = super().fated()
        if self.relays and self.relays[-1] not in fated and self.chance.random() < 0.8:
            fated[0] = self.relays[-1]
        return fated

    def _say_something(self) -> None:
        n, chance, plan = self.plan.processes, self.chance, self.plan
        i = chance.randrange(n)
        if chance.random() < plan.relay and self.relays:
            i = chance.choice(self.relays[-2:])
        elif chance.random() < plan.hub:
            i = 0
        while i in self.crashed:
            i = (i + 1) % n
        others = [j for j in range(n) if j != i]
        count = chance.randint(1, min(3, n - 1)) if plan.multicast and chance.random() < 0.4 else 1
        targets = chance.sample(others, count)
        waiting = [j for a, j, _ in self.flying if (a, j) in self.slow and j != i]
        if waiting and chance.random() < plan.aimed:
            targets[0] = chance.choice(waiting)
        elif i and chance.random() < plan.hub:
            targets[0] = 0
        self.say(i, tuple(dict.fromkeys(targets)))

    def _something_arrives(self) -> None:
        fast = [k for k, (i, j, _) in enumerate(self.flying) if (i, j) not in self.slow]
        if fast and self.chance.random() < 0.97:
            self.arrive(self.chance.choice(fast))
        else:
            super()._something_arrives()


def sharp_plan(seed: int, multicast: bool, crash: str = "") -> Sharp:
    """All kinds of them, by seed."""
    chance = random.Random(~seed)
    return Sharp(
        seed=seed,
        processes=chance.choice((4, 5, 6, 8)),
        messages=chance.randint(10, 50),
        multicast=multicast,
        fifo=chance.random() < 0.3,
        loss=chance.choice((0.0, 0.0, 0.0, 0.2)),
        crash=crash,
        slow=chance.choice((0.1, 0.2, 0.4)),
        relay=chance.choice((0.3, 0.7, 0.9)),
        aimed=chance.choice((0.2, 0.5, 0.8)),
        hub=chance.choice((0.0, 0.0, 0.5)),
    )


def play_sharp(plan: Sharp, bound: int, build: Build = HybridAdaptive, peek: bool = True) -> SharpWorld:
    """One world to its end; raises what the judge found."""
    world = SharpWorld(partial(build, constraints=bound), plan, peek)
    return checked(world, f"from oracle.sharp import *; play_sharp({plan!r}, {bound})")
