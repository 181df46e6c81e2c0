"""`aforesaid ingest`: make a trace of what real nodes wrote down."""

from collections import Counter
from pathlib import Path

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.node.recording.ingest import ingest
from aforesaid.trace.parquet import ParquetSink, open_trace

NO_END = "crashed (no end in the log: killed, or running still)"


def ingest_segments(places: list[Path], out: Path, run: str, force: bool, as_json: bool) -> None:
    if len(places) > 1:
        raise Misuse("segments of nodes lie below one directory; name that, or say --from what the files are")
    segments = places[0]
    warnings: list[str] = []
    with (
        ParquetSink(out, run, overwrite=force) as sink,
        show.progress(f"reading {segments}", None, "events") as move,
    ):
        row = ingest(segments, sink, run, lambda done: move(completed=done), warnings.append)
    path = out / f"run={run}"
    fates = _fates(path)
    if as_json:
        facts = {"path": str(path), "algorithm": row.algorithm, "ended": row.ended, "fates": fates}
        show.print_json({"run": run, **facts, "warnings": warnings})
        return
    for warning in warnings:
        show.err.print(f"aforesaid: {warning}", markup=False, soft_wrap=True)
    told = "; ".join(f"{', '.join(names)} {_worded(fate)}" for fate, names in fates.items())
    told += f"\nwrote {path} ({row.algorithm}, {row.ended}); judge it: aforesaid check {path}"
    show.out.print(told, markup=False)


def _worded(fate: str) -> str:
    return NO_END if fate == "crashed" else fate


def _fates(path: Path) -> dict[str, list[str]]:
    """Who was what at the end: alive, left, crashed, evicted or unknown."""
    processes = open_trace(path).processes
    starts = Counter(processes.name)
    fates: dict[str, list[str]] = {}
    for name, incarnation, fate in zip(processes.name, processes.incarnation, processes.fate, strict=True):
        label = name if starts[name] == 1 else f"{name}~{incarnation}"
        fates.setdefault(fate, []).append(label)
    return fates
