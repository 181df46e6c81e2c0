"""`aforesaid node` and `aforesaid why`: a node on standard input and output, and questions to a live one."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from aforesaid.cli import show
from aforesaid.node import Config, Node
from aforesaid.node.control import ask
from aforesaid.node.lines import converse
from aforesaid.node.logs import to_stderr

LINE_OVERHEAD_BYTES = 64 * 1024


def run_node(path: Path, log: str) -> None:
    config = Config.from_file(path)
    to_stderr(log)
    _run(_serve(config))


def explain(directory: Path, message: str | None, as_json: bool) -> None:
    """Why a message waits at the node of a directory; without one, how its peers are."""
    if message is None:
        peers = ask(str(directory), {"peers": True})
        if as_json:
            show.print_json(peers)
        else:
            show.print_facts(str(directory), peers.items())
        return
    sentences = ask(str(directory), {"why": message})
    if as_json:
        show.print_json(sentences)
    else:
        show.out.print("\n".join(sentences))


def evict(directory: Path, peer: str) -> None:
    ask(str(directory), {"evict": peer})
    show.out.print(f"{peer} is evicted")


async def _serve(config: Config) -> None:
    async with Node(config) as node:
        stop = asyncio.current_task()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.cancel if stop else _nothing)
        try:
            await converse(node, await _standard_input(config.payload_bytes_max), _write)
        except asyncio.CancelledError:
            # Asked to stop: that is an end in order, so the node lingers and says goodbye.
            if stop is not None:
                stop.uncancel()


def _nothing() -> None: ...


async def _standard_input(payload_bytes_max: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=2 * payload_bytes_max + LINE_OVERHEAD_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(sys.stdin.fileno()), "rb", 0)
    )
    return reader


def _write(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _run(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where it is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(main)
    else:
        uvloop.run(main)
