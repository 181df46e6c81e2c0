"""Real nodes that come and go, in order or by a kill: arcs stay as many, joins as fast (docs/overlays.md)."""

import asyncio
from math import log
from statistics import median
from typing import Any

import pytest

from aforesaid import Config, Node
from support.scale import scaled
from world.node_stage import PORT, Stage, play

STABLE = 20
VISITS = scaled(40, 500)
STAY_S = 0.2
FACTS = {"algorithm": "prc_spray", "transport": "tcp", "heartbeat_s": 5.0}


@pytest.mark.parametrize("how", ["leave", "kill"])
def test_visits_leave_as_many_arcs_as_there_were_and_do_not_slow_down_joins(how: str) -> None:
    took: list[float] = []

    async def visited(stage: Stage) -> None:
        world = stage.world
        names = [f"s{number}" for number in range(STABLE)]
        at = [f"{world.host(name)}:{PORT}" for name in names]
        await stage.start(names[0], **FACTS)
        for name in names[1:]:
            await stage.start(name, contact=at[int(world.chance.random() * len(stage.nodes))], **FACTS)
        for number in range(VISITS):
            await visit(stage, f"v{number}", world.chance.choice(at))
        await asyncio.sleep(30)
        machines: list[Any] = [stage.nodes[name]._running.machine for name in names]
        views = [len(machine.sampler.view) for machine in machines]
        assert STABLE * log(STABLE) / 2 < sum(views) < 2 * STABLE * log(STABLE), views
        await stage.say(names[0], b"last")
        await stage.until(lambda: all(b"last" in stage.heard[name] for name in names), "not all hear")

    async def visit(stage: Stage, name: str, contact: str) -> None:
        world = stage.world
        machine = world.boot(name)
        where = {"listen": f"{world.host(name)}:{PORT}", "contact": contact}
        config = Config.of({"name": name, **where, **FACTS})
        gone = asyncio.Event()

        async def come_and_go() -> None:
            began = world.now_s
            async with Node(config):
                took.append(world.now_s - began)
                await asyncio.sleep(STAY_S)
                if how == "kill":
                    machine.kill()
                    await asyncio.sleep(0)
            gone.set()

        machine.on_death = lambda _: gone.set()
        world.on(machine, come_and_go)
        await gone.wait()
        await asyncio.sleep(0.1)

    play(visited)
    quarter = len(took) // 4
    assert median(took[-quarter:]) < 1.5 * median(took[:quarter]), took
