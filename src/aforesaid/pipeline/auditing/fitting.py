"""Others' columns in our types. No Spark here.

Integers may be wider or narrower than ours. One that does not fit is no number of a trace, and becomes a
null, which `sift` refuses with its row; `trace.parquet` would refuse the whole table.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aforesaid.trace.parquet.schema import SCHEMAS, with_defaults

_NO_ELEMENT = -1
"""In the place of an element that does not fit: no list of a trace may hold it."""


def fitted(name: str, table: Any) -> Any:
    """The columns of a table in our types, nulls where a value does not fit."""
    table = with_defaults(name, table)
    columns = {field.name: _fitted(table.column(field.name), field.type) for field in SCHEMAS[name]}
    return pa.table(columns)


def _fitted(column: Any, kind: Any) -> Any:
    if pa.types.is_list(kind):
        # Where elements may be null, so that `sift` sees them.
        loose = pa.list_(kind.value_type)
        if column.type.equals(loose) or not pa.types.is_integer(kind.value_type):
            return column.cast(loose)
        return pa.chunked_array([_fitted_lists(chunk, kind) for chunk in column.chunks], loose)
    if column.type.equals(kind):
        return column
    return (_within(column, kind) if pa.types.is_integer(kind) else column).cast(kind)


def _fitted_lists(lists: Any, kind: Any) -> Any:
    values = lists.flatten()
    missing = values.is_null()
    values = pc.if_else(missing, None, pc.fill_null(_within(values, kind.value_type), _NO_ELEMENT))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets), values.cast(kind.value_type), mask=lists.is_null() if lists.null_count else None
    )


def _within(values: Any, kind: Any) -> Any:
    """Integers, those that the type cannot hold as nulls."""
    if values.type.bit_width < kind.bit_width:
        return values
    bounds = np.iinfo(kind.to_pandas_dtype())
    fits = pc.less_equal(values, pa.scalar(bounds.max, pa.int64()).cast(values.type))
    if pa.types.is_signed_integer(values.type):
        fits = pc.and_(fits, pc.greater_equal(values, pa.scalar(bounds.min, pa.int64()).cast(values.type)))
    return pc.if_else(fits, values, None)
