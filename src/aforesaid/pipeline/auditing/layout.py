"""Finds out how traces are laid out: as we write them, one directory a run, or as others do.

Others' traces are the same tables, each over all runs: `ROOT/deliveries` or `ROOT/deliveries.parquet`, a file
or a directory of files in any order, with the run's name in a column `run` (or in directories `run=...`).
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from aforesaid.core import Misuse
from aforesaid.trace.parquet import find_runs
from aforesaid.trace.parquet.schema import EVENTS, OPTIONAL, RUN_PREFIX, reading

TABLES = ("runs", "processes", *EVENTS)
"""What an audit reads."""


@dataclass(frozen=True)
class Ours:
    """Runs, each in a directory of its own."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class Others:
    """Tables over all runs: where each is."""

    tables: dict[str, str]


def find_layout(path: Path) -> Ours | Others:
    """How the traces at a path are laid out; refuses what is neither."""
    root = path.resolve()
    if root.is_dir() and not root.name.startswith(RUN_PREFIX):
        tables = {name: place for name in TABLES if (place := _place(root, name))}
        if "runs" in tables and _tells_runs(tables["runs"]):
            for name in TABLES:
                if name not in tables and name not in OPTIONAL:
                    raise Misuse(f"{path} lacks the table {name}: there is neither {name}.parquet nor {name}")
            return Others({name: str(place) for name, place in tables.items()})
    return Ours(tuple(str(run.resolve()) for run in find_runs(path)))


def _place(root: Path, name: str) -> Path | None:
    for place in (root / f"{name}.parquet", root / name):
        if place.exists():
            return place
    return None


def _tells_runs(table: Path) -> bool:
    """Whether a table says which run each row belongs to."""
    if table.is_dir() and any(table.glob(f"{RUN_PREFIX}*")):
        return True
    files = sorted(table.glob("[!._]*.parquet")) if table.is_dir() else [table]
    if not files:
        raise Misuse(f"{table} holds no Parquet file")
    with reading(files[0]):
        return "run" in pq.read_schema(files[0]).names
