"""`spark.read.format("aforesaid")`: tables of traces and segments of nodes, wherever they lie, as DataFrames.

    register(spark)
    spark.read.format("aforesaid").option("table", "deliveries").load("s3a://bucket/traces")

The driver plans and the tasks read, by PyArrow, so no jar is needed for any store; rows are checked as every
reader of ours checks them. What there is to read (`pieces`) is planned apart from how a piece is read
(`tables`). Of what grows, `spark.readStream` reads the table `spans`: segments of nodes while they are
written (`tailing`).
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from aforesaid.core import Misuse
from aforesaid.pipeline.memory import settle
from aforesaid.pipeline.session import storage_settings
from aforesaid.pipeline.source.traces import TraceTable
from aforesaid.storage import Place, place
from aforesaid.trace.parquet.schema import SCHEMAS

FORMAT = "aforesaid"
SEGMENTS = "segments"
SPANS = "spans"
PORTION_BYTES = 4 << 20
"""What a task reads: small pieces together up to this much, a larger one alone."""
BATCH_ROWS = 10_000
"""Lists in larger batches take Spark's JVM a time that grows with their square."""


def register(spark: SparkSession) -> None:
    """Make the format known to a session; stores are reached by the settings that it has now."""

    class Registered(TraceSource):
        settings = storage_settings(spark)

    spark.dataSource.register(Registered)


class TraceSource(DataSource):
    """What Spark asks for a schema and a reader. Options: `table`, and settings of the store."""

    settings: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ", ".join(f"{field.name} {_spark_type(field.type)}" for field in self._rows().schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        path = self.options.get("path")
        if not path:
            raise Misuse("say where the traces are: load(PATH), one path or URI")
        root = place(path, {**self.settings, **self.options}).resolve()
        return TraceReader(self._rows(), root, _arrow_schema(self._rows().schema, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        if self.options.get("table") != SPANS:
            raise Misuse(f"of what grows there is the table {SPANS} only, not {self.options.get('table')}")
        from aforesaid.pipeline.source.tailing import SegmentTail

        path = self.options.get("path", "")
        paths: list[str] = json.loads(self.options["paths"]) if "paths" in self.options else [path]
        if not all(paths):
            raise Misuse("say where the segments are: load(PATH), or option paths, a JSON list of them")
        settings = {**self.settings, **self.options}
        tasks = int(self.options.get("tasks") or os.cpu_count() or 1)
        return SegmentTail([place(path, settings).resolve() for path in paths], tasks)

    def _rows(self) -> "Rows":
        table = self.options.get("table")
        if table == SEGMENTS:
            # It needs msgspec, which executors that read tables of traces need not have.
            from aforesaid.pipeline.source.segments import SegmentEvents

            return SegmentEvents()
        if table == SPANS:
            from aforesaid.pipeline.source.tailing import Spans

            return Spans()
        if table in SCHEMAS:
            return TraceTable(table)
        known = ", ".join([*SCHEMAS, SEGMENTS])
        raise Misuse(f"there is no table {table}; option table is one of {known}")


class Rows(Protocol):
    """A kind of rows: what there is of it in a place, and how to read it."""

    schema: Any

    def pieces(self, root: Place, bytes_max: int) -> Iterable[tuple[Any, int]]:
        """What can be read apart, with its size; larger than `bytes_max` only if it cannot be cut."""

    def tables(self, piece: Any) -> Iterator[Any]: ...


@dataclass
class Portion(InputPartition):
    """What one task reads."""

    pieces: list[Any]


class TraceReader(DataSourceReader):
    def __init__(self, rows: Rows, root: Place, schema: Any) -> None:
        self._rows, self._root, self._schema = rows, root, schema

    def partitions(self) -> list[InputPartition]:
        return list(portions(self._rows.pieces(self._root, PORTION_BYTES)))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for piece in getattr(partition, "pieces", ()):
            for table in self._rows.tables(piece):
                yield from table.select(self._schema.names).cast(self._schema).to_batches(BATCH_ROWS)
        settle()


def portions(pieces: Iterable[tuple[Any, int]]) -> Iterator[Portion]:
    """Pieces in their order, as many to a portion as are small enough."""
    portion, total = Portion([]), 0
    for piece, size in pieces:
        if portion.pieces and total + size > PORTION_BYTES:
            yield portion
            portion, total = Portion([]), 0
        portion.pieces.append(piece)
        total += size
    if portion.pieces:
        yield portion


def _arrow_schema(known: Any, asked: StructType) -> Any:
    """The columns that are asked for, as Spark wants them to arrive."""
    fields = []
    for field in asked:
        index = known.get_field_index(field.name)
        if index < 0:
            raise Misuse(f"there is no column {field.name}; there are {', '.join(known.names)}")
        kind = known.field(index).type
        if _spark_type(kind) != field.dataType.simpleString():
            raise Misuse(f"column {field.name} is {_spark_type(kind)}, not {field.dataType.simpleString()}")
        if pa.types.is_list(kind):
            kind = pa.list_(pa.field("element", kind.value_type))
        fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields)


def _spark_type(kind: Any) -> str:
    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    return {"int32": "int", "int64": "bigint", "bool": "boolean"}.get(str(kind), str(kind))
