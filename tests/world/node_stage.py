"""Some nodes in a world of a few lines: what a scene needs to start them, let them speak and look at them."""

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
        _play(scene)  # In a frame of its own, or something of the world would outlive the burial.


def _play(scene: Callable[[Stage], Awaitable[None]]) -> None:
    world = World(scene.__name__)

    async def main() -> None:
        await scene(Stage(world))

    try:
        world.run(main())
    finally:
        world.bury()


def told(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [record.__dict__["fields"] for record in caplog.records if record.getMessage() == event]
