"""Rows in parcels: some rows of one run's table, as bytes. No Spark here.

Spark moves rows one by one; a parcel is one row to it, however many are inside. So rows that others wrote in
any order are brought together by run at the price of moving bytes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.files import Piece, names_of
from aforesaid.pipeline.auditing.fitting import fitted
from aforesaid.trace.model import Int64s

PARCELS = "run string, table string, rows long, parcel binary, failure string"
"""What Spark sees. A failure stands in the place of rows that cannot be read; then the run may be null."""

BATCH_ROWS = 1 << 20
"""How many rows of a DataFrame are looked at together."""


def of_piece(piece: Piece) -> Iterator[Any]:
    """The rows of a part of a file."""
    try:
        for rows, runs in piece.batches():
            yield by_run(piece.table, rows, runs)
    except Misuse as error:
        yield _batch([piece.run], piece.table, np.zeros(1, np.int64), [b""], str(error))


def of_rows(name: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The rows of a part of a DataFrame."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for gathered in _gathered(batches):
            rows = pa.Table.from_batches(gathered)
            yield by_run(name, fitted(name, rows), names_of(rows))

    return work


def by_run(name: str, rows: Any, runs: Any) -> Any:
    """A parcel for each run."""
    names = runs.dictionary.cast(pa.string())
    places, counts, parcels = parted(rows, runs.indices.to_numpy(), len(names))
    return _batch(names.take(pa.array(places)), name, counts, parcels)


def parted(rows: Any, numbers: npt.NDArray[Any], count: int) -> tuple[Int64s, Int64s, Any]:
    """Rows that go to places 0 to count: the places that get any, how many, and their parcels."""
    counts = np.bincount(numbers, minlength=count)
    places = np.flatnonzero(counts)
    if len(places) > 1:
        # NumPy sorts the narrow types by radix, several times faster.
        order = np.argsort(numbers.astype(np.min_scalar_type(count)), kind="stable")
        rows = rows.take(pa.array(order))
    counts = counts[places]
    return places, counts, _packed(rows, counts)


def _packed(rows: Any, counts: Int64s) -> Any:
    """Parcels of so many rows each, one after the other in one piece of memory."""
    sink = pa.BufferOutputStream()
    ends = np.cumsum(counts)
    offsets = [0]
    for first, count in zip((ends - counts).tolist(), counts.tolist(), strict=True):
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows.slice(first, count))
        offsets.append(sink.tell())
    where = pa.py_buffer(np.array(offsets, np.int32))
    return pa.Array.from_buffers(pa.binary(), len(counts), [None, where, sink.getvalue()])


def unpacked(parcels: Iterable[bytes]) -> Any:
    """The rows of parcels of one table."""
    return pa.concat_tables([pa.ipc.open_stream(parcel).read_all() for parcel in parcels])


def tables_of(parcels: Any) -> dict[str, Any]:
    """The rows of a run's parcels, by table."""
    by_table: dict[str, list[Any]] = {}
    for name, parcel in zip(parcels.column("table").to_pylist(), parcels.column("parcel"), strict=True):
        by_table.setdefault(name, []).append(parcel.as_buffer())
    return {name: unpacked(some) for name, some in by_table.items()}


def _gathered(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches of few rows in heaps of BATCH_ROWS or so."""
    heap: list[Any] = []
    for batch in batches:
        heap.append(batch)
        if sum(len(one) for one in heap) >= BATCH_ROWS:
            yield heap
            heap = []
    if heap:
        yield heap


def _batch(runs: Any, name: str, counts: Int64s, parcels: Any, failure: str | None = None) -> Any:
    return pa.record_batch(
        {
            "run": pa.array(runs, pa.string()),
            "table": pa.array([name] * len(runs), pa.string()),
            "rows": pa.array(counts),
            "parcel": pa.array(parcels, pa.binary()),
            "failure": pa.array([failure] * len(runs), pa.string()),
        }
    )
