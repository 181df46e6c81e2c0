"""The model's tables as Arrow tables, and back: -1 where there is none in memory, null on file.

The way back takes nothing on trust. An index that points outside its table is refused here, so that whoever
reads a trace may follow every index in it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aforesaid.core import Misuse
from aforesaid.storage import Place
from aforesaid.trace.model import (
    CAUSALITIES,
    ENDINGS,
    FATES,
    NEVER_SENT,
    Bools,
    Lists,
    Messages,
    Processes,
    Run,
    Samples,
)
from aforesaid.trace.parquet.schema import SCHEMAS, check_version, conformed, plain
from aforesaid.trace.parquet.spill import Rows


def run_table(run: Run) -> Any:
    if not -(2**63) <= run.seed < 2**63:
        raise Misuse(f"seed {run.seed} does not fit the 64 bits a trace has for it")
    row = {field.name: [getattr(run, field.name)] for field in SCHEMAS["runs"]}
    return pa.table(row, schema=SCHEMAS["runs"])


def processes_table(rows: Processes) -> Any:
    columns = {
        "process": np.arange(len(rows), dtype=np.int32),
        "name": rows.name,
        "incarnation": rows.incarnation,
        "began_ns": rows.began_ns,
        "ended_ns": null_if_none(rows.ended_ns),
        "fate": rows.fate,
        "joined": rows.joined,
        "base": _list_array(rows.base),
        "complete": rows.complete,
    }
    return pa.table(columns, schema=SCHEMAS["processes"])


def messages_table(rows: Messages, first: int) -> Any:
    """A chunk of messages, of which the first is the run's message `first`."""
    columns = {
        "message": np.arange(first, first + len(rows), dtype=np.int32),
        "origin": rows.origin,
        "number": rows.number,
        "time_ns": null_if_none(rows.time_ns),
        "sent_after": rows.sent_after,
        "after": _list_array(rows.after),
        "audience": _list_array(rows.audience, null=rows.to_all),
    }
    return pa.table(columns, schema=SCHEMAS["messages"])


def samples_table(rows: Samples) -> Any:
    columns = {
        "time_ns": rows.time_ns,
        "process": null_if_none(rows.process),
        "metric": rows.metric,
        "value": rows.value,
    }
    return pa.table(columns, schema=SCHEMAS["samples"])


def run_of(path: Place, table: Any, run_id: str) -> Run:
    if len(table) != 1:
        raise Misuse(f"{path} has {len(table)} rows; a run has one")
    row = {name: column.to_pylist()[0] for name, column in columns_of(path, "runs", table).items()}
    check_version(path.parent, row["schema_version"])
    _check_words(path, "ended", [row["ended"]], ENDINGS)
    _check_words(path, "causality", [row["causality"]], CAUSALITIES)
    return Run(run=run_id, **{**row, "promises": tuple(row["promises"])})


def processes_of(path: Place, table: Any, message_count: int) -> Processes:
    columns = columns_of(path, "processes", _by_index(path, table, "process"))
    rows = Processes(
        name=columns["name"].to_pylist(),
        incarnation=numbers(columns["incarnation"]),
        began_ns=numbers(columns["began_ns"]),
        ended_ns=numbers(columns["ended_ns"]),
        fate=words(columns["fate"]),
        joined=numbers(columns["joined"]),
        base=_lists(columns["base"]),
        complete=numbers(columns["complete"]),
    )
    _check_words(path, "fate", rows.fate, FATES)
    check_range(path, "base", rows.base.values, 0, message_count, "message")
    return rows


