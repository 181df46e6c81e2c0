"""`aforesaid reproduce`: figure 5 and table 1 of the PRC-broadcast paper, and figures beyond it."""

import csv
import json
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from aforesaid import __version__
from aforesaid.cli import EXIT_KEPT, EXIT_VIOLATED, show
from aforesaid.core import Misuse

PROCESSES_MIN = {"fig5a": 2, "fig5b": 2, "table1": 8, "churn": 2, "crossover": 2, "flood": 3}
"""What can be reproduced, and with how many processes at least."""


def reproduce_figures(figures: list[str], processes: list[int], seed: int, out: Path, as_json: bool) -> int:
    _validate(figures, processes)
    _prepare(out)
    done: dict[str, Any] = {}
    for figure in figures:
        rows = _reproduce(figure, processes, seed, out)
        done[figure] = {"figure": figure, "seed": seed, "versions": _versions(figure), "rows": rows}
        (out / f"{figure}.json").write_text(json.dumps(done[figure], indent=2) + "\n")
        _write_csv(out / f"{figure}.csv", rows)
        if not as_json:
            _show(figure, rows, out)
    if as_json:
        show.print_json(done)
    else:
        show.out.print(f"written to {out}", markup=False)
    return EXIT_KEPT


def _validate(figures: list[str], processes: list[int]) -> None:
    for figure in figures:
        if figure not in PROCESSES_MIN:
            raise Misuse(f"no figure {figure!r}; there are {', '.join(PROCESSES_MIN)}")
        for count in processes:
            if count < PROCESSES_MIN[figure]:
                raise Misuse(f"{figure} needs at least {PROCESSES_MIN[figure]} processes, not {count}")


def _prepare(out: Path) -> None:
    """Find out now, not after a minute, whether files can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise Misuse(f"cannot write to {out}: {error.strerror}") from None


def _reproduce(figure: str, processes: list[int], seed: int, out: Path) -> list[dict[str, Any]]:
    if figure == "table1":
        from aforesaid.cli.table1 import table_1

        return table_1(processes, out)
    from aforesaid.cli.fleet_figures import FIGURES
    from aforesaid.sim.fleet import FleetStopped

    try:
        return FIGURES[figure](processes, seed, out)
    except FleetStopped as error:
        show.err.print(str(error), markup=False)
        raise typer.Exit(EXIT_VIOLATED) from None


def _versions(figure: str) -> dict[str, str]:
    used = ("msgspec",) if figure == "table1" else ("numba", "numpy", "matplotlib")
    return {
        "aforesaid": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in used},
    }


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


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
