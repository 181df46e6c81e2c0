"""Runs the members of an example on this machine, each in a process of its own.

In earnest every member has its own machine and configuration file; see docs/node.md.
"""

import asyncio
import multiprocessing
import sys
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any

from aforesaid import Config, Node

Member = Callable[[Node[Any]], Awaitable[None]]


def run_group(names: list[str], member: Member, payload: Any = None) -> None:
    """Start `member(node)` for each name, and wait until all are done. `payload`: if not bytes."""
    context = multiprocessing.get_context("spawn")
    processes, pipes = [], {}
    for name in names:
        # Each finds a free port; where the others are is told when all have.
        config = Config(name=name, peers={peer: "127.0.0.1:0" for peer in names if peer != name})
        pipes[name], theirs = context.Pipe()
        processes.append(context.Process(target=_run, args=(config, member, theirs, payload), name=name))
        processes[-1].start()
        theirs.close()
    try:
        addresses = {name: pipe.recv() for name, pipe in pipes.items()}
        for name, pipe in pipes.items():
            pipe.send({peer: at for peer, at in addresses.items() if peer != name})
    except (EOFError, BrokenPipeError):
        pass  # One has failed; which, is told below.
    for pipe in pipes.values():
        pipe.close()
    for process in processes:
        process.join()
    if failed := [process.name for process in processes if process.exitcode]:
        sys.exit(f"failed: {', '.join(failed)}")


def _run(config: Config, member: Member, pipe: "Connection[str, dict[str, str]]", payload: Any) -> None:
    async def main() -> None:
        async with Node(config, payload=payload) as node:
            pipe.send(str(node.address))
            node.introduce(await asyncio.to_thread(pipe.recv))
            await member(node)

    asyncio.run(main())