def messages_of(path: Place, table: Any, process_count: int, message_count: int, first: int = 0) -> Messages:
    """A run's messages, or so many of them from one on."""
    columns = columns_of(path, "messages", _by_index(path, table, "message", first))
    rows = Messages(
        origin=numbers(columns["origin"]),
        number=numbers(columns["number"]),
        time_ns=numbers(columns["time_ns"]),
        sent_after=numbers(columns["sent_after"]),
        after=_lists(columns["after"]),
        to_all=numbers(columns["audience"].is_null()),
        audience=_lists(columns["audience"]),
    )
    check_range(path, "origin", rows.origin, -1, process_count, "process")
    check_range(path, "after", rows.after.values, 0, message_count, "message")
    check_range(path, "audience", rows.audience.values, 0, process_count, "process")
    if len(rows) and rows.sent_after.min() < NEVER_SENT:
        raise Misuse(f"{path}: column sent_after holds {rows.sent_after.min()}, less than {NEVER_SENT}")
    return rows


def samples_of(path: Place, table: Any, process_count: int) -> Samples:
    columns = columns_of(path, "samples", table)
    rows = Samples(
        time_ns=numbers(columns["time_ns"]),
        process=numbers(columns["process"]),
        metric=words(columns["metric"]),
        value=numbers(columns["value"]),
    )
    check_range(path, "process", rows.process, -1, process_count, "process")
    return rows


def rows_of(path: Place, name: str, table: Any) -> Rows:
    """Rows of a table that lies by process: its columns as NumPy sees them in Arrow's own memory."""
    return Rows(**{column: numbers(values) for column, values in columns_of(path, name, table).items()})


def rows_table(name: str, rows: Rows) -> Any:
    """The way there."""
    return pa.table(rows._asdict(), schema=SCHEMAS[name])


def check_range(
    path: Place, column: str, values: npt.NDArray[Any], lowest: int, count: int, thing: str
) -> None:
    """Refuse an index that names no row of its table."""
    if len(values) and not lowest <= values.min() <= values.max() < count:
        wrong = values.max() if values.max() >= count else values.min()
        raise Misuse(f"{path}: column {column} names {thing} {wrong}, but the trace has {count}, from 0")


def columns_of(path: Place, name: str, table: Any) -> dict[str, Any]:
    """The table's columns in the schema's types, each in one piece, without nulls where there may be none."""
    columns = {}
    table = conformed(path, name, table)
    for field in SCHEMAS[name]:
        column = table.column(field.name)
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        elements = column.flatten() if pa.types.is_nested(column.type) else column
        if (column.null_count and not field.nullable) or (elements is not column and elements.null_count):
            raise Misuse(f"{path}: column {field.name} ({plain(field.type)}) of table {name} has nulls")
        columns[field.name] = column
    return columns


def _by_index(path: Place, table: Any, column: str, first: int = 0) -> Any:
    """The table's rows in the order of their own index, which others may have shuffled."""
    index = table.column(column).to_numpy()
    rows = np.arange(first, first + len(index))
    if np.array_equal(index, rows):
        return table
    order = np.argsort(index, kind="stable")
    if not np.array_equal(index[order], rows):
        raise Misuse(f"{path}: column {column} does not number the {len(index)} rows from {first}, each once")
    return table.take(order)


def _check_words(path: Place, column: str, words: Sequence[str], known: Sequence[str]) -> None:
    unknown = sorted(set(words) - set(known))
    if unknown:
        raise Misuse(f"{path}: column {column} holds {unknown[0]!r}, expected one of {', '.join(known)}")


def numbers(column: Any, none: int = -1) -> npt.NDArray[Any]:
    if column.null_count:
        column = pc.fill_null(column, none)
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def words(column: Any) -> list[str]:
    # One Python string per distinct word, not per row.
    coded = column.dictionary_encode()
    words = coded.dictionary.to_pylist()
    return [words[code] for code in coded.indices.to_pylist()]


def _lists(column: Any) -> Lists:
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return Lists.from_lengths(lengths, column.flatten().to_numpy())


def null_if_none(column: npt.NDArray[Any], none: int = -1) -> Any:
    return pa.array(column, mask=column == none)


def _list_array(lists: Lists, null: Bools | None = None) -> Any:
    kind = SCHEMAS["messages"].field("after").type
    offsets = pa.array(lists.offsets.astype(np.int32))
    mask = None if null is None else pa.array(null)
    return pa.ListArray.from_arrays(offsets, pa.array(lists.values), type=kind, mask=mask)
