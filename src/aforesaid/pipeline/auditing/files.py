"""Parquet files read as they are: rows as they came, in our types, and nothing that its seal disowns.

`trace.parquet` refuses a table for one row; here rows are wanted that `sift` can look at one by one. Large
files are read in parts, some row groups each, so that many tasks can share one. No Spark here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aforesaid.pipeline.auditing.fitting import fitted
from aforesaid.pipeline.auditing.sifted import TABLES
from aforesaid.storage import Place, sizes_below
from aforesaid.trace.parquet.schema import RUN_PREFIX
from aforesaid.trace.parquet.table import File

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
        """The rows in our types, and the run of each, a row group at a time."""
        file = self.opened()
        count = file.group_count
        for group in range(count * self.part // self.parts, count * (self.part + 1) // self.parts):
            rows = file.raw(range(group, group + 1))
            yield fitted(self.table, rows), self._runs(rows)

    def opened(self) -> File:
        return File(self.file.parent, self.table, self.file, () if self.run is not None else ("run",))

    def _runs(self, rows: Any) -> Any:
        if self.run is not None:
            return pa.DictionaryArray.from_arrays(np.zeros(len(rows), np.int32), [self.run])
        return names_of(rows)


def names_of(rows: Any) -> Any:
    """The runs that rows belong to, by the column that says so; each name once, and a code for each row."""
    names = rows.column("run").combine_chunks()
    if not pa.types.is_dictionary(names.type) or names.null_count:
        names = pc.fill_null(names.cast(pa.string()), "").dictionary_encode()
    return names


def check_first(pieces: Sequence[Piece]) -> None:
    """Refuse tables of other types before any work, by the first file of each."""
    for name in TABLES:
        for piece in [piece for piece in pieces if piece.table == name][:1]:
            piece.opened()


def pieces_of(name: str, table: Place, run: str | None = None) -> Iterator[Piece]:
    """A table's files in pieces; all rows are the run's, or directories `run=...` or a column say whose."""
    for path, size in sorted(sizes_below(table).items()):
        within = path.split("/") if path else []
        # As Spark has it: what begins with a dot or an underscore is nobody's business.
        if any(part.startswith((".", "_")) for part in within) or (path and not path.endswith(".parquet")):
            continue
        told = [unquote(part.removeprefix(RUN_PREFIX)) for part in within if part.startswith(RUN_PREFIX)]
        whose = told[0] if run is None and told else run
        parts = max(1, -(-size // PIECE_BYTES))
        for part in range(parts):
            yield Piece(name, table / path if path else table, size // parts, part, parts, whose)


def rows_of_run(run: Place, told: str) -> dict[str, Any]:
    """All tables of one run that are there, whole and in our types."""
    tables = {}
    for name in TABLES:
        pieces = pieces_of(name, run / f"{name}.parquet", told)
        parts = [rows for piece in pieces for rows, _ in piece.batches()]
        if parts:
            tables[name] = pa.concat_tables(parts)
    return tables
