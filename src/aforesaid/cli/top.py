"""`aforesaid top`: a live table of nodes, by what each tells over its control socket."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.table import Table
from rich.text import Text

from aforesaid.cli import EXIT_UNKNOWN, show
from aforesaid.core import Misuse
from aforesaid.node.operating.claim import LOCK
from aforesaid.node.operating.control import SOCKET, ask

NUMBERS = ("peers", "said/s", "heard/s", "waiting", "oldest")
COLUMNS = ("node", "state", "peers", "said/s", "heard/s", "waiting", "oldest", "for", "suspects", "disk")

Status = dict[str, Any]
"""What a node says of itself; of one that does not answer its name, `state` "down", and why."""


def watch(directories: list[Path], every_s: float, once: bool, as_json: bool) -> int:
    """Until Ctrl-C, or once; the exit code."""
    places = [place for directory in directories for place in _places(directory)]
    now = _asked(places)
    if as_json:
        show.print_json(now)
    elif once or not show.out.is_terminal:
        time.sleep(every_s)
        before, now = now, _asked(places)
        show.out.print(_table(before, now))
    else:
        now = _live(places, now, every_s)
    return EXIT_UNKNOWN if any(each["state"] == "down" for each in now) else 0


def _live(places: list[Path], now: list[Status], every_s: float) -> list[Status]:
    """What was said last, when Ctrl-C came."""
    try:
        with Live(_table(now, now), console=show.out, screen=False, auto_refresh=False) as live:
            while True:
                time.sleep(every_s)
                before, now = now, _asked(places)
                live.update(_table(before, now), refresh=True)
    except KeyboardInterrupt:
        return now


def _places(directory: Path) -> list[Path]:
    """It is a node's own, or has those of nodes in it."""
    if not directory.is_dir():
        raise Misuse(f"{directory} is no directory")
    if _is_node(directory):
        return [directory]
    found = sorted(path for path in directory.iterdir() if path.is_dir() and _is_node(path))
    if not found:
        raise Misuse(f"no node ever ran in {directory}, nor in a directory in it")
    return found


def _is_node(directory: Path) -> bool:
    return (directory / LOCK).exists() or (directory / SOCKET).exists()


def _asked(places: list[Path]) -> list[Status]:
    """All at once: one that stands still is waited for, and keeps nobody else waiting."""
    with ThreadPoolExecutor(len(places)) as pool:
        return list(pool.map(_ask, places))


def _ask(place: Path) -> Status:
    try:
        status: Status = ask(str(place), {"status": True})
    except Misuse as error:
        status = {"name": place.name, "state": "down", "why": str(error)}
    return {"directory": str(place), **status}


def _table(before: list[Status], now: list[Status]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in COLUMNS:
        table.add_column(title, justify="right" if title in NUMBERS else "left", no_wrap=True)
    for then, each in zip(before, now, strict=True):
        if each["state"] == "down":
            table.add_row(each["name"], Text("down", style="bold red"))
        else:
            table.add_row(*_row(then, each))
    return table


def _row(then: Status, now: Status) -> list[str | Text]:
    oldest = next(iter(now["waits"]), None)
    journal = now["journal"]
    return [
        Text(now["name"]),
        Text(now["state"], style="" if now["state"] == "running" else "bold yellow"),
        f"{list(now['peers'].values()).count('connected')}/{len(now['peers'])}",
        _rate(then, now, "said"),
        _rate(then, now, "delivered"),
        f"{now['queues']['under_way']:,}",
        "" if oldest is None else f"{oldest['seconds']:.1f} s",
        Text("" if oldest is None else oldest["peer"]),
        Text(" ".join(now["suspects"]), style="bold yellow"),
        "" if journal is None else f"{journal['records']:,} behind",
    ]


def _rate(then: Status, now: Status, what: str) -> str:
    """Per second, by the node's own clock; nothing for one that was down, or has started again."""
    if then.get("incarnation") != now["incarnation"] or now["clock_s"] <= then["clock_s"]:
        return ""
    return f"{max(0.0, (now[what] - then[what]) / (now['clock_s'] - then['clock_s'])):,.0f}"
