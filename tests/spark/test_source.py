"""`spark.read.format("aforesaid")`: the rows that lie in storage, here, on Connect, on machines apart."""

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
from aforesaid.sim import Scenario
from aforesaid.sim.storing import simulate_to
from aforesaid.storage import sizes_below
from aforesaid.trace.parquet.schema import SCHEMAS
from aforesaid.wire.segments import Origin
from support.injected import injected, write
from support.machines import Driver
from support.s3 import Bucket

TABLES = [*SCHEMAS, SEGMENTS]
SECONDS_MAX = 240

READING = """
import json, sys
from pyspark.sql import SparkSession
from aforesaid.pipeline.session import ship
from aforesaid.pipeline.source import register

root, address, *tables = sys.argv[1:]
spark = SparkSession.builder.remote(address).getOrCreate()
ship(spark)
register(spark)
read = spark.read.format("aforesaid")
print(json.dumps({table: read.option("table", table).load(root).toArrow().to_pylist() for table in tables}))
spark.stop()
"""

FROM_A_BUCKET = """
from aforesaid.pipeline.source import register
register(spark)
read = spark.read.format("aforesaid")
told = {{table: read.option("table", table).load({root!r}).toArrow().to_pylist() for table in {tables}}}
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
    assert rows or table in ("waits", "events")
    assert frame.columns[0] == ("cluster" if table == SEGMENTS else "run")


def test_by_spark_connect_it_is_the_same(root: Path, connect: str) -> None:
    """In a session as others make one, whose executors have never seen us."""
    command = [sys.executable, "-c", READING, str(root), connect, *TABLES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stderr
    found = {table: sorted(map(str, rows)) for table, rows in json.loads(done.stdout).items()}
    assert found == {table: lying(root, table) for table in TABLES}


def test_from_a_bucket_by_machines_that_share_nothing_else_it_is_the_same(
    root: Path, driver: Driver, bucket: Bucket
) -> None:
    for path in sizes_below(root):
        (bucket.place / path).write_bytes((root / path).read_bytes())
    tables = ["messages", "deliveries", SEGMENTS]
    found = driver.ask(FROM_A_BUCKET.format(root=bucket.uri, tables=tables))
    assert {table: sorted(map(str, rows)) for table, rows in found.items()} == {
        table: lying(root, table) for table in tables
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
        ({"table": "fates"}, None, "", "there is no table fates; option table is one of runs, processes,"),
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
