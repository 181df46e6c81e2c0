"""Judges runs whose rows come as tables over all runs, in any order: files, or DataFrames from anywhere.

Tasks read the rows and put them into parcels, one for each run they meet; rows of Parquet files are read by
PyArrow and never pass through the JVM one by one. The parcels stay on the executors' disks. Those of a small
run are brought together in one task, which sifts and judges it; large runs are handed on (see `scattered`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from time import perf_counter
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from aforesaid.pipeline.auditing.files import PIECE_BYTES, Piece
from aforesaid.pipeline.auditing.options import AuditOptions
from aforesaid.pipeline.auditing.outcome import Outcome, refused_whole
from aforesaid.pipeline.auditing.parcels import PARCELS, of_piece, of_rows, tables_of
from aforesaid.pipeline.auditing.scattered import judge_scattered
from aforesaid.pipeline.auditing.sharing import Shelves
from aforesaid.pipeline.auditing.sifted import TABLES, judge_sifted
from aforesaid.pipeline.memory import peak_memory_bytes, settle
from aforesaid.pipeline.progress import Tell, watched
from aforesaid.pipeline.tasks import packed, unpacked
from aforesaid.trace.parquet.schema import EVENTS, SCHEMAS, Damaged

ROW_BYTES = 4
"""What a row of events takes in our files, about: by it the bound on small runs is one on rows."""
PARTITIONS_MAX = 256
"""Small runs are judged in at most so many tasks."""


def judge_parcels(
    spark: SparkSession, parcels: DataFrame, options: AuditOptions, room: Shelves, tell: Tell
) -> list[Outcome]:
    """What became of each run, by name."""
    parcels = parcels.persist(StorageLevel.DISK_ONLY)
    try:
        with watched(spark, tell):
            rows, failures = _counted(parcels)
            bound = options.whole_bytes // ROW_BYTES
            large = {
                run: counts
                for run, counts in rows.items()
                if run not in failures and sum(counts.values()) > bound
            }
            small = [run for run in rows if run not in failures and run not in large]
            apart = [*failures, *large]
            others = parcels.where(~sql.col("run").isin(apart)) if apart else parcels
            outcomes = [refused_whole(run, "", told, rows[run]) for run, told in failures.items()]
            outcomes += _judge_small(others, small, options)
            if large:
                outcomes += judge_scattered(parcels, large, options, room)
    finally:
        parcels.unpersist()
    return sorted(outcomes, key=lambda outcome: outcome.run)


def parcels_of_files(spark: SparkSession, pieces: Sequence[Piece]) -> DataFrame:
    """The rows of files."""
    tasks = list(_grouped(pieces))

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for task in batch.column("id").to_pylist():
                for piece in tasks[task]:
                    yield from of_piece(piece)
        settle()

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(work, PARCELS)


def parcels_of_frames(frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of DataFrames, by table."""
    parts = []
    for name in TABLES:
        if name in frames:
            columns = ["run", *(column for column in SCHEMAS[name].names if column in frames[name].columns)]
            parts.append(frames[name].select(*columns).mapInArrow(of_rows(name), PARCELS))
    return reduce(DataFrame.union, parts)


def _grouped(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    group: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece.size, reverse=True):
        if group and sum(one.size for one in group) + piece.size > PIECE_BYTES:
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _counted(parcels: DataFrame) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """The rows of events of each run, by table; and why runs cannot be read that cannot."""
    counted = parcels.groupBy("run", "table").agg(
        sql.sum("rows").alias("rows"), sql.max("failure").alias("failure")
    )
    rows: dict[str, dict[str, int]] = {}
    failures: dict[str, str] = {}
    for row in counted.collect():
        if row["failure"] is not None:
            if row["run"] is None:
                # Whose rows are lost with it, nobody can say.
                raise Damaged(row["failure"])
            failures[row["run"]] = row["failure"]
        counts = rows.setdefault(row["run"], dict.fromkeys(EVENTS, 0))
        if row["table"] in EVENTS:
            counts[row["table"]] += row["rows"]
    return rows, failures


def _judge_small(parcels: DataFrame, small: Sequence[str], options: AuditOptions) -> list[Outcome]:
    if not small:
        return []

    def judge(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        began = perf_counter()
        outcome = judge_sifted(key[0].as_py(), tables_of(rows), options.properties, options.witnesses_max)
        outcome = replace(outcome, seconds=perf_counter() - began, memory_bytes=peak_memory_bytes())
        settle()
        return pa.table({"outcome": pa.array([packed(outcome)], pa.binary())})

    # In so many tasks, and no fewer, however small they seem to Spark.
    spread = parcels.repartition(min(len(small), PARTITIONS_MAX), "run")
    judged = spread.groupBy("run").applyInArrow(judge, "outcome binary").collect()
    return [unpacked(row["outcome"]) for row in judged]
