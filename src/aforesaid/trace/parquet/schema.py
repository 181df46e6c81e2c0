"""The nine tables as Arrow schemas: what a file must hold, how it is stored, and what a reader refuses.

A run is a directory `run=<id>` with one Parquet file per table. The id is in the directory's name and in no
file: Spark and PyArrow take it from there, and PyArrow refuses a root whose files repeat it. What is -1 in
memory because there is none (a time, an end, the process of an aggregate) is null on file, and so is the
audience of a message to all. Every other column has no nulls.

A run without the file of an OPTIONAL table reads as if that table were empty, and one without a column that
has a default, as if it had that everywhere: version 1 did not know these columns.

Columns beyond these are ignored, so that a later version may add some under the same version number. The
number itself changes when an older reader would misunderstand a file.

How columns are stored was measured with PyArrow 26 on 4 million deliveries with gamma-distributed delays, one
core: DELTA_BINARY_PACKED for what grows slowly and a dictionary for what repeats give 3.95 bytes per
delivery, encoded at 33 and decoded at 127 million rows a second, against 10.4 bytes, 18 and 48 with PyArrow's
defaults. On top of that, zstd gives the same size as snappy, and takes a fifth longer both ways; so snappy.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from aforesaid.core import Misuse
from aforesaid.storage import Place, reason
from aforesaid.trace.model import SCHEMA_VERSION

VERSION_KEY = b"aforesaid.schema_version"
"""Under this key the metadata of every file says the version."""
RUN_PREFIX = "run="


def _field(name: str, kind: Any, nullable: bool = False) -> Any:
    return pa.field(name, kind, nullable=nullable)


def _list(kind: Any) -> Any:
    return pa.list_(pa.field("element", kind, nullable=False))


SCHEMAS: dict[str, Any] = {
    "runs": pa.schema(
        [
            _field("algorithm", pa.string()),
            _field("seed", pa.int64()),
            _field("scenario", pa.string()),
            _field("code_version", pa.string()),
            _field("ended", pa.string()),
            _field("clock", pa.string()),
            _field("promises", _list(pa.string())),
            _field("digest", pa.string()),
            _field("causality", pa.string()),
            _field("sampled", pa.bool_()),
            _field("schema_version", pa.int32()),
        ]
    ),
    "processes": pa.schema(
        [
            _field("process", pa.int32()),
            _field("name", pa.string()),
            _field("incarnation", pa.int32()),
            _field("began_ns", pa.int64()),
            _field("ended_ns", pa.int64(), nullable=True),
            _field("fate", pa.string()),
            _field("joined", pa.bool_()),
            _field("base", _list(pa.int32())),
            _field("complete", pa.bool_()),
        ]
    ),
    "messages": pa.schema(
        [
            _field("message", pa.int32()),
            _field("origin", pa.int32()),
            _field("number", pa.int32()),
            _field("time_ns", pa.int64(), nullable=True),
            _field("sent_after", pa.int32()),
            _field("after", _list(pa.int32())),
            _field("audience", _list(pa.int32()), nullable=True),
        ]
    ),
    "deliveries": pa.schema(
        [
            _field("process", pa.int32()),
            _field("position", pa.int32()),
            _field("time_ns", pa.int64()),
            _field("message", pa.int32()),
        ]
    ),
    "stabilities": pa.schema(
        [
            _field("process", pa.int32()),
            _field("message", pa.int32()),
            _field("time_ns", pa.int64()),
            _field("position", pa.int32()),
        ]
    ),
    "samples": pa.schema(
        [
            _field("time_ns", pa.int64()),
            _field("process", pa.int32(), nullable=True),
            _field("metric", pa.string()),
            _field("value", pa.float64()),
        ]
    ),
    "receipts": pa.schema(
        [
            _field("process", pa.int32()),
            _field("position", pa.int32()),
            _field("source", pa.int32(), nullable=True),
            _field("kind", pa.string(), nullable=True),
            _field("peer", pa.int32(), nullable=True),
            _field("cause", pa.int32(), nullable=True),
            _field("waited_ns", pa.int64(), nullable=True),
        ]
    ),
    "waits": pa.schema(
        [
            _field("process", pa.int32()),
            _field("message", pa.int32()),
            _field("source", pa.int32(), nullable=True),
            _field("kind", pa.string(), nullable=True),
            _field("peer", pa.int32(), nullable=True),
            _field("cause", pa.int32(), nullable=True),
            _field("time_ns", pa.int64(), nullable=True),
            _field("until_ns", pa.int64(), nullable=True),
        ]
    ),
    "events": pa.schema(
        [
            _field("time_ns", pa.int64()),
            _field("kind", pa.string()),
            _field("process", pa.int32(), nullable=True),
            _field("other", pa.int32(), nullable=True),
            _field("text", pa.string(), nullable=True),
        ]
    ),
}

STORY = ("receipts", "waits", "events")
"""Read by whoever tells what happened; written only if there is something in them."""

DEFAULTS: dict[str, dict[str, Any]] = {"runs": {"causality": "potential", "sampled": False}}
"""What columns hold that a file need not have, by table."""

OPTIONAL = ("stabilities", "samples", *STORY)
"""Few algorithms know of stable messages, only metrics read samples; who puts a trace together by hand need
not."""

EVENTS = ("messages", "deliveries", "stabilities")
"""The tables whose rows are events of processes; the rest describes the run."""

_DELTA = {
    "runs": (),
    "processes": ("process", "began_ns", "ended_ns"),
    "messages": ("message", "number", "time_ns", "sent_after", "after.list.element"),
    "deliveries": ("position", "time_ns", "message"),
    "stabilities": ("message", "time_ns", "position"),
    "samples": ("time_ns",),
    "receipts": ("position", "cause", "waited_ns"),
    "waits": ("message", "cause", "time_ns", "until_ns"),
    "events": ("time_ns",),
}
_REPEATING = {
    "runs": (),
    "processes": ("fate",),
    "messages": ("origin", "audience.list.element"),
    "deliveries": ("process",),
    "stabilities": ("process",),
    "samples": ("process", "metric", "value"),
    "receipts": ("process", "source", "kind", "peer"),
    "waits": ("process", "source", "kind", "peer"),
    "events": ("kind", "process", "other", "text"),
}


def storage(table: str) -> dict[str, Any]:
    """The arguments of `pyarrow.parquet.ParquetWriter` for a table."""
    return {
        "compression": "snappy",
        "column_encoding": dict.fromkeys(_DELTA[table], "DELTA_BINARY_PACKED"),
        "use_dictionary": list(_REPEATING[table]),
        "store_schema": False,
    }


class Damaged(Misuse):
    """A file that is not what was written, or no Parquet file at all: nothing in it can be believed."""


@contextmanager
def reading(path: Place) -> Iterator[None]:
    """What PyArrow and the system say of a file they cannot read, as one line that names it."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise Damaged(f"cannot read {path}: {reason(error)}") from error


