"""Runs the members of an example on this machine, each in a process of its own.

In earnest every member has its own machine and configuration file; see docs/node.md.
"""

import asyncio
import multiprocessing
import socket
import sys
from collections.abc import Awaitable, Callable

from aforesaid import Config, Node

Member = Callable[[Node], Awaitable[None]]


def run_group(names: list[str], member: Member) -> None:
    """Start `member(node)` for each name, and wait until all are done."""
    addresses = dict(zip(names, _free_addresses(len(names)), strict=True))
    context = multiprocessing.get_context("spawn")
    processes = []
    for name in names:
        peers = {peer: at for peer, at in addresses.items() if peer != name}
        config = Config(name=name, listen=addresses[name], peers=peers)
        processes.append(context.Process(target=_run, args=(config, member), name=name))
        processes[-1].start()
    for process in processes:
        process.join()
    if failed := [process.name for process in processes if process.exitcode]:
        sys.exit(f"failed: {', '.join(failed)}")


def _run(config: Config, member: Member) -> None:
    async def main() -> None:
        async with Node(config) as node:
            await member(node)

    asyncio.run(main())


def _free_addresses(count: int) -> list[str]:
    held = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in held]
    for each in held:
        each.close()
    return found
