"""Parquet files read as they are: rows as they came, in our types, and nothing that its seal disowns.

`trace.parquet` refuses a table for one row; here rows are wanted that `sift` can look at one by one. Large
files are read in parts, some row groups each, so that many tasks can share one. No Spark here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.fitting import check_types, fitted
from aforesaid.pipeline.auditing.sifted import TABLES
from aforesaid.storage import Place, files_below
from aforesaid.trace.parquet.schema import RUN_PREFIX, SCHEMAS, VERSION_KEY, check_version, reading
from aforesaid.trace.parquet.seal import seal_of

BATCH_ROWS = 1 << 20
"""How many rows of a file are in memory at a time."""
PIECE_BYTES = 16 << 20
"""Files are cut into pieces of about so many bytes."""


@dataclass(frozen=True)
class Piece:
    """Some row groups of a file of a table: part number `part` of `parts` equal ones."""

    table: str
    file: Place
    size: int
    part: int = 0
    parts: int = 1
    run: str | None = None
    """The run that all rows belong to; None if a column says."""

    def batches(self) -> Iterator[tuple[Any, Any]]:
        """The rows in our types, and the run of each, so many at a time."""
        with reading(self.file):
            seal = seal_of(self.file)
            # Without pre_buffer nothing is read ahead, and what was read is freed.
            options = {"pre_buffer": False, "page_checksum_verification": True}
            with self.file.open("rb") as opened, pq.ParquetFile(opened, **options) as file:
                self._check(file.schema_arrow, file.metadata.metadata or {})
                count = file.metadata.num_row_groups
                groups = range(count * self.part // self.parts, count * (self.part + 1) // self.parts)
                if seal is not None:
                    for group in groups:
                        seal.check(group)
                wanted = [*SCHEMAS[self.table].names, *([] if self.run is not None else ["run"])]
                for batch in file.iter_batches(BATCH_ROWS, list(groups), wanted, use_threads=False):
                    rows = pa.Table.from_batches([batch])
                    yield fitted(str(self.file), self.table, rows), self._runs(rows)

    def _check(self, schema: Any, metadata: dict[bytes, bytes]) -> None:
        if VERSION_KEY in metadata:
            check_version(self.file.parent, metadata[VERSION_KEY])
        check_types(str(self.file), self.table, schema)
        if self.run is None and "run" not in schema.names:
            raise Misuse(f"{self.file}: table {self.table} lacks column run")

    def _runs(self, rows: Any) -> Any:
        if self.run is not None:
            return pa.repeat(pa.scalar(self.run), len(rows))
        return pc.fill_null(rows.column("run").cast(pa.string()), "").combine_chunks()


def check_first(pieces: Sequence[Piece]) -> None:
    """Refuse tables of other types before any work, by the first file of each."""
    for name in TABLES:
        for piece in [piece for piece in pieces if piece.table == name][:1]:
            with reading(piece.file), piece.file.open("rb") as opened:
                piece._check(pq.read_schema(opened), {})


def pieces_of(name: str, table: Place, run: str | None = None) -> Iterator[Piece]:
    """A table's files in pieces; all rows are the run's, or directories `run=...` or a column say whose."""
    for file, size in files_below(table):
        whose = _partition(table, file) if run is None else run
        parts = max(1, -(-size // PIECE_BYTES))
        for part in range(parts):
            yield Piece(name, file, size // parts, part, parts, whose)


def _partition(table: Place, file: Place) -> str | None:
    for part in str(file).removeprefix(str(table)).split("/"):
        if part.startswith(RUN_PREFIX):
            return unquote(part.removeprefix(RUN_PREFIX))
    return None


def rows_of_run(run: Place, told: str) -> dict[str, Any]:
    """All tables of one run that are there, whole and in our types."""
    tables = {}
    for name in TABLES:
        pieces = pieces_of(name, run / f"{name}.parquet", told)
        parts = [rows for piece in pieces for rows, _ in piece.batches()]
        if parts:
            tables[name] = pa.concat_tables(parts)
    return tables
