"""What becomes of a group when one of its nodes fails, told by worlds of a few lines."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aforesaid import Config, Node
from aforesaid.world.world import World, quiet_burial

PORT = 7000


class Stage:
    """Some nodes in a world; each listens and keeps what it heard."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nodes: dict[str, Node] = {}
        self.heard: dict[str, list[bytes]] = {}
        self.errors: dict[str, Exception] = {}
        self.machines: dict[str, Any] = {}

    async def start(self, name: str, **facts: Any) -> Node:
        self.machines[name] = machine = self.world.boot(name)
        config = Config.of(
            {
                "name": name,
                "listen": f"{self.world.host(name)}:{PORT}",
                "directory": f"/world/{name}",
                **facts,
            }
        )
        self.heard[name] = []
        self.world.on(machine, lambda: self._live(config))
        await self.until(lambda: name in self.nodes, f"{name} has not started")
        return self.nodes[name]

    async def group(self, *names: str, **facts: Any) -> None:
        at = {name: f"{self.world.host(name)}:{PORT}" for name in names}
        for name in names:
            peers = {other: where for other, where in at.items() if other != name}
            await self.start(name, peers=peers, **facts)

    async def say(self, name: str, payload: bytes) -> None:
        await self.world.on(self.machines[name], lambda: self.nodes[name].broadcast(payload))

    async def until(self, holds: Callable[[], bool], what: str, within_s: float = 60.0) -> None:
        began = self.world.now_s
        while not holds():
            assert self.world.now_s < began + within_s, what
            await asyncio.sleep(0.05)

    async def _live(self, config: Config) -> None:
        try:
            async with Node(config) as node:
                self.nodes[config.name] = node
                async for message in node:
                    self.heard[config.name].append(message.payload)
        except Exception as error:
            self.errors[config.name] = error


def play(scene: Callable[[Stage], Awaitable[None]]) -> None:
    with quiet_burial():
        world = World(scene.__name__)

        async def main() -> None:
            await scene(Stage(world))

        world.run(main())
        world.bury()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_node_that_has_failed_says_goodbye_and_nobody_waits_for_it(transport: str) -> None:
    async def full_disk(stage: Stage) -> None:
        await stage.group("a", "b", "c", transport=transport)
        await asyncio.sleep(1)
        stage.world.disks["a"].room = 0
        await stage.say("a", b"lost")
        await stage.until(lambda: stage.nodes["b"].peers["a"] == "left", "b takes a for alive", 2.0)
        await stage.until(lambda: "a" in stage.errors, "a does not tell its application", 5.0)
        assert "No space left" in str(stage.errors["a"])
        await stage.say("b", b"after")
        await stage.until(lambda: b"after" in stage.heard["c"], "b and c wait for a", 2.0)

    play(full_disk)


def test_who_restarts_finds_its_group_by_what_its_directory_remembers() -> None:
    async def founder_back(stage: Stage) -> None:
        world = stage.world
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        for name in "bc":
            await stage.start(
                name, algorithm="prc_spray", transport="tcp", contact=[f"{world.host('a')}:{PORT}"]
            )
        await asyncio.sleep(15)
        stage.machines["a"].kill()
        del stage.nodes["a"]
        await asyncio.sleep(5)
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        await stage.say("a", b"back")
        await stage.until(lambda: b"back" in stage.heard["b"], "a has founded a group of its own")
        await stage.until(lambda: b"back" in stage.heard["c"], "c is elsewhere")

    play(founder_back)


def test_who_is_left_alone_founds_the_group_anew_after_a_while() -> None:
    async def alone(stage: Stage) -> None:
        world = stage.world
        await stage.start("a", algorithm="prc_spray", transport="tcp")
        await stage.start("b", algorithm="prc_spray", transport="tcp", contact=f"{world.host('a')}:{PORT}")
        await asyncio.sleep(3)
        stage.machines["a"].kill()
        await asyncio.sleep(5)
        began = world.now_s
        await stage.say("b", b"alone")
        assert world.now_s - began < 30
        await stage.until(lambda: b"alone" in stage.heard["b"], "b does not hear itself")

    play(alone)
