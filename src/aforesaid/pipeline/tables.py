"""Results as tables: one Parquet file and one CSV file of each, complete or not there."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from aforesaid.core import Misuse


def write_table(table: pa.Table, directory: Path, name: str) -> None:
    """Write DIR/NAME.parquet and DIR/NAME.csv, replacing older ones."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _replace(directory / f"{name}.parquet", lambda path: pq.write_table(table, path))
        _replace(directory / f"{name}.csv", lambda path: pc.write_csv(table, path))
    except OSError as error:
        raise Misuse(f"cannot write {directory / name}: {error.strerror or error}") from error


def table_of(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows of plain values as a table; the columns are the keys of all rows, in the order they come."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    """Numbers or texts as they are; what is neither, or both, as JSON."""
    given = {type(value) for value in values if value is not None}
    if not given:
        return pa.array(values, pa.string())
    if given <= {int, float} or len(given & {bool, str}) == len(given) == 1:
        return pa.array(values)
    return pa.array(
        [
            None if value is None else value if isinstance(value, str) else json.dumps(value)
            for value in values
        ]
    )


def _replace(path: Path, write: Callable[[Path], None]) -> None:
    hidden = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        write(hidden)
        hidden.rename(path)
    finally:
        hidden.unlink(missing_ok=True)
