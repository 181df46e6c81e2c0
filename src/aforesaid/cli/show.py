"""How results look: the two consoles, progress, and tables of name and value."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False)

STYLE_OF_VALUE = {"kept": "green", "violated": "bold red", "unknown": "yellow"}


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


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
