"""`spark.read.format("aforesaid")`: the rows that lie in storage, on this machine and on Connect."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from aforesaid.node.recording.segments import SegmentWriter
from aforesaid.pipeline.source import register
from aforesaid.pipeline.source.segments import SegmentEvents
from aforesaid.pipeline.source.source import SEGMENTS, Rows
from aforesaid.pipeline.source.traces import TraceTable
from aforesaid.pipeline.sweeping.task import simulate_to
from aforesaid.sim import Scenario
from aforesaid.trace.parquet.schema import SCHEMAS
from aforesaid.wire.segments import Origin
from support.injected import injected, write

TABLES = [*SCHEMAS, SEGMENTS]

READING = """
import json, sys
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.source import register

root, remote, *tables = sys.argv[1:]
with spark_session(SparkOptions(remote=remote), "test") as spark:
    register(spark)
    read = spark.read.format("aforesaid")
    rows = {table: read.option("table", table).load(root).toArrow().to_pylist() for table in tables}
print(json.dumps(rows))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with samples, with stable calls and with audiences, and two segments of a node."""
    there = tmp_path_factory.mktemp("traces")
    load = [{"kind": "rate", "per_second": 20}]
    sampled = Scenario.of({"algorithm": "waiting", "processes": 3, "sample_ms": 50, "workload": load})
    simulate_to(sampled, there, "sampled", False)
    write(injected(12, 60, faults=4, stability=True), there, "stable", row_group_rows=200)
    write(injected(30, 60, faults=4, strays=4), there, "stray", row_group_rows=200)
    writer = SegmentWriter(
        there / "segments", Origin("a", 7, "waiting", "test", ("a", "b"), False, 1, 1, "0"), 300
    )
    for number in range(1, 20):
        writer.add(("s", number, 10 * number, ("b",)))
        writer.write()
    writer.close()
    return there


def lying(root: Path, table: str) -> list[str]:
    """The rows of a table as our own reader gives them, in an order of their own."""
    rows: Rows = SegmentEvents() if table == SEGMENTS else TraceTable(table)
    tables = (table for piece, _ in rows.pieces(root, 1 << 20) for table in rows.tables(piece))
    return sorted(str(row) for table in tables for row in table.to_pylist())


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_what_lies_in_storage(spark: SparkSession, root: Path, table: str) -> None:
    register(spark)
    frame = spark.read.format("aforesaid").option("table", table).load(str(root))
    rows = frame.toArrow().to_pylist()
    assert sorted(map(str, rows)) == lying(root, table)
    assert len(rows) > 0
    assert frame.columns[0] == ("cluster" if table == SEGMENTS else "run")


def test_executors_of_connect_that_have_never_seen_us_read_the_same(root: Path, connect: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READING, str(root), connect, *TABLES],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {table: sorted(map(str, rows)) for table, rows in told.items()} == {
        table: lying(root, table) for table in TABLES
    }


def test_columns_are_those_asked_for(spark: SparkSession, root: Path) -> None:
    register(spark)
    read = spark.read.format("aforesaid").option("table", "deliveries")
    frame = read.schema("message int, run string not null").load(str(root / "run=stray"))
    assert frame.toArrow().column_names == ["message", "run"]
    assert frame.where("run = 'stray' and message = 3").count() > 0


@pytest.mark.parametrize(
    ("options", "schema", "path", "told"),
    [
        ({}, None, "", "there is no table None; option table is one of runs, processes,"),
        ({"table": "events"}, None, "", "there is no table events; option table is one of runs, processes,"),
        ({"table": "runs"}, "x int", "", "there is no column x; there are run, algorithm, seed"),
        ({"table": "runs"}, "seed int", "", "column seed is bigint, not int"),
        (
            {"table": "runs"},
            None,
            "segments",
            "is not a trace: it holds neither runs.parquet nor a",
        ),
        ({"table": "segments"}, None, "run=stray", "no trace segments in"),
        ({"table": "runs"}, None, None, "say where the traces are"),
    ],
)
def test_what_cannot_be_read_is_told(
    spark: SparkSession,
    root: Path,
    options: dict[str, str],
    schema: str | None,
    path: str | None,
    told: str,
) -> None:
    register(spark)
    read = spark.read.format("aforesaid").options(**options)
    with pytest.raises(AnalysisException, match=told):
        (read.schema(schema) if schema else read).load(None if path is None else str(root / path)).count()