def check_version(run: Place, version: object) -> None:
    """Refuse what a later aforesaid wrote."""
    text = version.decode(errors="replace") if isinstance(version, bytes) else str(version)
    if not text.isdecimal() or int(text) < 1:
        raise Misuse(f"trace {run} has schema version {text!r}, which is no version")
    if int(text) > SCHEMA_VERSION:
        raise Misuse(
            f"trace {run} has schema version {int(text)}, this aforesaid reads up to {SCHEMA_VERSION}; "
            "upgrade aforesaid"
        )


def check_columns(path: Place, table: str, schema: Any) -> None:
    """Refuse a file that lacks a column of its table or has it in a type that is not taken."""
    for field in SCHEMAS[table]:
        index = schema.get_field_index(field.name)
        if index < 0 and field.name in DEFAULTS.get(table, ()):
            continue
        if index < 0:
            raise Misuse(f"{path}: table {table} lacks column {field.name} ({plain(field.type)})")
        kind = schema.field(index).type
        if not _accepts(field.type, kind):
            raise _unexpected(path, table, field, kind)


def with_defaults(table: str, rows: Any) -> Any:
    """The same rows, with the columns that a file need not have."""
    for name, value in DEFAULTS.get(table, {}).items():
        if name not in rows.schema.names:
            kind = SCHEMAS[table].field(name).type
            rows = rows.append_column(name, pa.repeat(pa.scalar(value, kind), len(rows)))
    return rows


def conformed(path: Place, table: str, rows: Any) -> Any:
    """The columns of a table in the types of its schema; refuses values that do not fit."""
    columns, rows = {}, with_defaults(table, rows)
    for field in SCHEMAS[table]:
        column = rows.column(field.name)
        try:
            columns[field.name] = column if column.type.equals(field.type) else column.cast(field.type)
        except pa.ArrowInvalid as error:
            raise _unexpected(path, table, field, column.type, f" ({reason(error)})") from error
    return pa.table(columns)


def plain(kind: Any) -> str:
    """A type as people write it: `list<int32>`."""
    return f"list<{plain(kind.value_type)}>" if _is_list(kind) else str(kind)


def _unexpected(path: Place, table: str, field: Any, kind: Any, detail: str = "") -> Misuse:
    return Misuse(
        f"{path}: column {field.name} of table {table} is {plain(kind)}, expected {plain(field.type)}{detail}"
    )


def _accepts(expected: Any, kind: Any) -> bool:
    """Integers of any width and texts in any coding are taken; a moment is no integer, whatever its width."""
    if pa.types.is_dictionary(kind):
        return _accepts(expected, kind.value_type)
    if _is_list(expected):
        return _is_list(kind) and _accepts(expected.value_type, kind.value_type)
    if pa.types.is_string(expected):
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    if pa.types.is_integer(expected):
        return bool(pa.types.is_integer(kind))
    return bool(expected.equals(kind))


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
