"""What befalls the cast of a world: one method for each kind of fault of a plan."""

import asyncio

from aforesaid.core import Process
from aforesaid.world.actor import Actor
from aforesaid.world.cast import Cast
from aforesaid.world.machine import DESCRIPTORS_MAX
from aforesaid.world.plan import Fault

EVICTED_WITHIN_S = 3.0
"""Somebody hears within so long that a process was killed; the others when the faults are over."""

FUSE_EFFECTS_MAX = 60
ROOM_BYTES_MAX = 400
DESCRIPTORS_GONE = 0.7
"""In this share of cases none is left, else one."""
CLOCK_JUMP_S_MAX = 100.0
SLOW_S_MAX = 0.03
BACK = 0.7
"""The share of the killed that come back, where the history is kept."""


class Fates:
    """The faults of a plan, and who comes back after them."""

    def __init__(self, cast: Cast) -> None:
        self.cast, self.plan, self.world = cast, cast.plan, cast.world
        self._visitors = 0

    async def suffer(self, fault: Fault) -> None:
        """One fault, from its moment to its end."""
        await asyncio.sleep(max(0.0, fault.at_s - self.world.now_s))
        did = self.world.network.did
        handler = getattr(self, f"_{fault.kind.replace(' ', '_')}")
        if await handler(fault):
            did[fault.kind] += 1

    async def _halt(self, fault: Fault) -> bool:
        if (actor := self.cast.actor(fault.who[0])) is None:
            return False
        actor.machine.halt()
        await asyncio.sleep(fault.for_s)
        actor.machine.go_on()
        if timeout_s := self.plan.evict_after_s:
            long = fault.for_s > timeout_s / 2
            self.world.network.did[f"halt of {'more' if long else 'less'} than half the time-out"] += 1
        return True

    async def _part(self, fault: Fault) -> bool:
        everyone = {actor.name for actor in self.cast.actors}
        pairs = [(a, b) for a in fault.who for b in sorted(everyone - set(fault.who))]
        return await self._cut_off([*pairs, *((b, a) for a, b in pairs)], fault.for_s)

    async def _cut(self, fault: Fault) -> bool:
        return await self._cut_off([(fault.who[0], fault.who[1])], fault.for_s)

    async def _cut_off(self, pairs: list[tuple[Process, Process]], for_s: float) -> bool:
        network = self.world.network
        for pair in pairs:
            network.cut(*pair)
        await asyncio.sleep(for_s)
        for pair in pairs:
            network.mend(*pair)
        return True

    async def _rough(self, fault: Fault) -> bool:
        weather = self.world.network.weather
        weather.loss, weather.spike = 0.1 + 0.5 * fault.amount, 0.05
        await asyncio.sleep(fault.for_s)
        self.cast.set_weather()
        return True

    async def _deaf(self, fault: Fault) -> bool:
        """The application does not take what is delivered."""
        if (actor := self.cast.actor(fault.who[0])) is None:
            return False
        actor.listens.clear()
        await asyncio.sleep(fault.for_s)
        actor.listens.set()
        return True

    async def _reset(self, fault: Fault) -> bool:
        self.world.network.reset_streams(fault.amount)
        return True

    async def _clock(self, fault: Fault) -> bool:
        """The wall clock jumps."""
        if (actor := self.cast.actor(fault.who[0])) is not None:
            actor.machine.wall_ns += round((2 * fault.amount - 1) * CLOCK_JUMP_S_MAX * 1e9)
        return actor is not None

    async def _kill(self, fault: Fault) -> bool:
        if (actor := self.cast.actor(fault.who[0])) is None:
            return False
        actor.machine.kill()
        await self._mourn(actor)
        return True

    async def _kill_midway(self, fault: Fault) -> bool:
        """Between two effects of one turn."""
        if (actor := self.cast.actor(fault.who[0])) is None:
            return False
        actor.machine.fuse = round(fault.amount * FUSE_EFFECTS_MAX)
        await asyncio.sleep(fault.for_s)
        actor.machine.fuse = None
        if actor.machine.alive:
            return False
        await self._mourn(actor)
        return True

    async def _disk_full(self, fault: Fault) -> bool:
        if (actor := self.cast.actor(fault.who[0])) is None:
            return False
        disk = self.world.disks[actor.name]
        disk.room = round(fault.amount * ROOM_BYTES_MAX)
        await asyncio.sleep(fault.for_s)
        disk.room = None
        if actor.here:
            return False
        await self._mourn(actor)
        return True

    async def _descriptors(self, fault: Fault) -> bool:
        if (actor := self.cast.actor(fault.who[0])) is None:
            return False
        machine = actor.machine
        machine.descriptors_max = len(machine.open) + (fault.amount > DESCRIPTORS_GONE)
        await asyncio.sleep(fault.for_s)
        machine.descriptors_max = DESCRIPTORS_MAX
        return True

    async def _disk_slow(self, fault: Fault) -> bool:
        disk = self.world.disks[fault.who[0]]
        disk.slow_s = fault.amount * SLOW_S_MAX
        await asyncio.sleep(fault.for_s)
        disk.slow_s = 0.0
        return True

    async def _power(self, fault: Fault) -> bool:
        """It dies, and what was not forced to its disk is gone."""
        if (actor := self.cast.actor(fault.who[0])) is None:
            return False
        actor.machine.kill()
        lost = self.world.disks[actor.name].lose_power(self.world.chance)
        self.world.network.did["bytes lost without power"] += lost
        await self._mourn(actor)
        return True

    async def _mourn(self, dead: Actor) -> None:
        """One of the others hears that it is dead; it tells the rest, or it does not come to that. Who
        survives comes back instead."""
        chance = self.world.chance
        await asyncio.sleep(chance.uniform(0.0, EVICTED_WITHIN_S))
        if self.plan.survives or (self.plan.group == "keeping" and chance.random() < BACK):
            await self._bring_back(dead.name)
            return
        others = [actor for actor in self.cast.here() if actor.machine.runs]
        if self.plan.fixed and others and not self.cast.left_to_the_time_out():
            self.cast.evict(chance.choice(others), dead.name)

    async def _bring_back(self, name: Process) -> None:
        """It may be killed again while it comes back."""
        chance, did = self.world.chance, self.world.network.did
        while self.cast.actor(name) is None:
            self.cast.start(name)
            did["brought back"] += 1
            actor = self.cast.actor(name)
            if actor is None or chance.random() < 0.5:
                return
            actor.machine.fuse = chance.randrange(FUSE_EFFECTS_MAX)
            await asyncio.sleep(chance.uniform(0.0, EVICTED_WITHIN_S))
            actor.machine.fuse = None
            if not actor.machine.alive:
                did["killed while it came back"] += 1
                if self.plan.survives and self.cast.actor(name) is None and chance.random() < 0.5:
                    self.world.disks[name].lose_power(chance)

    async def _admit(self, fault: Fault) -> bool:
        """A newcomer starts, and one of those it knows is told to admit it, or another if that one dies.
        Whether it was may take until the others are back."""
        (name,) = fault.who
        if self.cast.actor(name) is None:
            self.cast.start(name)
        self.cast.have_admitted(name)
        return True

    async def _join(self, fault: Fault) -> bool:
        self._visitors += 1
        self.cast.start(f"v{self._visitors}")
        return True

    async def _back(self, fault: Fault) -> bool:
        """Who was killed, or has left, starts again on its old disk."""
        dead = sorted(
            {actor.name for actor in self.cast.actors} - {actor.name for actor in self.cast.open_lives()}
        )
        if dead:
            self.cast.start(dead[int(fault.amount * len(dead)) % len(dead)])
        return bool(dead)

    async def _leave(self, fault: Fault) -> bool:
        actors = self.cast.here()
        if len(actors) > 2:
            actors[int(fault.amount * len(actors)) % len(actors)].leaves.set()
        return len(actors) > 2
