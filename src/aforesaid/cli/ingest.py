"""`aforesaid ingest`: make a trace of what real nodes wrote down."""

from pathlib import Path

from aforesaid.cli import show
from aforesaid.node.ingest import ingest
from aforesaid.trace.parquet import ParquetSink


def ingest_segments(segments: Path, out: Path, run: str, force: bool, as_json: bool) -> None:
    with (
        ParquetSink(out, run, overwrite=force) as sink,
        show.progress(f"reading {segments}", None, "events") as move,
    ):
        row = ingest(segments, sink, run, lambda done: move(completed=done))
    path = out / f"run={run}"
    if as_json:
        show.print_json({"run": run, "path": str(path), "algorithm": row.algorithm, "ended": row.ended})
    else:
        show.out.print(f"wrote {path} ({row.algorithm}, {row.ended}); judge it: aforesaid check {path}")
