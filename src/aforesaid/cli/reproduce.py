"""`aforesaid reproduce`: figure 5 and table 1 of the PRC-broadcast paper, others, and one's own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from aforesaid.cli import EXIT_INTERRUPTED, EXIT_KEPT, EXIT_UNKNOWN, EXIT_VIOLATED, show
from aforesaid.core import AforesaidError, Misuse
from aforesaid.reproduce.asking import Asked
from aforesaid.reproduce.making import Work, make, plan
from aforesaid.reproduce.running import Runner, kept, over_cores
from aforesaid.sim.grid import Grid, Planned
from aforesaid.storage import place, remove_tree


@dataclass(frozen=True)
class Where:
    """On which cores runs are made: of this machine, or Spark's, with its options."""

    jobs: int | None
    spark: bool
    master: str | None
    remote: str | None
    temporary: Path | None
    memory: str
    debug: bool
    conf: tuple[str, ...]


def reproduce_figures(names: list[str], asked: Asked, where: Where, force: bool, as_json: bool) -> int:
    run = _runner(where)
    works = plan(names, asked, show.progress)
    planned = [one for work in works for one in work.planned]
    if force:
        for one in planned:
            remove_tree(asked.runs / f"run={one.run}")
    try:
        done = {work.name: _made(work, asked, run, as_json) for work in works}
    except KeyboardInterrupt:
        there = kept(planned, asked.runs)
        told = f"{there} of {len(planned)} runs are kept in {asked.runs}; the same command goes on from there"
        show.err.print(f"interrupted: {told if planned else 'nothing is kept'}", markup=False, soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if as_json:
        show.print_json(done)
    else:
        show.out.print(f"written to {asked.out}", markup=False)
    return EXIT_KEPT


def _made(work: Work, asked: Asked, run: Runner, as_json: bool) -> dict[str, Any]:
    try:
        made = make(work, asked, run)
    except Misuse:
        raise
    except AforesaidError as error:  # A promise is broken.
        show.err.print(str(error), markup=False, soft_wrap=True)
        raise typer.Exit(EXIT_VIOLATED) from None
    if not as_json:
        _show(work.name, made["rows"], asked.out)
    return made


def _runner(where: Where) -> Runner:
    if not (where.spark or where.master or where.remote):
        if where.jobs is not None and where.jobs < 1:
            raise Misuse(f"--jobs {where.jobs}: at least one run at a time")
        return over_cores(show.progress, where.jobs)
    if where.jobs is not None:
        raise Misuse("--jobs is for runs without Spark; --master local[2] has Spark make two at a time")
    from aforesaid.cli import sweep
    from aforesaid.pipeline.session import SparkOptions, spark_session
    from aforesaid.pipeline.sweeping import Ledger, complete, retrying

    options = SparkOptions(where.master, where.remote, where.temporary, where.memory, where.debug, where.conf)

    def run(planned: Sequence[Planned], root: Path) -> None:
        session = spark_session(replace(retrying(options), small=True), "aforesaid reproduce")
        grid = Grid(tuple(planned))
        _, rows = complete(grid, Ledger(place(root)), False, True, lambda plan: sweep.told(session, plan))
        for row in rows:
            if row["state"] == "failed":
                told = f"{row['run']} failed: {row['error']}\nreplay: {row['replay']}"
                show.err.print(told, markup=False, soft_wrap=True)
                raise typer.Exit(EXIT_UNKNOWN)

    return run


def _show(figure: str, rows: list[dict[str, Any]], out: Path) -> None:
    """A line for each row, or a column if there are few of them with much to tell."""
    if figure == "table1":
        show.out.print((out / "table1.txt").read_text(), markup=False)
        return
    table = Table(title=figure, title_justify="left", box=None, padding=(0, 2, 0, 0))
    names = list(rows[0])
    if len(rows) < len(names) and len(names) > COLUMNS_MAX:
        table.show_header = False
        lines = [[name, *(row[name] for row in rows)] for name in names]
        table.add_column(style="dim")
    else:
        lines = [list(row.values()) for row in rows]
    for name in names if table.show_header else rows:
        table.add_column(str(name), justify="right")
    for line in lines:
        table.add_row(*map(_cell, line))
    show.out.print(table)


COLUMNS_MAX = 10
"""What a terminal is wide enough for."""


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
