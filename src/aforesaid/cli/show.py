"""How results look: the two consoles, progress, and tables of name and value."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from aforesaid.cli import EXIT_NOBODY_READS

PIPE_COLUMNS = 200
"""How wide tables are that nobody looks at in a terminal: nothing is cut off for whoever reads on."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        nobody_reads()


def nobody_reads() -> NoReturn:
    """Whoever read the results has gone: that is no verdict."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(EXIT_NOBODY_READS)


# Without colours there is nothing else either: bold and dim are colours to whoever asks for none.
_COLORS: Any = None if os.environ.get("NO_COLOR") else "auto"
_COLUMNS = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_COLUMNS

out = _Console(highlight=False, soft_wrap=True, color_system=_COLORS, width=_COLUMNS)
err = Console(stderr=True, highlight=False, color_system=_COLORS)

STYLE_OF_VALUE = {"kept": "green", "violated": "bold red", "unknown": "yellow"}


def print_json(value: Any) -> None:
    try:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        nobody_reads()


def counted(number: int, what: str) -> str:
    """One run, 2 runs."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def in_runs(names: Iterable[str]) -> str:
    """Of names, one for each run that has it: in how many runs."""
    return ", ".join(f"{name} in {counted(count, 'run')}" for name, count in Counter(names).items())


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """A short table of name and value."""
    table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in facts:
        table.add_row(Text(name, style="dim"), Text(value))
    out.print(table)


def verdict(value: str) -> Text:
    return Text(value, style=STYLE_OF_VALUE[value])


@contextmanager
def progress(description: str, total: float | None, unit: str = "") -> Iterator[Callable[..., None]]:
    """A progress bar on a terminal, nothing in a pipe; yields what moves it (`completed`, `note`)."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%" if total else "{task.completed:,.0f} " + unit),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn() if total else TextColumn(""),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        yield partial(bar.update, bar.add_task(description, total=total, note=""))
