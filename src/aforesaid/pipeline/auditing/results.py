"""What an audit writes: tables of verdicts, violations and refused rows, and a summary that adds up.

| table | a row is |
|---|---|
| `verdicts` | the judgement on one property of one run |
| `violations` | one violation with its witness, ranked within its run and property |
| `refused` | how many rows of a run's table were refused for one reason |
| `quarantine` | one refused row, as it came |
| `summary` | one run: events read = events judged + events refused |
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from aforesaid.check.verdict import REQUIRED_BY_DEFAULT, required_names
from aforesaid.pipeline.auditing.outcome import Outcome
from aforesaid.pipeline.memory import peak_memory_bytes
from aforesaid.trace.parquet.schema import EVENTS

_TEXT, _WHOLE, _TRUTH = pa.string(), pa.int64(), pa.bool_()

SCHEMAS = {
    "verdicts": pa.schema(
        {
            "run": _TEXT,
            "property": _TEXT,
            "value": _TEXT,
            "violations": _WHOLE,
            "required": _TRUTH,
            "note": _TEXT,
        }
    ),
    "violations": pa.schema(
        {
            "run": _TEXT,
            "property": _TEXT,
            "required": _TRUTH,
            "rank": _WHOLE,
            "process": _TEXT,
            "message": _TEXT,
            "position": _WHOLE,
            "sentence": _TEXT,
            "process_index": _WHOLE,
            "message_index": _WHOLE,
            "details": _TEXT,
        }
    ),
    "refused": pa.schema({"run": _TEXT, "table": _TEXT, "reason": _TEXT, "rows": _WHOLE}),
    "quarantine": pa.schema({"run": _TEXT, "table": _TEXT, "reason": _TEXT, "row": _TEXT}),
    "summary": pa.schema(
        {
            "run": _TEXT,
            "value": _TEXT,
            "events_read": _WHOLE,
            "events_judged": _WHOLE,
            "events_refused": _WHOLE,
            **dict.fromkeys(EVENTS, _WHOLE),
            "slices": _WHOLE,
            "seconds": pa.float64(),
            "memory_bytes": _WHOLE,
        }
    ),
}


@dataclass
class Audit:
    """What became of all runs: as objects, as tables, and as DataFrames of the session that judged them."""

    spark: SparkSession
    required: tuple[str, ...] | None
    """What every run had to keep; None: what its algorithm promises."""
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage took."""
    jvm_bytes: int = 0
    """The most memory that Spark's JVM on this machine held."""

    @property
    def value(self) -> str:
        """Violated if a run is, else unknown if one is or if there is none, else kept."""
        values = {outcome.value for outcome in self.outcomes}
        return "violated" if "violated" in values else "kept" if values == {"kept"} else "unknown"

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        for outcome in self.outcomes:
            rows["verdicts"] += _verdicts(outcome, self.required)
            rows["violations"] += _violations(outcome)
            rows["refused"] += _refused(outcome)
            rows["quarantine"] += _quarantine(outcome)
            rows["summary"].append(_summary(outcome))
        return {name: pa.Table.from_pylist(rows[name], schema) for name, schema in SCHEMAS.items()}

    @property
    def verdicts(self) -> DataFrame:
        return self.spark.createDataFrame(self.tables["verdicts"])

    @property
    def violations(self) -> DataFrame:
        return self.spark.createDataFrame(self.tables["violations"])

    @property
    def refused(self) -> DataFrame:
        return self.spark.createDataFrame(self.tables["refused"])

    @property
    def quarantine(self) -> DataFrame:
        return self.spark.createDataFrame(self.tables["quarantine"])

    @property
    def summary(self) -> DataFrame:
        return self.spark.createDataFrame(self.tables["summary"])


def write_results(audit: Audit, directory: Path) -> None:
    """All tables and the summary, into a directory."""
    for name, table in audit.tables.items():
        pq.write_table(table, directory / f"{name}.parquet")
    (directory / "summary.json").write_text(json.dumps(summary(audit), indent=2) + "\n")


