"""Other tools write the same columns in types of their own: any that hold the same values read the same."""

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from aforesaid.trace.parquet import open_trace
from aforesaid.trace.parquet.schema import SCHEMAS, STORY
from support.trace_scripts import assert_same, in_memory, stored

INTEGERS = [pa.int16(), pa.int32(), pa.int64()]
"""The values of a small run fit all of them."""
TEXTS = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]


def others(kind: Any) -> st.SearchStrategy[Any]:
    if pa.types.is_list(kind):
        values = INTEGERS if pa.types.is_integer(kind.value_type) else TEXTS[:2]
        return st.sampled_from([make(value) for make in (pa.list_, pa.large_list) for value in values])
    if pa.types.is_string(kind):
        return st.sampled_from(TEXTS)
    return st.sampled_from(INTEGERS) if pa.types.is_integer(kind) else st.just(kind)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_type_that_holds_the_values(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        stored(Path(root), seed=4, steps=60)
        for table, schema in SCHEMAS.items():
            path = Path(root, "run=r1", f"{table}.parquet")
            if table in STORY:
                assert not path.exists()  # Nobody has told it.
                continue
            rows = pq.ParquetFile(path).read()
            kinds = [data.draw(others(field.type), f"{table}.{field.name}") for field in schema]
            columns = [rows[name].cast(kind) for name, kind in zip(schema.names, kinds, strict=True)]
            half = len(rows) // 2
            if data.draw(st.booleans(), f"{table} in two files of different types"):
                path.unlink()
                path.mkdir()
                pq.write_table(rows.slice(0, half), path / "1.parquet")
                pq.write_table(pa.table(columns, schema.names).slice(half), path / "2.parquet")
            else:
                pq.write_table(pa.table(columns, schema.names), path, row_group_size=20)
        assert_same(in_memory(seed=4, steps=60), open_trace(Path(root, "run=r1")))
