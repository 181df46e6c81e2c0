"""`aforesaid node` and `aforesaid why`: a node on standard input and output, and questions to a live one."""

import asyncio
import signal
from collections.abc import Coroutine
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from aforesaid.cli import show
from aforesaid.cli.standard_streams import StandardOutput, fill_standard_streams, standard_input
from aforesaid.core import Misuse
from aforesaid.node import Config, Node
from aforesaid.node.building import JOURNAL
from aforesaid.node.groups import ADMIT_S
from aforesaid.node.history.keeper import Since
from aforesaid.node.operating.claim import Claim
from aforesaid.node.operating.control import ask
from aforesaid.node.operating.lines import converse
from aforesaid.node.operating.logs import tell, to_stderr

WAITS_MAX = 10
"""So many of those that wait longest are listed; --json has one for every peer."""


def run_node(path: Path, log: str, resume_from: int | None, history: str | None, new_identity: bool) -> int:
    """Until it is told to stop; the exit code."""
    fill_standard_streams()
    config = Config.from_file(path)
    to_stderr(log)
    if new_identity:
        _set_aside_journal(config)
    return _run(_serve(config, resume_from, _since(history)))


def _since(history: str | None) -> Since | None:
    if history in (None, "all", "from now"):
        return history  # type: ignore[return-value]
    try:
        moment = datetime.fromisoformat(history)
    except ValueError:
        raise Misuse(f"--history {history}: all, from now, or a moment as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo is not None else moment.astimezone()


def _set_aside_journal(config: Config) -> None:
    """The operator's word that this node is to be another one."""
    if not config.survives or config.directory is None:
        raise Misuse("--new-identity: this node has no identity to give up; every start is a new incarnation")
    journal = Path(config.directory) / JOURNAL
    if journal.exists():
        claim = Claim(config.directory)
        try:
            kept = next(name for number in count(1) if not (name := Path(f"{journal}-{number}")).exists())
            journal.rename(kept)
        finally:
            claim.release()
        tell(config.name, "journal set aside", level="warning", journal=str(kept))


def explain(directory: Path, message: str | None, as_json: bool) -> None:
    """Why a message waits at the node of a directory; without one, its peers and what waits longest."""
    if message is None:
        peers, waits = ask(str(directory), {"peers": True}), ask(str(directory), {"waits": True})
        if as_json:
            show.print_json({"peers": peers, "waits": waits})
            return
        show.print_facts(str(directory), peers.items())
        if waits:
            show.print_facts("what waits longest", map(_fact, waits[:WAITS_MAX]))
        return
    if as_json:
        show.print_json(ask(str(directory), {"reasons": message}))
    else:
        show.out.print("\n".join(ask(str(directory), {"why": message})), markup=False)


def _fact(wait: dict[str, Any]) -> tuple[str, str]:
    return wait["message"], f"{wait['seconds']:.1f} s for {wait['peer']}. {wait.get('why', '')}".rstrip()


def admit(directory: Path, peer: str, address: str) -> None:
    show.err.print(f"waiting for {peer} to be heard at {address}", markup=False)
    ask(str(directory), {"admit": [peer, address]}, answer_s=2 * ADMIT_S)
    show.out.print(f"{peer} is admitted", markup=False)


def dismiss(directory: Path, peer: str) -> None:
    ask(str(directory), {"dismiss": peer})
    show.out.print(f"{peer} is dismissed: it leaves when all is delivered", markup=False)


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


async def _serve(config: Config, resume_from: int | None, history: Since | None) -> int:
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
        async with Node(config, resume_from, history=history) as node:
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