def write_by_spark(audit: Audit, uri: str, overwrite: bool = False) -> None:
    """The same where only Spark can write: each table a directory of files."""
    mode = "overwrite" if overwrite else "error"
    for name, table in audit.tables.items():
        audit.spark.createDataFrame(table).coalesce(1).write.mode(mode).parquet(f"{uri}/{name}.parquet")
    told = audit.spark.createDataFrame([(json.dumps(summary(audit)),)], "value string")
    told.coalesce(1).write.mode(mode).text(f"{uri}/summary.json")


def summary(audit: Audit) -> dict[str, Any]:
    """The whole audit in a few numbers."""
    runs = [_summary(outcome) for outcome in audit.outcomes]
    reasons: dict[str, int] = {}
    for outcome in audit.outcomes:
        for (table, reason), count in outcome.refused.items():
            reasons[f"{table}: {reason}"] = reasons.get(f"{table}: {reason}", 0) + count
    values = [run["value"] for run in runs]
    return {
        "runs": len(runs),
        **{value: values.count(value) for value in ("kept", "violated", "unknown")},
        **{
            name: sum(run[name] for run in runs)
            for name in ("events_read", "events_judged", "events_refused", *EVENTS)
        },
        "refused_because": reasons,
        "seconds": {stage: round(seconds, 3) for stage, seconds in audit.seconds.items()},
        "work_seconds": round(sum(run["seconds"] for run in runs), 3),
        "memory_bytes": {
            "driver": peak_memory_bytes(),
            "jvm": audit.jvm_bytes,
            "worker": max((run["memory_bytes"] for run in runs), default=0),
        },
    }


def _summary(outcome: Outcome) -> dict[str, Any]:
    read, refused = sum(outcome.rows.values()), sum(outcome.refused.values())
    return {
        "run": outcome.run,
        "value": outcome.value,
        "events_read": read,
        "events_judged": read - refused,
        "events_refused": refused,
        **{table: outcome.rows.get(table, 0) for table in EVENTS},
        "slices": outcome.slices,
        "seconds": outcome.seconds,
        "memory_bytes": outcome.memory_bytes,
    }


def _verdicts(outcome: Outcome, required: tuple[str, ...] | None) -> list[dict[str, Any]]:
    report = outcome.report
    if report is None:
        names = required_names(required or REQUIRED_BY_DEFAULT)
        unknown = {"value": "unknown", "violations": 0, "required": True, "note": outcome.refusal}
        return [{"run": outcome.run, "property": name, **unknown} for name in names]
    return [
        {
            "run": outcome.run,
            "property": name,
            "value": verdict.value,
            "violations": verdict.violations,
            "required": name in report.required,
            "note": verdict.note,
        }
        for name, verdict in report.verdicts.items()
    ]


def _violations(outcome: Outcome) -> list[dict[str, Any]]:
    """Each run's witnesses: what is required first, then in the order of properties and of the logs."""
    report = outcome.report
    if report is None:
        return []
    names = [*report.required, *(name for name in report.verdicts if name not in report.required)]
    return [
        {
            "run": outcome.run,
            "property": name,
            "required": name in report.required,
            "rank": rank,
            "process": witness.process,
            "message": witness.message,
            "position": witness.position,
            "sentence": witness.sentence,
            "process_index": witness.process_index,
            "message_index": witness.message_index,
            "details": json.dumps(witness.details),
        }
        for name in names
        for rank, witness in enumerate(report.verdicts[name].witnesses, 1)
    ]


def _refused(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {"run": outcome.run, "table": table, "reason": reason, "rows": count}
        for (table, reason), count in outcome.refused.items()
    ]


def _quarantine(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {"run": outcome.run, "table": table, "reason": reason, "row": row}
        for table, reason, row in outcome.quarantine
    ]
