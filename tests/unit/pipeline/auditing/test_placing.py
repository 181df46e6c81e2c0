"""Deliveries of which none is at fault are placed, not sorted: the logs are those of the slow way."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aforesaid.pipeline.auditing.sift import placed_deliveries, sift_deliveries
from aforesaid.trace.parquet.columns import rows_of
from aforesaid.trace.parquet.schema import SCHEMAS

PROCESSES, MESSAGES = 5, 40


def deliveries() -> Any:
    """Logs of 0, 7, 14, ... rows, in no order."""
    random = np.random.default_rng(1)
    process = np.repeat(np.arange(PROCESSES), 7 * np.arange(PROCESSES))
    columns = {
        "process": process,
        "position": np.concatenate([np.arange(7 * one) for one in range(PROCESSES)]),
        "time_ns": random.integers(0, 1000, len(process)),
        "message": random.integers(0, MESSAGES, len(process)),
    }
    rows = pa.table(columns).cast(SCHEMAS["deliveries"])
    return rows.take(pa.array(random.permutation(len(rows))))


def spoiled(column: str, value: int | None) -> Any:
    """The same with another value in the first row."""
    rows = deliveries()
    values = [value, *rows.column(column).to_pylist()[1:]]
    fields = [field.with_nullable(True) for field in rows.schema]
    place = rows.schema.names.index(column)
    return rows.cast(pa.schema(fields)).set_column(place, fields[place], pa.array(values, fields[place].type))


def test_logs_are_those_of_sorted_rows() -> None:
    placed = placed_deliveries(deliveries(), PROCESSES, MESSAGES)
    assert placed is not None
    message, time_ns, lengths = placed
    rows = rows_of(Path("x"), "deliveries", sift_deliveries(deliveries(), PROCESSES, MESSAGES).used())
    assert message.tolist() == rows.message.tolist()
    assert time_ns.tolist() == rows.time_ns.tolist()
    assert lengths.tolist() == [0, 7, 14, 21, 28]


@pytest.mark.parametrize("column", ["process", "position", "message"])
@pytest.mark.parametrize("value", [None, -1, 1000])
def test_a_row_at_fault_is_left_to_the_sieve(column: str, value: int | None) -> None:
    assert placed_deliveries(spoiled(column, value), PROCESSES, MESSAGES) is None


def test_no_time_a_gap_and_a_position_twice_are_left_to_the_sieve() -> None:
    rows = deliveries()
    assert placed_deliveries(spoiled("time_ns", None), PROCESSES, MESSAGES) is None
    assert placed_deliveries(rows.slice(1), PROCESSES, MESSAGES) is None
    assert placed_deliveries(pa.concat_tables([rows, rows.slice(0, 1)]), PROCESSES, MESSAGES) is None
