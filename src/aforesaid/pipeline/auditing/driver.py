"""An audit from end to end: find the runs, judge them, and have a second look at those that were refused.

Runs in our layout are judged where they lie; a small one that has rows no run could have written is looked at
again in the same task, a large one together with others like it: what can be judged of it is judged, the rest
is counted. Rows that others laid out, and those of DataFrames, are brought together by run first. A damaged
file is never believed in part.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.frames import checked_frames, frames_at
from aforesaid.pipeline.auditing.gathering import judge_parcels, parcels_of_files, parcels_of_frames
from aforesaid.pipeline.auditing.judging import judge_runs
from aforesaid.pipeline.auditing.layout import Others, Ours, Stored, find_layout
from aforesaid.pipeline.auditing.options import DEFAULTS, AuditOptions
from aforesaid.pipeline.auditing.outcome import Outcome
from aforesaid.pipeline.auditing.results import Audit
from aforesaid.pipeline.auditing.sharing import Shelves, shelves
from aforesaid.pipeline.auditing.work import run_of
from aforesaid.pipeline.progress import Tell
from aforesaid.pipeline.session import jvm_memory_bytes, storage_settings
from aforesaid.storage import Place, Unreachable, place


def audit(
    spark: SparkSession,
    traces: str | os.PathLike[str] | Place | None = None,
    *,
    deliveries: DataFrame | None = None,
    messages: DataFrame | None = None,
    processes: DataFrame | None = None,
    runs: DataFrame | None = None,
    stabilities: DataFrame | None = None,
    options: AuditOptions = DEFAULTS,
    scratch: Path | None = None,
    tell: Tell = lambda done, total: None,
) -> Audit:
    """Judge every run at a path or URI, or in tables over all runs that come as DataFrames.

    DataFrames have the columns of docs/traces.md and one more, `run`. What tasks share is kept in a file
    under `scratch` on this machine, by default where temporary files go.
    """
    given = {
        "runs": runs,
        "processes": processes,
        "messages": messages,
        "deliveries": deliveries,
        "stabilities": stabilities,
    }
    frames = {name: frame for name, frame in given.items() if frame is not None}
    if (traces is None) == (not frames):
        raise Misuse("audit either traces, by path or URI, or DataFrames")
    found = Audit(spark, options.properties)
    with shelves(spark, scratch) as room:
        if traces is None:
            _audit_frames(found, checked_frames(frames), options, room, tell)
        else:
            _audit_traces(found, traces, options, room, tell)
    found.jvm_bytes = jvm_memory_bytes(spark)
    return found


def _audit_traces(
    found: Audit, traces: str | os.PathLike[str] | Place, options: AuditOptions, room: Shelves, tell: Tell
) -> None:
    try:
        layout = find_layout(place(traces, storage_settings(found.spark)))
    except Unreachable:
        frames = frames_at(found.spark, os.fspath(traces))  # type: ignore[arg-type]
        _audit_frames(found, checked_frames(frames), options, room, tell)
        return
    if isinstance(layout, Others):
        with _timed(found, "judging"):
            parcels = parcels_of_files(found.spark, layout.pieces)
            found.outcomes = judge_parcels(found.spark, parcels, options, room, tell)
    else:
        _audit_ours(found, layout, options, room, tell)


def _audit_frames(
    found: Audit, frames: Mapping[str, DataFrame], options: AuditOptions, room: Shelves, tell: Tell
) -> None:
    with _timed(found, "judging"):
        found.outcomes = judge_parcels(found.spark, parcels_of_frames(frames), options, room, tell)


def _audit_ours(found: Audit, layout: Ours, options: AuditOptions, room: Shelves, tell: Tell) -> None:
    with _timed(found, "judging"):
        found.outcomes = judge_runs(found.spark, layout.runs, options, room, tell)
    again = [
        stored
        for stored, outcome in zip(layout.runs, found.outcomes, strict=True)
        if outcome.by_rows and stored.bytes > options.whole_bytes
    ]
    if again:
        with _timed(found, "sifting"):
            sifted = _sifted(found.spark, again, options, room, tell)
        found.outcomes = [sifted.get(outcome.path, outcome) for outcome in found.outcomes]


def _sifted(
    spark: SparkSession, runs: Sequence[Stored], options: AuditOptions, room: Shelves, tell: Tell
) -> dict[str, Outcome]:
    """A second look at large runs that were refused for their rows, by path."""
    paths = {run_of(stored.run): str(stored.run) for stored in runs}
    pieces = [piece for stored in runs for piece in stored.pieces(run_of(stored.run))]
    outcomes = judge_parcels(spark, parcels_of_files(spark, pieces), options, room, tell)
    return {paths[outcome.run]: replace(outcome, path=paths[outcome.run]) for outcome in outcomes}


@contextmanager
def _timed(found: Audit, stage: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    found.seconds[stage] = time.perf_counter() - began
