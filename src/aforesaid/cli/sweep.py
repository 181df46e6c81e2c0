"""`aforesaid sweep`: a grid of scenarios as Spark tasks."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from aforesaid.cli import EXIT_KEPT, EXIT_UNKNOWN, EXIT_VIOLATED, show
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.sweeping import Ledger, Plan, Row, Tally, conclude, execute, plan, retrying
from aforesaid.sim.grid import cost, read_grid

SHOWN_MAX = 5
"""Failures and violations told on the screen; the table has them all."""


def sweep_grid(path: Path, out: Path, judge: bool, force: bool, as_json: bool, options: SparkOptions) -> int:
    grid = read_grid(path)
    began = time.perf_counter()
    ledger = Ledger(out)
    with ledger.open():
        planned = plan(grid, ledger, judge, force)
        try:
            if planned.missing:
                _run(planned, retrying(options))
        finally:
            # Once Spark is gone, whatever ended it: half-written traces of killed tasks are nobody's.
            ledger.clear([one.run for one in grid.planned])
        rows = conclude(planned)
    seconds = time.perf_counter() - began
    if as_json:
        show.print_json(_facts(planned, rows, seconds))
    else:
        _print(planned, rows, seconds)
    return _exit_code(rows)


def _run(planned: Plan, options: SparkOptions) -> None:
    """Run what is missing, with a bar that counts the work done rather than the scenarios."""
    costs = {one.run: cost(one.scenario) for one in planned.missing}
    with show.progress(f"sweeping {len(costs):,} scenarios", sum(costs.values())) as move:

        def tell(tally: Tally) -> None:
            ended = tally.done | tally.failed
            finished = len(tally.done & costs.keys())
            move(
                completed=sum(costs[run] for run in ended & costs.keys()),
                note=f"{finished:,} finished, {len(tally.running):,} running, {len(tally.failed):,} failed",
            )

        move(note="starting Spark")
        # The work is done in Python; a JVM that starts quickly serves best.
        with spark_session(replace(options, small=True), "aforesaid sweep") as spark:
            execute(spark, planned, tell)


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
