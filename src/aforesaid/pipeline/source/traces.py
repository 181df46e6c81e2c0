"""The tables of all runs in a place, as rows. What is missing or damaged is refused by name."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aforesaid.core import Misuse
from aforesaid.storage import Place, sizes_below
from aforesaid.trace.parquet import find_runs
from aforesaid.trace.parquet.schema import OPTIONAL, RUN_PREFIX, SCHEMAS
from aforesaid.trace.parquet.table import open_table


@dataclass(frozen=True)
class Piece:
    """A table of a run, or one row group of it."""

    run: Place
    group: int | None = None


class TraceTable:
    """A table over all runs; the run's name is its first column."""

    def __init__(self, table: str) -> None:
        self._table, self._file = table, f"{table}.parquet"
        self.schema = pa.schema([pa.field("run", pa.string()), *SCHEMAS[table]])

    def pieces(self, root: Place, bytes_max: int) -> Iterator[tuple[Piece, int]]:
        sizes = self._sizes(root)
        for run in find_runs(root):
            if sizes[run.name] > bytes_max:
                groups = range(open_table(run, self._table).group_count)
                yield from ((Piece(run, group), bytes_max) for group in groups)
            elif run.name in sizes:
                yield Piece(run), sizes[run.name]
            elif self._table not in OPTIONAL:
                raise Misuse(f"trace {run} lacks its table {self._table}")

    def tables(self, piece: Piece) -> Iterator[Any]:
        table = open_table(piece.run, self._table)
        rows = table.read() if piece.group is None else table.read_group(piece.group)
        name = piece.run.name.removeprefix(RUN_PREFIX)
        yield rows.add_column(0, self.schema.field("run"), [pa.repeat(name, len(rows))])

    def _sizes(self, root: Place) -> Counter[str]:
        """The table's bytes by the directory of the run: one listing, however many runs there are."""
        sizes: Counter[str] = Counter()
        for path, size in sizes_below(root).items():
            names = [root.name, *path.split("/")]
            # It is a file in the run's directory, or a directory of files.
            if self._file in names[1:]:
                sizes[names[names.index(self._file) - 1]] += size
        return sizes
