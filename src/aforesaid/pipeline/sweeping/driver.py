"""The driver of a sweep: what is missing, the Spark job that makes it, the table of what came of it.

Exactly one scenario per task, the longest first, so that the last task to end is a short one. Tasks write
their traces themselves and give Spark one small row: a trace never passes through the JVM.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline.interrupt import interruptible
from aforesaid.pipeline.session import SparkOptions
from aforesaid.pipeline.sweeping.ledger import DONE, FAILED, Ledger, Row, Tally
from aforesaid.pipeline.sweeping.shipping import shipped
from aforesaid.pipeline.sweeping.task import ATTEMPTS_MAX, Simulator, has_run, run_one, simulate_to
from aforesaid.pipeline.tables import table_of, write_table
from aforesaid.pipeline.tasks import run_tasks
from aforesaid.protocols.outside import arrived
from aforesaid.sim.grid import Grid, Planned, cost


@dataclass(frozen=True)
class Plan:
    """A sweep of a grid into a directory: what is there already, and what is missing, longest first."""

    grid: Grid
    ledger: Ledger
    judge: bool
    missing: tuple[Planned, ...]

    @property
    def root(self) -> Path:
        return self.ledger.root

    @property
    def kept(self) -> int:
        """Scenarios that an earlier sweep finished."""
        return len(self.grid.planned) - len(self.missing)


def plan(grid: Grid, ledger: Ledger, judge: bool = False, force: bool = False) -> Plan:
    """Compare a grid with what its directory holds; call it inside `ledger.open()`.

    A run of a planned name with another scenario is a misuse, unless `force` lets it be replaced.
    """
    ledger.clear([one.run for one in grid.planned])
    missing = []
    for one in grid.planned:
        ledger.forget(one.run, FAILED)
        (ledger.root / "failed" / f"{one.run}.json").unlink(missing_ok=True)
        path = ledger.root / f"run={one.run}"
        there = path.exists() and has_run(path, one.scenario)
        if path.exists() and not there and not force:
            raise Misuse(
                f"{path} is not the run of this grid's scenario; choose another --out or pass --force"
            )
        row = ledger.row(one.run, DONE) if there else None
        if row is None or (judge and "verdict" not in row):
            ledger.forget(one.run, DONE)
            missing.append(one)
    missing.sort(key=lambda one: cost(one.scenario), reverse=True)
    return Plan(grid, ledger, judge, tuple(missing))


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
    progress: Callable[[Tally], None] = lambda _: None,
    simulator: Simulator = simulate_to,
) -> None:
    """Run what is missing, each scenario as one task."""
    root, judge = sweep.root.resolve(), sweep.judge
    tasks = [(one.run, one.scenario.to_json()) for one in sweep.missing]
    outsiders = shipped(spark, [one.scenario.algorithm for one in sweep.missing])

    def work(task: tuple[str, str]) -> str:
        run, scenario = task
        for reference, place in places.items():
            arrived(reference, place)
        run_one(root, run, scenario, judge, simulator)
        return run

    with outsiders as places:
        ended = interruptible(lambda: run_tasks(spark, work, tasks), lambda: progress(sweep.ledger.tally()))
    tally = sweep.ledger.tally()
    lost = [run for run in ended if run not in tally.done | tally.failed]
    if lost:
        raise Misuse(
            f"{len(lost)} runs, such as {lost[0]}, ended but are not in {root}: "
            "the driver and all executors must see the same directory"
        )


def conclude(sweep: Plan) -> list[Row]:
    """The rows of all scenarios in the grid's order, with their axes; also as sweep.parquet and sweep.csv."""
    rows = []
    for one in sweep.grid.planned:
        row = sweep.ledger.row(one.run, DONE, FAILED)
        if row is not None:
            axes = {key: value for key, value in one.axes.items() if key not in COLUMNS}
            rows.append({**dict.fromkeys(COLUMNS), **row, **axes})
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
    "error",
    "replay",
    "digest",
    "code_version",
)
"""The columns of every sweep's table; the grid's other axes follow."""
