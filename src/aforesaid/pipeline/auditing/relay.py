"""Lays traces out as we write them, whatever way they came, and sets aside the rows that cannot be judged.

Spark brings the deliveries together by run and range of processes; each group is sifted (see `sift`) and
written by its task as one file of the run's `deliveries`. Messages and stable calls are sifted next, when it
is known where each log ends, and the tables of processes and runs last, by the driver. What was refused is
written beside, row for row. The directory must be seen by all machines alike.
"""

import pickle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.rebuild import Group, Relaid, complete, note, sift_group
from aforesaid.trace.parquet import ROW_GROUP_ROWS
from aforesaid.trace.parquet.columns import processes_of, run_of
from aforesaid.trace.parquet.schema import EVENTS, RUN_PREFIX, SCHEMAS

_SQL_TYPES = {"int32": "int", "int64": "bigint", "list<element: int32 not null>": "array<int>"}


def relay(spark: SparkSession, tables: dict[str, DataFrame], scratch: Path, slice_rows: int) -> list[Relaid]:
    """Lay out every run that the tables name, under `scratch`."""
    tables = {name: _columns(table, name) for name, table in tables.items()}
    runs = _described(tables, scratch)
    good = {run.run: run for run in runs.values() if not run.refusal}
    quarantine = scratch / "quarantine"
    quarantine.mkdir(parents=True, exist_ok=True)
    if good:
        for table in ("deliveries", "messages", "stabilities"):
            if table in tables:
                _sift_table(spark, table, tables[table], good, quarantine, slice_rows)
        for run in good.values():
            complete(run)
    return list(runs.values())


def _columns(table: DataFrame, name: str) -> DataFrame:
    """The table's columns in our types; what does not fit one is null."""
    if "run" not in table.columns:
        raise Misuse(f"table {name} lacks column run")
    columns = [sql.col("run").cast("string").alias("run")]
    for column in SCHEMAS[name]:
        if column.name not in table.columns:
            raise Misuse(f"table {name} lacks column {column.name}")
        kind = _SQL_TYPES.get(str(column.type))
        value = sql.col(column.name) if kind is None else sql.col(column.name).try_cast(kind)
        columns.append(value.alias(column.name))
    return table.select(columns)


def _described(tables: dict[str, DataFrame], scratch: Path) -> dict[str, Relaid]:
    """Every run that any table names, with what `runs` and `processes` say of it."""
    counts: dict[str, dict[str, int]] = {}
    for name in EVENTS:
        if name in tables:
            for row in tables[name].groupBy("run").count().collect():
                counts.setdefault(row["run"] or "", {})[name] = row["count"]
    of_runs, of_processes = (_by_run(tables[name]) for name in ("runs", "processes"))
    found = {}
    for name in sorted({*counts, *of_runs}):
        rows = {table: counts.get(name, {}).get(table, 0) for table in EVENTS}
        relaid = Relaid(name, scratch / f"{RUN_PREFIX}{quote(name, safe='+@,')}", rows)
        found[name] = relaid
        try:
            if name not in of_runs or name not in of_processes:
                raise Misuse(f"run {name!r} is not in the tables runs and processes both")
            run = run_of(Path("runs"), of_runs[name], name)
            processes = processes_of(Path("processes"), of_processes[name], rows["messages"])
        except Misuse as error:
            relaid.refusal = f"run {name!r}: {error}"
            continue
        relaid.described = run, processes
        relaid.log_lengths = np.zeros(len(processes), np.int64)
    return found


def _by_run(table: DataFrame) -> dict[str, Any]:
    whole = table.toArrow()
    names = whole.column("run").to_pylist()
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name or "", []).append(place)
    rest = whole.drop_columns(["run"])
    return {name: rest.take(pa.array(rows)) for name, rows in places.items()}


def _sift_table(
    spark: SparkSession,
    name: str,
    table: DataFrame,
    runs: dict[str, Relaid],
    quarantine: Path,
    slice_rows: int,
) -> None:
    """Sift and write one table of all runs, and note what became of its rows."""
    ordered = list(runs.values())
    groups = [
        Group(run.run, run.path, quarantine, run.process_count, run.rows["messages"], run.log_lengths.copy())
        for run in ordered
    ]
    widths = [(run.run, place, _width(name, run, slice_rows)) for place, run in enumerate(ordered)]
    known = spark.createDataFrame(widths, "run string, place int, width int")
    # Whose row it is decides where it goes; what is nobody's may go anywhere.
    process = sql.lit(0) if name == "messages" else sql.coalesce(sql.col("process"), sql.lit(0))
    bucket = sql.floor(process / sql.col("width")).cast("int")
    # Numbers travel better than the names of runs.
    placed = table.join(sql.broadcast(known), "run").withColumn("bucket", bucket).drop("run", "width")

    def sift(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        place, bucket = (part.as_py() for part in key)
        result = sift_group(name, groups[place], bucket, rows.drop_columns(["place", "bucket"]))
        return pa.table({"place": pa.array([place], pa.int32()), "result": [pickle.dumps(result)]})

    grouped = placed.groupBy("place", "bucket").applyInArrow(sift, "place int, result binary")
    for row in grouped.collect():
        note(name, ordered[row["place"]], *pickle.loads(row["result"]))


def _width(name: str, run: Relaid, slice_rows: int) -> int:
    """How many processes go into one file of a table."""
    files = -(-run.rows[name] // min(slice_rows, ROW_GROUP_ROWS))
    return max(1, -(-run.process_count // max(1, files)))
