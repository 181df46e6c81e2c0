"""Others' columns in our types: what does not fit is a null, so that its row can be refused."""

from typing import Any

import pyarrow as pa
import pytest

from aforesaid.pipeline.auditing.fitting import fitted
from aforesaid.trace.parquet.schema import SCHEMAS

MESSAGES: dict[str, list[Any]] = {
    "message": [0, 1, 2],
    "origin": [0, -1, 1],
    "number": [1, 1, 1],
    "time_ns": [5, None, 7],
    "sent_after": [0, -1, 2],
    "after": [[], [0], [0, 1]],
    "audience": [None, [1], []],
}


def messages(**kinds: Any) -> Any:
    schema = [field.with_type(kinds.get(field.name, field.type)) for field in SCHEMAS["messages"]]
    return pa.table(MESSAGES, schema=pa.schema(schema))


@pytest.mark.parametrize(
    "kinds",
    [
        {},
        {"message": pa.int64(), "number": pa.uint8(), "sent_after": pa.int16()},
        {"after": pa.list_(pa.int64()), "audience": pa.large_list(pa.int32())},
        {"time_ns": pa.int32(), "number": pa.uint64()},
    ],
    ids=str,
)
def test_what_fits_is_taken(kinds: dict[str, Any]) -> None:
    assert fitted("messages", messages(**kinds)).to_pydict() == MESSAGES


def test_what_does_not_fit_is_a_null() -> None:
    table = messages(message=pa.int64(), number=pa.uint64(), after=pa.list_(pa.int64()))
    table = table.set_column(0, "message", pa.array([0, 1 << 31, -(1 << 31)], pa.int64()))
    table = table.set_column(2, "number", pa.array([1, (1 << 64) - 1, 1], pa.uint64()))
    table = table.set_column(5, "after", pa.array([[], [0, 1 << 40], [None]], pa.list_(pa.int64())))
    rows = fitted("messages", table).to_pydict()
    assert rows["message"] == [0, None, -(1 << 31)]
    assert rows["number"] == [1, None, 1]
    assert rows["after"] == [[], [0, -1], [None]]
