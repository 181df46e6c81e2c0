"""The driver of a sweep: what is missing, the Spark job that makes it, the table of what came of it.

Exactly one scenario per task, the longest first, so that the last task to end is a short one. Tasks write
their traces themselves and give Spark one small row: a trace never passes through the JVM.
"""

import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline.interrupt import interruptible
from aforesaid.pipeline.session import SparkOptions, storage_settings
from aforesaid.pipeline.sweeping.ledger import DONE, FAILED, Ledger, Row, Tally
from aforesaid.pipeline.sweeping.shipping import shipped
from aforesaid.pipeline.sweeping.task import ATTEMPTS_MAX, Simulator, run_one
from aforesaid.pipeline.tables import table_of, write_table
from aforesaid.pipeline.tasks import run_tasks
from aforesaid.protocols.outside import arrived
from aforesaid.sim.grid import Grid, Planned, cost, grid_of, read_grid
from aforesaid.sim.storing import has_run, simulate_to
from aforesaid.storage import Place, Remote, appeared, listing, place, together

STORE_POLL_SECONDS = 5.0
"""How often a store is asked how far the sweep is."""

Progress: TypeAlias = Callable[[Tally], None]
Session: TypeAlias = Callable[["Plan"], AbstractContextManager[tuple[SparkSession, Progress]]]
"""Gives the session in which to run what a plan lacks, and whom to tell how far that is."""


@dataclass(frozen=True)
class Plan:
    """A sweep of a grid into a directory: what is there already, and what is missing, longest first."""

    grid: Grid
    ledger: Ledger
    judge: bool
    rows: Mapping[str, Row]
    """Of the scenarios that an earlier sweep finished, by run."""
    missing: tuple[Planned, ...]

    @property
    def root(self) -> Place:
        return self.ledger.root

    @property
    def kept(self) -> int:
        """Scenarios that an earlier sweep finished."""
        return len(self.rows)


def sweep(
    spark: SparkSession,
    grid: Grid | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str] | Place,
    judge: bool = False,
    force: bool = False,
) -> DataFrame:
    """Run a grid, a file of one or its content into a directory or a store; a row for each scenario."""
    if not isinstance(grid, Grid):
        grid = grid_of(grid) if isinstance(grid, Mapping) else read_grid(Path(grid))
    ledger = Ledger(place(out, storage_settings(spark)).resolve())
    _, rows = complete(grid, ledger, judge, force, lambda _: nullcontext((spark, lambda _: None)))
    return spark.createDataFrame(table_of(rows))


def complete(
    grid: Grid, ledger: Ledger, judge: bool, force: bool, session: Session
) -> tuple[Plan, list[Row]]:
    """A sweep from end to end: what it had to do, and the rows of all scenarios."""
    with ledger.open():
        planned = plan(grid, ledger, judge, force)
        made: Mapping[str, Row] = {}
        try:
            if planned.missing:
                with session(planned) as (spark, progress):
                    made = execute(spark, planned, progress)
        finally:
            # Once Spark is gone, whatever ended it: half-written traces of killed tasks are nobody's.
            ledger.clear([one.run for one in grid.planned])
        return planned, conclude(planned, made)


def plan(grid: Grid, ledger: Ledger, judge: bool = False, force: bool = False) -> Plan:
    """Compare a grid with what its directory holds; call it inside `ledger.open()`.

    A run of a planned name with another scenario is a misuse, unless `force` lets it be replaced.
    """
    names = {one.run for one in grid.planned}
    ledger.clear(names)
    tally, there = ledger.tally(), listing(ledger.root)
    for run in names & tally.failed:
        ledger.forget(run, FAILED)
    for run in names & {name.removesuffix(".json") for name in listing(ledger.root / "failed")}:
        (ledger.root / "failed" / f"{run}.json").unlink(missing_ok=True)

    def kept(one: Planned) -> Row | None:
        row = ledger.row(one.run, DONE) if _is_kept(ledger.root / f"run={one.run}", one, force) else None
        return None if row is None or (judge and "unpromised" not in row) else row

    found = [one for one in grid.planned if f"run={one.run}" in there]
    looked = zip(found, together(ledger.root, kept, found), strict=True)
    rows = {one.run: row for one, row in looked if row is not None}
    for run in (names & tally.done) - rows.keys():
        ledger.forget(run, DONE)
    missing = [one for one in grid.planned if one.run not in rows]
    missing.sort(key=lambda one: cost(one.scenario), reverse=True)
    return Plan(grid, ledger, judge, rows, tuple(missing))


