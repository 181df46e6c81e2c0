"""`aforesaid sweep`: a grid of scenarios as Spark tasks."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from aforesaid.cli import EXIT_KEPT, EXIT_UNKNOWN, EXIT_VIOLATED, show
from aforesaid.pipeline.session import SparkOptions, spark_session, storage_settings
from aforesaid.pipeline.sweeping import Ledger, Plan, Progress, Row, Tally, complete, retrying
from aforesaid.sim.grid import cost, read_grid
from aforesaid.storage import is_local, place

SHOWN_MAX = 5
"""Failures and violations told on the screen; the table has them all."""


def sweep_grid(path: Path, out: str, judge: bool, force: bool, as_json: bool, options: SparkOptions) -> int:
    grid = read_grid(path)
    began = time.perf_counter()
    # The work is done in Python; a JVM that starts quickly serves best.
    session = spark_session(replace(retrying(options), small=True), "aforesaid sweep")
    try:
        if is_local(out):
            planned, rows = complete(grid, Ledger(place(out)), judge, force, lambda plan: told(session, plan))
        else:
            # Only a session knows how its stores are reached.
            with session as spark:
                ledger = Ledger(place(out, storage_settings(spark)))
                running = nullcontext(spark)
                planned, rows = complete(grid, ledger, judge, force, lambda plan: told(running, plan))
    except KeyboardInterrupt:
        told_so = f"interrupted: what is finished is kept in {out}; the same command goes on from there"
        show.err.print(told_so, markup=False, soft_wrap=True)
        raise
    seconds = time.perf_counter() - began
    if as_json:
        show.print_json(_facts(planned, rows, seconds))
    else:
        _print(planned, rows, seconds)
    return _exit_code(rows)


@contextmanager
def told(
    session: AbstractContextManager[SparkSession], planned: Plan
) -> Iterator[tuple[SparkSession, Progress]]:
    """A session with a bar that counts the work done rather than the scenarios."""
    costs = {one.run: cost(one.scenario) for one in planned.missing}
    with show.progress(f"sweeping {len(costs):,} scenarios", sum(costs.values())) as move:

        def tell(tally: Tally) -> None:
            ended = tally.done | tally.failed
            finished = len(tally.done & costs.keys())
            running = len(tally.running - ended)
            move(
                completed=sum(costs[run] for run in ended & costs.keys()),
                note=f"{finished:,} finished, {running:,} running, {len(tally.failed):,} failed",
            )

        move(note="starting Spark")
        with session as spark:
            move(note="")
            yield spark, tell


def _exit_code(rows: list[Row]) -> int:
    if any(row["verdict"] == "violated" for row in rows):
        return EXIT_VIOLATED
    if any(row["state"] == "failed" or row["verdict"] == "unknown" for row in rows):
        return EXIT_UNKNOWN
    return EXIT_KEPT


def _facts(planned: Plan, rows: list[Row], seconds: float) -> dict[str, Any]:
    return {
        "scenarios": len(rows),
        "kept_from_before": planned.kept,
        "done": sum(row["state"] == "done" for row in rows),
        "refused": list(planned.grid.refused),
        "failed": [row for row in rows if row["state"] == "failed"],
        "violated": [row for row in rows if row["verdict"] == "violated"],
        "messages": sum(row["messages"] or 0 for row in rows),
        "deliveries": sum(row["deliveries"] or 0 for row in rows),
        "seconds": round(seconds, 3),
        "traces": str(planned.root),
        "table": str(planned.root / "sweep.parquet"),
    }


def _print(planned: Plan, rows: list[Row], seconds: float) -> None:
    facts = _facts(planned, rows, seconds)
    before = f", {planned.kept:,} of them before" if planned.kept else ""
    lines = [
        (
            "scenarios",
            f"{facts['scenarios']:,}: {facts['done']:,} finished{before}, {len(facts['failed']):,} failed",
        ),
        ("messages", f"{facts['messages']:,} sent, {facts['deliveries']:,} deliveries"),
    ]
    if facts["refused"]:
        more = f"{len(facts['refused']):,} combinations skipped; the first: {facts['refused'][0]}"
        lines.append(("refused", more))
    if planned.judge:
        values = [row["verdict"] for row in rows]
        judged = ", ".join(f"{values.count(value):,} {value}" for value in ("kept", "violated", "unknown"))
        lines.append(("verdicts", judged))
        broken = [name for row in rows if row["unpromised"] for name in row["unpromised"].split(", ")]
        if broken:
            lines.append(("not promised", f"and not kept: {show.in_runs(broken)}"))
    lines += [("took", f"{seconds:.1f} s"), ("traces", facts["traces"]), ("table", facts["table"])]
    show.print_facts("sweep", lines)
    _print_some("violated", [(row["run"], row["evidence"], None) for row in facts["violated"]])
    _print_some("failed", [(row["run"], row["error"], row["replay"]) for row in facts["failed"]])


def _print_some(what: str, told: list[tuple[str, str, str | None]]) -> None:
    for run, sentence, replay in told[:SHOWN_MAX]:
        show.out.print(f"\n{run} {what}:\n  {sentence}", markup=False)
        if replay:
            show.out.print(f"  replay: {replay}", markup=False)
    if len(told) > SHOWN_MAX:
        show.out.print(f"\n... and {len(told) - SHOWN_MAX:,} more {what}")
