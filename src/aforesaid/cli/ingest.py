"""`aforesaid ingest`: make a trace of what real nodes wrote down."""

from pathlib import Path

from aforesaid.cli import show
from aforesaid.node.ingest import ingest
from aforesaid.trace.parquet import ParquetSink, open_trace


def ingest_segments(segments: Path, out: Path, run: str, force: bool, as_json: bool) -> None:
    with (
        ParquetSink(out, run, overwrite=force) as sink,
        show.progress(f"reading {segments}", None, "events") as move,
    ):
        row = ingest(segments, sink, run, lambda done: move(completed=done))
    path = out / f"run={run}"
    fates = _fates(path)
    if as_json:
        facts = {"path": str(path), "algorithm": row.algorithm, "ended": row.ended, "fates": fates}
        show.print_json({"run": run, **facts})
    else:
        told = "; ".join(f"{', '.join(names)} {fate}" for fate, names in fates.items())
        show.out.print(
            f"{told}\nwrote {path} ({row.algorithm}, {row.ended}); judge it: aforesaid check {path}"
        )


def _fates(path: Path) -> dict[str, list[str]]:
    """Who was what at the end: alive, left, crashed or evicted."""
    processes = open_trace(path).processes
    fates: dict[str, list[str]] = {}
    for name, fate in zip(processes.name, processes.fate, strict=True):
        fates.setdefault(fate, []).append(name)
    return fates
