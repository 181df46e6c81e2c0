"""What the tests of real nodes share: free ports, groups of nodes in one loop, and the verdict on a run."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from aforesaid import Config, Message, Node
from aforesaid.check import Report, check
from aforesaid.core import Linking, Process
from aforesaid.core.version import STATE_FORMAT
from aforesaid.node.payloads import P
from aforesaid.node.recording.ingest import ingest
from aforesaid.trace import MemorySink, MemoryTrace
from support.ports import free_ports

PATIENCE_S = 60.0
"""How long a test waits for what must happen: the machine may be busy."""


def free_addresses(count: int) -> list[str]:
    return [f"127.0.0.1:{port}" for port in free_ports(count)]


ANYWHERE = "127.0.0.1:0"


def group_configs(names: list[str], root: Path | None = None, **facts: Any) -> dict[str, Config]:
    """The configurations of a fixed group whose nodes find their ports themselves: `running` tells them where
    the others are. With a root, each has a directory of its own."""
    return _configs(dict.fromkeys(names, ANYWHERE), root, facts)


def placed_configs(names: list[str], root: Path | None = None, **facts: Any) -> dict[str, Config]:
    """The same with ports that are free just now: for those who start later, or are no nodes."""
    return _configs(dict(zip(names, free_addresses(len(names)), strict=True)), root, facts)


def _configs(at: dict[str, str], root: Path | None, facts: dict[str, Any]) -> dict[str, Config]:
    return {
        name: Config.of(
            {
                "name": name,
                "listen": at[name],
                "peers": {peer: at[peer] for peer in at if peer != name},
                **({} if root is None else {"directory": str(root / name)}),
                **facts,
            }
        )
        for name in at
    }


def introduced(nodes: dict[str, Node]) -> dict[str, Node]:
    """They know where the others are."""
    at = {name: str(node.address) for name, node in nodes.items()}
    for name, node in nodes.items():
        node.introduce({peer: at[peer] for peer in node.config.peers if peer in at and peer != name})
    return nodes


def links_of(node: Node) -> Sequence[tuple[Process, Any]]:
    """The links that a node of a changing group has."""
    machine = node._running.machine
    assert isinstance(machine, Linking)
    return machine.links()


@asynccontextmanager
async def running(configs: dict[str, Config]) -> AsyncIterator[dict[str, Node]]:
    """The nodes of a group in one loop."""
    async with AsyncExitStack() as stack:
        nodes = {name: await stack.enter_async_context(Node(config)) for name, config in configs.items()}
        yield introduced(nodes)


async def take(node: Node[P], count: int) -> list[Message[P]]:
    """The next messages of a node."""

    async def all_of_them() -> list[Message[P]]:
        return [await anext(node) for _ in range(count)]

    return await asyncio.wait_for(all_of_them(), PATIENCE_S)


async def until(holds: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for something that must come to be."""
    for _ in range(round(patience_s / 0.01)):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{what}: not within {patience_s} s")


def run(main: Awaitable[None]) -> None:
    """Run a test's coroutine; nothing may be left in the loop afterwards."""

    async def whole() -> None:
        await main
        await asyncio.sleep(0)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, left

    asyncio.run(whole())


def judged(root: Path) -> tuple[Report, MemoryTrace]:
    """The verdict on what all nodes below a directory wrote down."""
    sink = MemorySink()
    ingest(root, sink, "nodes")
    return check(sink.trace), sink.trace


def complaints(report: Report) -> list[str]:
    """What was required and not kept, in words."""
    return [
        f"{verdict.property} {verdict.value}: {[each.sentence for each in verdict.witnesses] or verdict.note}"
        for verdict in report.required_verdicts()
        if verdict.value != "kept"
    ]


def command(*arguments: object, version: str = "") -> list[str]:
    """The command line, of this version or as if it were of another one with the same state format."""
    other = [str(Path(__file__).parent / "another_version.py"), version, str(STATE_FORMAT)]
    return [sys.executable, *(other if version else ("-m", "aforesaid")), *map(str, arguments)]


def cluster_of_two(directory: Path) -> "subprocess.Popen[str]":
    """`aforesaid cluster 2`, spoken to through its standard input and output."""
    return subprocess.Popen(
        command("cluster", 2, "--directory", directory),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def finished(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """A command that ran to its end."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options
    )
