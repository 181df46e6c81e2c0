"""`aforesaid metrics`: latency, space and traffic of traces, as tables."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from aforesaid.cli import EXIT_KEPT, show
from aforesaid.core import Misuse
from aforesaid.pipeline.interrupt import interruptible
from aforesaid.pipeline.measuring import TABLES, compute, find_sources
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.tables import write_table

SHOWN_MAX = 24
"""Lines of the table on the screen; the files have them all."""


def measure_runs(path: Path, out: Path, force: bool, as_json: bool, options: SparkOptions) -> int:
    there = [name for name in TABLES if (out / f"{name}.parquet").exists()]
    if there and not force:
        raise Misuse(f"{out / there[0]}.parquet exists; choose another --out or pass --force")
    began = time.perf_counter()
    with show.progress("opening runs", None, "runs") as move:
        sources = find_sources(path, lambda done, total: move(completed=done, total=total))
    with show.progress(f"measuring {len(sources):,} runs", None, "steps") as move:
        move(note="starting Spark")
        # The work is done in Python; a JVM that starts quickly serves best.
        with spark_session(replace(options, small=True), "aforesaid metrics") as spark:
            move(note="")
            tables = interruptible(lambda: compute(spark, sources, lambda name: move(advance=1, note=name)))
    for name, table in tables.items():
        write_table(table, out, name)
    facts = {
        "runs": len(sources),
        "deliveries": sum(source.deliveries for source in sources),
        "seconds": round(time.perf_counter() - began, 3),
        "tables": {name: len(table) for name, table in tables.items()},
        "out": str(out),
    }
    if as_json:
        show.print_json(facts)
    else:
        _print(facts, tables["latency"].to_pylist())
    return EXIT_KEPT


def _print(facts: dict[str, Any], latency: list[dict[str, Any]]) -> None:
    """Each group of runs in a line, with what its latency has above the causal optimum."""
    optimal = {_group(row): row for row in latency if row["measure"] == "above_optimum"}
    lines = [row for row in latency if row["measure"] == "latency"]
    table = Table(
        title="latency, ms", title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim"
    )
    for column in ("algorithm", "n", "setting"):
        table.add_column(column)
    for column in ("deliveries", "mean", "p50", "p99", "max", "mean above optimum"):
        table.add_column(column, justify="right")
    for row in lines[:SHOWN_MAX]:
        above = optimal.get(_group(row))
        figures = [f"{row[f'{name}_ms']:,.2f}" for name in ("mean", "p50", "p99", "max")]
        figures.append(f"{above['mean_ms']:,.2f}" if above else "")
        table.add_row(*(Text(str(part)) for part in _group(row)), f"{row['deliveries']:,}", *figures)
    show.out.print(table)
    if len(lines) > SHOWN_MAX:
        show.out.print(f"... and {len(lines) - SHOWN_MAX:,} more lines")
    show.out.print(
        f"\n{facts['runs']:,} runs, {facts['deliveries']:,} deliveries, {facts['seconds']:.1f} s; "
        f"tables in {facts['out']}: {', '.join(facts['tables'])}"
    )


def _group(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["algorithm"], row["processes"], row["setting"]
