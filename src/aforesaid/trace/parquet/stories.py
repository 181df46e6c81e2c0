"""The story of a run as Arrow tables, and back (see `trace.story`)."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from aforesaid.storage import Place
from aforesaid.trace.parquet.columns import check_range, columns_of, null_if_none, numbers, words
from aforesaid.trace.parquet.schema import SCHEMAS, STORY, reading
from aforesaid.trace.parquet.table import find_table
from aforesaid.trace.story import NO_STORY, Events, Receipts, Story, Waits

_Part: TypeAlias = Receipts | Waits | Events
_KINDS: tuple[type[_Part], ...] = (Receipts, Waits, Events)
_INDEXES = {
    "process": "process",
    "source": "process",
    "peer": "process",
    "other": "process",
    "message": "message",
    "cause": "message",
}
"""The columns that name rows of other tables, and of which."""


def story_tables(story: Story) -> Iterator[tuple[str, Any]]:
    """Each table by its name; what is none in memory is null."""
    for name in STORY:
        rows, schema = getattr(story, name), SCHEMAS[name]
        columns = {field.name: _column(getattr(rows, field.name), field) for field in schema}
        yield name, pa.table(columns, schema=schema)


def story_of(run: Place, process_count: int, message_count: int) -> Story:
    """What a run's directory has of it; every index names a row of its table."""
    counts = {"process": process_count, "message": message_count}
    parts = {name: _part_of(run, name, kind, counts) for name, kind in zip(STORY, _KINDS, strict=True)}
    return Story(**parts)


def _part_of(run: Place, name: str, kind: type[_Part], counts: dict[str, int]) -> Any:
    table = find_table(run, name)
    if table is None:
        return getattr(NO_STORY, name)
    with reading(table.path):
        stored = columns_of(table.path, name, table.read())
        rows = kind(**{field.name: _values(field, stored[field.name]) for field in SCHEMAS[name]})
    for column, thing in _INDEXES.items():
        if column in stored:
            lowest = -1 if SCHEMAS[name].field(column).nullable else 0
            check_range(table.path, column, getattr(rows, column), lowest, counts[thing], thing)
    return rows.sorted()


def _column(values: Any, field: Any) -> Any:
    if not field.nullable:
        return values
    if pa.types.is_string(field.type):
        return pa.array([value or None for value in values], pa.string())
    return null_if_none(values, _none(field))


def _values(field: Any, column: Any) -> Any:
    if pa.types.is_string(field.type):
        return words(pc.fill_null(column, ""))
    return numbers(column, _none(field))


def _none(field: Any) -> int:
    """What is null on file: few messages wait, and a duration of 0 would cost as much as any other."""
    return 0 if field.name == "waited_ns" else -1
