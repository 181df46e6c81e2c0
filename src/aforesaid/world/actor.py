"""An application on one machine: a node of the real code, that says things, hears things and answers some."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from aforesaid.core import Misuse, Process
from aforesaid.node.config import Config
from aforesaid.node.endings import HistoryLost
from aforesaid.node.history.keeping import KeepingHost
from aforesaid.node.messages import Message
from aforesaid.node.node import Node
from aforesaid.world.machine import Machine
from aforesaid.world.plan import Plan

LARGE_BYTES_MAX, HUGE_BYTES_MAX = 60_000, 600_000
AGAIN_S = 1.0
BURST = 30
"""So many messages are said at once, now and then."""


class Actor:
    """One life of one process."""

    def __init__(
        self,
        plan: Plan,
        name: Process,
        config: Callable[[], Config],
        machine: Machine,
        heard: Callable[["Actor", Message], None],
        said: Callable[["Actor", Any, tuple[Process, ...], bytes], None],
        intend: Callable[["Actor", tuple[Process, ...]], bytes],
        was_told: Callable[["Actor", HistoryLost], None],
        has: int | None,
    ) -> None:
        self.plan = plan
        self.name = name
        self.machine = machine
        self._config = config
        self.node: Node | None = None
        self.talks = True
        self.listens = asyncio.Event()
        self.listens.set()
        self.leaves = asyncio.Event()
        self.failure: BaseException | None = None
        """What ended its node."""
        self.over = False
        self.saying = 0
        """What it wants to say and waits for room."""
        self._heard, self._said, self._intend = heard, said, intend
        self._was_told = was_told
        self._has = has
        """From which offset on its application resumes."""
        self._asked = asyncio.Semaphore(0)
        """What it has to answer. Who waits for room to answer must go on listening: so does everyone else."""
        self._chance = machine.chance

    @property
    def here(self) -> bool:
        """True while its node is a member and works."""
        return self.machine.alive and self.node is not None and self.failure is None and not self.over

    @property
    def survived(self) -> bool:
        """True if it works, or has closed in order after it had worked."""
        return self.machine.alive and self.node is not None and self.failure is None

    @property
    def settled(self) -> int | None:
        """The incarnation that has what its group has, and the group what it has, where history is kept."""
        host = self.node._running if self.node is not None else None
        there = isinstance(host, KeepingHost) and host.caught_up.is_set() and host.error is None
        return host.incarnation if host is not None and there else None

    async def live(self) -> None:
        """Until it is told to leave, or fails."""
        try:
            while not self.leaves.is_set():
                try:
                    await self._take_part()
                    break
                except (Misuse, OSError):
                    # Its contact may be gone, or outside itself: there are others. Or no descriptor is left
                    # for it to begin with.
                    if self.node is not None or self.plan.fixed:
                        raise
                    await asyncio.sleep(AGAIN_S)
        except Exception as error:
            self.failure = error
        finally:
            self.over = True

    async def _take_part(self) -> None:
        keeps = self.plan.group == "keeping"
        async with Node(self._config(), self._has, history="all" if keeps else None) as node:
            self.node = node
            work = [asyncio.create_task(each) for each in self._doings(node)]
            leaving: asyncio.Task[Any] = asyncio.create_task(self.leaves.wait())
            try:
                # Its doings end by failing only.
                await asyncio.wait([*work, leaving], return_when=asyncio.FIRST_COMPLETED)
                for task in work:
                    if task.done():
                        task.result()
            finally:
                self.talks = False
                for task in (*work, leaving):
                    task.cancel()
                await asyncio.gather(*work, leaving, return_exceptions=True)
            await node.leave()

    async def say(self, node: Node) -> None:
        self.saying += 1
        try:
            await self._say(node)
        finally:
            self.saying -= 1

    async def _say(self, node: Node) -> None:
        chance, plan = self._chance, self.plan
        size = chance.randrange(100)
        if plan.large and chance.random() < plan.large:
            size = chance.randrange(LARGE_BYTES_MAX)
        if plan.huge and chance.random() < plan.huge:
            size = chance.randrange(LARGE_BYTES_MAX, HUGE_BYTES_MAX)
        if node.config.entry.addressed:
            others = [name for name in node.members if name != self.name]
            audience = tuple(chance.sample(others, chance.randint(1, len(others))))
        else:
            audience = node.config.group
        intent = self._intend(self, audience)
        payload = intent + bytes(size)
        if node.config.entry.addressed:
            receipt = await node.send(audience, payload)
        else:
            receipt = await node.broadcast(payload)
        self._said(self, receipt.id, audience, intent)

    def _doings(self, node: Node) -> tuple[Coroutine[Any, Any, None], ...]:
        return self._listen(node), self._talk(node), self._answer(node)

    async def _answer(self, node: Node) -> None:
        while True:
            await self._asked.acquire()
            await self.say(node)

    async def _talk(self, node: Node) -> None:
        chance = self._chance
        while True:
            await asyncio.sleep(chance.expovariate(self.plan.rate))
            if not self.talks:
                await asyncio.sleep(3600)
            for _ in range(BURST if chance.random() < 0.01 else 1):
                await self.say(node)

    async def _listen(self, node: Node) -> None:
        while True:
            try:
                await self._listen_on(node)
                return
            except HistoryLost as lost:
                self._was_told(self, lost)

    async def _listen_on(self, node: Node) -> None:
        chance = self._chance
        async for message in node:
            self._heard(self, message)
            if self.plan.manual_acks:
                message.ack()
            if self.talks and chance.random() < self.plan.replies / len(self.plan.names):
                self._asked.release()
            await self.listens.wait()
