"""What a node waits for in its life: to be let in, that others have what it said, to be needed no more."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from aforesaid.core import SECOND, Misuse, Process
from aforesaid.node.endings import Isolated
from aforesaid.node.host import Host
from aforesaid.node.operating.logs import tell

DRAIN_POLL_S = 0.005


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await what must not be left half done; who is cancelled meanwhile hears of it afterwards."""
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


async def welcomed(host: Host, contact: Process | None) -> None:
    """Returns once the node is a member; Misuse if it was not let in."""
    waits = [asyncio.create_task(host.inside.wait()), asyncio.create_task(host.isolation.wait())]
    try:
        while not any(wait.done() for wait in waits):
            # A newcomer has to be heard to be admitted.
            pause = host.config.heartbeat_s if host.config.newcomer else None
            await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if host.config.newcomer:
                host.carrier.beat(host.now())
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    host.check()
    if not host.inside.is_set():
        raise Misuse(f"contact: {contact} did not let {host.config.name} in")


async def drained(host: Host) -> None:
    """Returns once nothing that was said there is under way any more."""
    while host.busy:
        host.check()
        await asyncio.sleep(DRAIN_POLL_S)


async def lingered(running: Callable[[], Host], linger_s: float) -> bool:
    """A node closes, and gives others so long; false if there was more to do. `running`: its present host."""
    host = running()
    host.inbox.closing = True
    host.taken()
    try:
        async with asyncio.timeout(linger_s):
            await drained(host)
            if host.entry.linked:
                await _handed_over(running())
                await drained(running())
    except Isolated:
        # Whoever could have heard is gone; there is nothing to wait for.
        tell(host.config.name, "closed while isolated", level="warning")
    except TimeoutError:
        host = running()
        held = {"under_way": host.flight.held, **host.machine.gauges()}
        tell(host.config.name, "closed too early", level="warning", **held)
        return False
    return True


async def _handed_over(host: Host) -> None:
    """Until the neighbours have linked with each other, where they have few other links."""
    began = host.now()
    host.hand_over()
    while host.needed:
        host.check()
        await asyncio.sleep(DRAIN_POLL_S)
    # The last steps of a handshake need no mediator, and take less than those that did.
    await asyncio.sleep((host.now() - began) / SECOND)