def _is_kept(path: Place, one: Planned, force: bool) -> bool:
    """Whether a directory holds a scenario's run; refuses another run, but not a half of one."""
    if has_run(path, one.scenario):
        return True
    if not force and appeared(path, "runs.parquet"):
        raise Misuse(f"{path} is not the run of this grid's scenario; choose another --out or pass --force")
    return False


def retrying(options: SparkOptions) -> SparkOptions:
    """The same on this machine, but a task whose worker died is started again; clusters do so anyway."""
    master = options.master or "local[*]"
    cores = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    if options.remote or not cores:
        return options
    return replace(options, master=f"local[{cores[1] or 1},{ATTEMPTS_MAX + 1}]")


def execute(
    spark: SparkSession,
    sweep: Plan,
    progress: Progress = lambda _: None,
    simulator: Simulator = simulate_to,
) -> dict[str, Row]:
    """Run what is missing, each scenario as one task; the row of each run."""
    root, judge = sweep.root.resolve(), sweep.judge
    tasks = [(one.run, one.scenario.to_json()) for one in sweep.missing]
    outsiders = shipped(spark, [one.scenario.algorithm for one in sweep.missing])

    def work(task: tuple[str, str]) -> Row | None:
        run, scenario = task
        if not Ledger(root).is_here():
            return None
        # What a worker that is killed leaves on its own disk goes with its executor.
        tempfile.tempdir = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
        for reference, module in modules.items():
            arrived(reference, module)
        return run_one(root, run, scenario, judge, simulator)

    with outsiders as modules:
        look = _seldom(sweep.ledger, progress)
        rows = interruptible(lambda: run_tasks(spark, work, tasks), look)
    tally = sweep.ledger.tally()
    lost = [run for run, _ in tasks if run not in tally.done | tally.failed]
    if lost:
        raise Misuse(
            f"{len(lost)} runs, such as {lost[0]}, ended but are not in {root}: "
            "the driver and all executors must see the same directory, or --out be a URI such as s3a://..."
        )
    return {row["run"]: row for row in rows if row is not None}


def _seldom(ledger: Ledger, progress: Progress) -> Callable[[], None]:
    """Tells how far a sweep is, each time it is called; if that is asked of a store, only now and then."""
    seconds = STORE_POLL_SECONDS if isinstance(ledger.root, Remote) else 0
    told = time.monotonic()

    def look() -> None:
        nonlocal told
        if time.monotonic() >= told + seconds:
            progress(ledger.tally())
            told = time.monotonic()

    return look


def conclude(sweep: Plan, made: Mapping[str, Row]) -> list[Row]:
    """The rows of all scenarios in the grid's order, with their axes; also as sweep.parquet and sweep.csv."""
    known = {**sweep.rows, **made}
    rows = []
    for one in sweep.grid.planned:
        if one.run in known:
            axes = {key: value for key, value in one.axes.items() if key not in COLUMNS}
            rows.append({**dict.fromkeys(COLUMNS), **known[one.run], **axes})
    write_table(table_of(rows), sweep.root, "sweep")
    return rows


COLUMNS = (
    "run",
    "state",
    "algorithm",
    "processes",
    "seed",
    "ended",
    "messages",
    "deliveries",
    "seconds",
    "verdict",
    "violations",
    "evidence",
    "unpromised",
    "error",
    "replay",
    "digest",
    "code_version",
)
"""The columns of every sweep's table; the grid's other axes follow."""
