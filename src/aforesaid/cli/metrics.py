"""`aforesaid metrics`: latency, space and traffic of traces, as tables."""

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from rich.table import Table
from rich.text import Text

from aforesaid.cli import EXIT_KEPT, EXIT_UNKNOWN, show
from aforesaid.core import Misuse
from aforesaid.pipeline.interrupt import interruptible
from aforesaid.pipeline.measuring import TABLES, Sources, compute, find_sources
from aforesaid.pipeline.session import SparkOptions, spark_session, storage_settings
from aforesaid.pipeline.tables import write_table
from aforesaid.storage import Place, is_local, listing, place

SHOWN_MAX = 24
"""Lines of the table on the screen; the files have them all."""


def measure_runs(path: str, out: str, force: bool, as_json: bool, options: SparkOptions) -> int:
    began = time.perf_counter()
    # What is on this machine is looked at before Spark is started; only a session knows how to reach stores.
    here = _opened(place(path)) if is_local(path) else None
    if is_local(out):
        _check_free(place(out), force)
    # The work is done in Python; a JVM that starts quickly serves best.
    session = spark_session(replace(options, small=True), "aforesaid metrics")
    with ExitStack() as stack:
        with show.progress("starting Spark", None):
            spark = stack.enter_context(session)
        target = place(out, storage_settings(spark))
        _check_free(target, force)
        found = here or _opened(place(path, storage_settings(spark)))
        with show.progress(f"measuring {show.counted(len(found.runs), 'run')}", None, "steps") as move:
            tables = interruptible(lambda: compute(spark, found, lambda name: move(advance=1, note=name)))
    for name, table in tables.items():
        write_table(table, target, name)
    runs, refused = tables["runs"].to_pylist(), tables["refused"].to_pylist()
    facts = {
        "runs": len(runs),
        "deliveries": sum(row["deliveries"] for row in runs),
        "refused": refused,
        "seconds": round(time.perf_counter() - began, 3),
        "tables": {name: len(table) for name, table in tables.items()},
        "out": str(target),
    }
    if as_json:
        show.print_json(facts)
    else:
        _print(facts, tables["latency"].to_pylist())
    return EXIT_UNKNOWN if refused else EXIT_KEPT


def _opened(path: Place) -> Sources:
    with show.progress("opening runs", None, "runs") as move:
        return find_sources(path, lambda done, total: move(completed=done, total=total))


def _check_free(out: Place, force: bool) -> None:
    names = listing(out)
    there = [f"{table}.parquet" for table in TABLES if f"{table}.parquet" in names]
    if there and not force:
        raise Misuse(f"{out / there[0]} exists; choose another --out or pass --force")


def _print(facts: dict[str, Any], latency: list[dict[str, Any]]) -> None:
    """Each group of runs in a line, with what its latency has above the causal optimum."""
    optimal = {_group(row): row for row in latency if row["measure"] == "above_optimum"}
    lines = [row for row in latency if row["measure"] != "above_optimum"]
    told = any(row["measure"] != "latency" for row in lines)
    table = Table(
        title="latency, ms",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
        header_style="dim",
    )
    # A name cut short is another name: no_waiting and no_waiting_gc.
    for column in ("algorithm", "n", "setting", *(["measure"] if told else [])):
        table.add_column(column, overflow="fold")
    for column in ("deliveries", "mean", "p50", "p99", "max", "mean above\noptimum"):
        table.add_column(column, justify="right")
    for row in lines[:SHOWN_MAX]:
        above = optimal.get(_group(row)) if row["measure"] == "latency" else None
        figures = [f"{row[f'{name}_ms']:,.2f}" for name in ("mean", "p50", "p99", "max")]
        figures.append(f"{above['mean_ms']:,.2f}" if above else "")
        words = (*_group(row), row["measure"]) if told else _group(row)
        table.add_row(*(Text(str(part)) for part in words), f"{row['deliveries']:,}", *figures)
    show.out.print(table)
    if len(lines) > SHOWN_MAX:
        show.out.print(f"... and {len(lines) - SHOWN_MAX:,} more lines")
    show.out.print(
        f"\n{show.counted(facts['runs'], 'run')}, {facts['deliveries']:,} deliveries, "
        f"{facts['seconds']:.1f} s; tables in {facts['out']}: {', '.join(facts['tables'])}"
    )
    for row in facts["refused"][:SHOWN_MAX]:
        show.out.print(f"{row['run']} not measured: {row['reason']}", markup=False)
    if len(facts["refused"]) > SHOWN_MAX:
        show.out.print(f"... and {len(facts['refused']) - SHOWN_MAX:,} more; see the table refused")


def _group(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["algorithm"], row["processes"], row["setting"]
