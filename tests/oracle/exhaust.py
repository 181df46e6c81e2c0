"""Every schedule of a small script: processes say their lines in order, at any time; any frame comes next.

States that are equal are looked at once: equal processes, frames on their way, lines left, and all that the
judge goes by later. The judge watches every step on every path.
"""

import pickle
from typing import Any

from aforesaid.core import freeze
from oracle.world import Build, Plan, World

Script = tuple[tuple[tuple[int, ...], ...], ...]
"""By process: the audiences of what it says, in order."""


def explore(build: Build, optimal: bool, script: Script) -> int:
    """Play every schedule to its end; how many states there are. Raises what the judge finds."""
    world = World(build, Plan(0, processes=len(script)), optimal)
    # Nothing is left to chance here, and its state would make up most of a copy.
    chance, world.chance = world.chance, None  # type: ignore[assignment]
    todo = [(world, (0,) * len(script))]
    seen = {_picture(*todo[0])}
    while todo:
        world, said = todo.pop()
        image = pickle.dumps(world)
        children = []
        for i, lines in enumerate(script):
            if said[i] < len(lines):
                child = pickle.loads(image)
                child.say(i, lines[said[i]])
                children.append((child, (*said[:i], said[i] + 1, *said[i + 1 :])))
        for place in range(len(world.flying)):
            if world.flying[place] not in world.flying[:place]:
                child = pickle.loads(image)
                child.arrive(place)
                children.append((child, said))
        if not children:
            world.chance = chance
            world.drain()
        for state in children:
            picture = _picture(*state)
            if picture not in seen:
                seen.add(picture)
                todo.append(state)
    return len(seen)


def _picture(world: World, said: tuple[int, ...]) -> int:
    judge: Any = world.judge
    watched = (judge.knows, judge.at, judge.permit_known, judge.permit_given, judge.acked, judge.past)
    return hash(
        (
            said,
            tuple(freeze(machine) for machine in world.machines),
            tuple(sorted(map(repr, world.flying))),
            freeze(watched),
            freeze(judge.index),
        )
    )
