"""Some nodes in a world of a few lines: what a scene needs to start them, let them speak and look at them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aforesaid import Config, HistoryLost, Message, Node
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
        self.facts: dict[str, dict[str, Any]] = {}
        self.resume_from: dict[str, int] = {}
        self.payload: Any = None
        """The payload type of all nodes."""
        self.hear: Callable[[Node[Any], Message[Any]], Awaitable[None]] = self._keep
        """What is done with what a node takes."""
        self.history: dict[str, Any] = {}
        self.goes_on: set[str] = set()
        """Who goes on when messages are lost."""
        self.lost: dict[str, HistoryLost] = {}
        self.snapshots: dict[str, tuple[Any, Any]] = {}
        """How an application gives its state, and takes another's."""

    async def again(self, name: str, **facts: Any) -> Node:
        """Another start of a member, on its disk, with these facts besides those that it had."""
        return await self.start(name, **{**self.facts[name], **facts})

    async def start(self, name: str, **facts: Any) -> Node:
        self.begin(name, **facts)
        await self.until(lambda: name in self.nodes, f"{name} has not started")
        return self.nodes[name]

    def begin(self, name: str, **facts: Any) -> None:
        """As `start`, for one that may not come to it."""
        self.facts[name] = facts
        self.nodes.pop(name, None)
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

    async def _keep(self, node: Node[Any], message: Message[Any]) -> None:
        self.heard[node.name].append(message.payload)

    async def _live(self, config: Config) -> None:
        try:
            node: Node[Any] = Node(
                config,
                self.resume_from.get(config.name),
                history=self.history.get(config.name),
                payload=self.payload,
            )
            node.on_snapshot(*self.snapshots.get(config.name, (None, None)))
            async with node:
                self.nodes[config.name] = node
                try:
                    await self._listen(node)
                except HistoryLost as lost:
                    if node.name not in self.goes_on:
                        raise
                    self.lost[node.name] = lost
                    await self._listen(node)
        except Exception as error:
            self.errors[config.name] = error

    async def _listen(self, node: Node[Any]) -> None:
        async for message in node:
            await self.hear(node, message)


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
