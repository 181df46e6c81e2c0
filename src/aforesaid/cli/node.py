"""`aforesaid node` and `aforesaid why`: a node on standard input and output, and questions to a live one."""

import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from aforesaid.cli import show
from aforesaid.cli.standard_streams import StandardOutput, fill_standard_streams, standard_input
from aforesaid.node import Config, Node
from aforesaid.node.operating.control import ask
from aforesaid.node.operating.lines import converse
from aforesaid.node.operating.logs import to_stderr


def run_node(path: Path, log: str) -> int:
    """Until it is told to stop; the exit code."""
    fill_standard_streams()
    config = Config.from_file(path)
    to_stderr(log)
    return _run(_serve(config))


def explain(directory: Path, message: str | None, as_json: bool) -> None:
    """Why a message waits at the node of a directory; without one, how its peers are."""
    if message is None:
        peers = ask(str(directory), {"peers": True})
        if as_json:
            show.print_json(peers)
        else:
            show.print_facts(str(directory), peers.items())
        return
    if as_json:
        show.print_json(ask(str(directory), {"reasons": message}))
    else:
        show.out.print("\n".join(ask(str(directory), {"why": message})), markup=False)


def evict(directory: Path, peer: str) -> None:
    ask(str(directory), {"evict": peer})
    show.out.print(f"{peer} is evicted", markup=False)


def rekey(directory: Path, key: Path, accept: list[Path]) -> None:
    # The node may have been started elsewhere.
    ask(str(directory), {"rekey": [str(path.resolve()) for path in (key, *accept)]})
    accepted = f", and accepts {', '.join(map(str, accept))}" if accept else ""
    show.out.print(
        f"the node of {directory} uses {key}{accepted}; say so in its configuration, too", markup=False
    )


async def _serve(config: Config) -> int:
    """Run it to its end; the exit code."""
    me, stop = asyncio.current_task(), asyncio.Event()
    asked: list[int] = []

    def ask_to_stop(number: int) -> None:
        """In order; asked again, or before it has begun, at once."""
        if (asked or node is None) and me is not None:
            me.cancel()
        asked.append(number)
        stop.set()

    node: Node | None = None
    for number in stopping_signals():
        asyncio.get_running_loop().add_signal_handler(number, ask_to_stop, number)
    try:
        async with Node(config) as node:
            await converse(node, standard_input(), StandardOutput().write, stop)
    except asyncio.CancelledError:
        if not asked:
            raise
        return 128 + asked[-1]
    return 0


def stopping_signals() -> list[signal.Signals]:
    """Whoever runs it under nohup wants it to outlive the terminal."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if ignored else [signal.SIGHUP])]


def _run(main: Coroutine[Any, Any, int]) -> int:
    """On uvloop where it is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.run(main)
    return uvloop.run(main)
