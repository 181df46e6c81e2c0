"""`aforesaid reproduce`: figure 5 and table 1 of the PRC-broadcast paper, and figures beyond it."""

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from aforesaid.cli import EXIT_KEPT, EXIT_VIOLATED, show
from aforesaid.core import AforesaidError, Misuse
from aforesaid.reproduce.making import make, validate


def reproduce_figures(figures: list[str], processes: list[int], seed: int, out: Path, as_json: bool) -> int:
    validate(figures, processes, out)
    done: dict[str, Any] = {}
    for figure in figures:
        try:
            done[figure] = make(figure, processes, seed, out, show.progress)
        except Misuse:
            raise
        except AforesaidError as error:  # A promise is broken.
            show.err.print(str(error), markup=False)
            raise typer.Exit(EXIT_VIOLATED) from None
        if not as_json:
            _show(figure, done[figure]["rows"], out)
    if as_json:
        show.print_json(done)
    else:
        show.out.print(f"written to {out}", markup=False)
    return EXIT_KEPT


def _show(figure: str, rows: list[dict[str, Any]], out: Path) -> None:
    """A line for each row, or a column if there are few of them with much to tell."""
    if figure == "table1":
        show.out.print((out / "table1.txt").read_text(), markup=False)
        return
    table = Table(title=figure, title_justify="left", box=None, padding=(0, 2, 0, 0))
    names = list(rows[0])
    if len(rows) < len(names):
        table.show_header = False
        lines = [[name, *(row[name] for row in rows)] for name in names]
        table.add_column(style="dim")
    else:
        lines = [list(row.values()) for row in rows]
    for name in names if table.show_header else rows:
        table.add_column(str(name), justify="right")
    for line in lines:
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in line))
    show.out.print(table)
