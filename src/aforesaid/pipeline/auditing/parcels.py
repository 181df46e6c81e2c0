"""Rows in parcels: some rows of one run's table, as bytes. No Spark here.

Spark moves rows one by one; a parcel is one row to it, however many are inside. So rows that others wrote in
any order are brought together by run at the price of moving bytes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.files import Piece, names_of
from aforesaid.pipeline.auditing.fitting import fitted

PARCELS = "run string, table string, rows long, parcel binary, failure string"
"""What Spark sees. A failure stands in the place of rows that cannot be read; then the run may be null."""

BATCH_ROWS = 1 << 20
"""How many rows of a DataFrame are looked at together."""
_SMALLER = pa.ipc.IpcWriteOptions(compression="lz4")


def of_piece(piece: Piece) -> Iterator[Any]:
    """The rows of a part of a file."""
    try:
        for rows, runs in piece.batches():
            yield by_run(piece.table, rows, runs)
    except Misuse as error:
        yield _batch([piece.run], piece.table, [0], [b""], str(error))


def of_rows(name: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The rows of a part of a DataFrame."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for gathered in _gathered(batches):
            rows = pa.Table.from_batches(gathered)
            yield by_run(name, fitted(name, rows), names_of(rows))

    return work


def by_run(name: str, rows: Any, runs: Any) -> Any:
    """A parcel for each run."""
    coded = runs.dictionary_encode()
    names = coded.dictionary.to_pylist()
    counts = [len(rows)]
    if len(names) != 1:
        codes = coded.indices.to_numpy()
        rows = rows.take(pa.array(np.argsort(codes, kind="stable")))
        counts = np.bincount(codes, minlength=len(names)).tolist()
    firsts = [0, *np.cumsum(counts).tolist()]
    parcels = [packed(rows.slice(first, count)) for first, count in zip(firsts, counts, strict=False)]
    return _batch(names, name, counts, parcels)


def packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_SMALLER) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


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


def _batch(
    runs: list[str | None], name: str, counts: list[int], parcels: list[bytes], failure: str | None = None
) -> Any:
    return pa.record_batch(
        {
            "run": pa.array(runs, pa.string()),
            "table": pa.array([name] * len(runs), pa.string()),
            "rows": pa.array(counts, pa.int64()),
            "parcel": pa.array(parcels, pa.binary()),
            "failure": pa.array([failure] * len(runs), pa.string()),
        }
    )
