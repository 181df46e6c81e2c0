"""Results as tables: one Parquet file and one CSV file of each, complete or not there."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from aforesaid.storage import Place, put_file, writing


def write_table(table: pa.Table, directory: Place, name: str) -> None:
    """Write DIR/NAME.parquet and DIR/NAME.csv, replacing older ones."""
    with writing(directory / name):
        directory.mkdir(parents=True, exist_ok=True)
        for kind, write in (("parquet", pq.write_table), ("csv", pc.write_csv)):
            content = pa.BufferOutputStream()
            write(table, content)
            put_file(directory / f"{name}.{kind}", content.getvalue().to_pybytes())


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
