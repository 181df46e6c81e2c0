"""Finds out how traces are laid out: as we write them, one directory a run, or as others do.

Others' traces are the same tables, each over all runs: `ROOT/deliveries` or `ROOT/deliveries.parquet`, a file
or a directory of files in any order, with the run's name in a column `run` (or in directories `run=...`).
"""

from collections import Counter
from dataclasses import dataclass

import pyarrow.parquet as pq

from aforesaid.pipeline.auditing.files import Piece, check_first, pieces_of
from aforesaid.pipeline.auditing.sifted import TABLES
from aforesaid.storage import Place, sizes_below
from aforesaid.trace.parquet import find_runs
from aforesaid.trace.parquet.schema import RUN_PREFIX, reading


@dataclass(frozen=True)
class Stored:
    """A run in a directory of its own."""

    run: Place
    bytes: int
    """The size of its messages and deliveries."""

    def pieces(self, name: str) -> list[Piece]:
        """Its rows, as others would have them."""
        return [piece for table in TABLES for piece in pieces_of(table, self.run / f"{table}.parquet", name)]


@dataclass(frozen=True)
class Ours:
    """Runs, each in a directory of its own."""

    runs: tuple[Stored, ...]


@dataclass(frozen=True)
class Others:
    """The files of tables over all runs."""

    pieces: tuple[Piece, ...]


def find_layout(root: Place) -> Ours | Others:
    """How the traces at a place are laid out; refuses what is neither, and what cannot be reached."""
    with reading(root):
        return _found(root.resolve())


def _found(root: Place) -> Ours | Others:
    if root.is_dir() and not root.name.startswith(RUN_PREFIX):
        pieces = [piece for name in TABLES for piece in _over_all_runs(root, name)]
        if any(_tells_run(piece) for piece in pieces[:1]):
            check_first(pieces)
            return Others(tuple(pieces))
    runs = find_runs(root)
    # One listing of all: a store is slow to tell of files one by one.
    sizes: Counter[str] = Counter()
    for path, size in sizes_below(root).items():
        run, table = ("", path) if runs == [root] else path.partition("/")[::2]
        if table.startswith(("messages.parquet", "deliveries.parquet")):
            sizes[run] += size
    return Ours(tuple(Stored(run, sizes["" if run == root else run.name]) for run in runs))


def _over_all_runs(root: Place, name: str) -> list[Piece]:
    for place in (root / f"{name}.parquet", root / name):
        if place.exists():
            return list(pieces_of(name, place))
    return []


def _tells_run(piece: Piece) -> bool:
    """Whether it says which run each row belongs to."""
    if piece.run is not None:
        return True
    with reading(piece.file), piece.file.open("rb") as file:
        return "run" in pq.read_schema(file).names
