"""An audit from end to end: find the runs, judge them, and have a second look at those that were refused.

Runs in our layout are judged where they lie. Others' tables are laid out anew first; so is a run of ours that
has rows no run could have written: what can be judged of it is judged, the rest is counted. A damaged file is
never believed in part.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from aforesaid.check import Report, Verdict
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.judging import AuditOptions, judge_runs
from aforesaid.pipeline.auditing.layout import TABLES, Others, find_layout
from aforesaid.pipeline.auditing.rebuild import Relaid
from aforesaid.pipeline.auditing.relay import relay
from aforesaid.pipeline.auditing.work import Outcome, refused_whole, run_of
from aforesaid.pipeline.progress import Tell
from aforesaid.pipeline.session import jvm_memory_bytes
from aforesaid.trace.parquet.table import open_table


@dataclass
class Audit:
    """What became of all runs."""

    outcomes: list[Outcome]
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage took."""
    jvm_bytes: int = 0
    """The most memory that Spark's JVM on this machine held."""


def audit(
    spark: SparkSession,
    path: Path,
    options: AuditOptions,
    scratch: Path,
    tell: Tell = lambda done, total: None,
) -> Audit:
    """Judge every run at a path. Files are laid out anew under `scratch`, which all machines must see."""
    found = _audited(spark, path, options, scratch, tell)
    found.jvm_bytes = jvm_memory_bytes(spark)
    return found


def _audited(spark: SparkSession, path: Path, options: AuditOptions, scratch: Path, tell: Tell) -> Audit:
    stages: dict[str, float] = {}
    began = time.perf_counter()
    layout = find_layout(path)
    if isinstance(layout, Others):
        tables = {name: spark.read.parquet(place) for name, place in layout.tables.items()}
        relaid = relay(spark, tables, scratch, options.slice_deliveries)
        stages["laying out"] = time.perf_counter() - began
        return Audit(_judged_anew(spark, relaid, options, scratch, tell), _timed(stages, "judging", began))
    outcomes = judge_runs(spark, layout.paths, options, scratch, tell)
    stages = _timed(stages, "judging", began)
    refused = [outcome for outcome in outcomes if outcome.report is None and not outcome.final]
    if refused:
        again = {outcome.path: _sifted(spark, outcome, options, scratch) for outcome in refused}
        outcomes = [again.get(outcome.path, outcome) for outcome in outcomes]
        stages = _timed(stages, "sifting", began)
    return Audit(outcomes, stages)


def _timed(stages: dict[str, float], stage: str, began: float) -> dict[str, float]:
    return {**stages, stage: time.perf_counter() - began - sum(stages.values())}


def _judged_anew(
    spark: SparkSession, relaid: Sequence[Relaid], options: AuditOptions, scratch: Path, tell: Tell
) -> list[Outcome]:
    """The outcomes of runs that were laid out anew, in terms of the rows they came from."""
    good = [run for run in relaid if not run.refusal]
    judged = iter(judge_runs(spark, [str(run.path) for run in good], options, scratch, tell))
    outcomes = []
    for run in relaid:
        if run.refusal:
            reasons = {(table, f"the run is refused: {run.refusal}"): n for table, n in run.rows.items() if n}
            outcomes.append(Outcome(run.run, str(run.path), None, run.refusal, run.rows, reasons))
            continue
        outcome = next(judged)
        if outcome.report is None:
            told = refused_whole(outcome.path, outcome.refusal)
            outcomes.append(replace(told, run=run.run))
        else:
            report = fair(run, outcome.report)
            outcomes.append(
                replace(outcome, run=run.run, report=report, rows=run.rows, refused=dict(run.refused))
            )
    return outcomes


def fair(run: Relaid, report: Report) -> Report:
    """The report under the run's own name, without reproach for what refused rows may have said."""
    verdicts = dict(report.verdicts)
    if run.lost_sends and verdicts["recorded"].value == "violated":
        note = "Rows of messages were refused, so recorded predecessors cannot be compared."
        verdicts["recorded"] = Verdict("recorded", "unknown", note=note)
    return replace(report, run=replace(report.run, run=run.run), verdicts=verdicts)


def _sifted(spark: SparkSession, outcome: Outcome, options: AuditOptions, scratch: Path) -> Outcome:
    """A second look at a refused run of ours, without the rows that are at fault; the first if that fails."""
    try:
        tables = {name: _table(spark, outcome.path, name) for name in TABLES if _exists(outcome.path, name)}
        relaid = relay(spark, tables, scratch, options.slice_deliveries)
    except (Misuse, PySparkException):
        return outcome
    if len(relaid) != 1 or relaid[0].refusal or not relaid[0].refused:
        return outcome
    (again,) = _judged_anew(spark, relaid, options, scratch, lambda done, total: None)
    return outcome if again.report is None else replace(again, path=outcome.path)


def _exists(path: str, name: str) -> bool:
    return (Path(path) / f"{name}.parquet").exists()


def _table(spark: SparkSession, path: str, name: str) -> DataFrame:
    # Spark knows nothing of seals.
    open_table(Path(path), name).verify()
    place = str(Path(path) / f"{name}.parquet")
    return spark.read.parquet(place).withColumn("run", sql.lit(run_of(path)))
