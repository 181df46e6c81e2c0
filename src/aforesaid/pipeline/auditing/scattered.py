"""Judges large runs whose rows come in parcels, in any order.

Tasks cut the parcels of deliveries and stable calls into ranges of processes, bring each range together, and
sift it (see `ranges`); the logs stay on the executors' disks, and the driver learns how long they are. It
sifts the messages and makes the table that tasks share; then every reading is a job over the logs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from aforesaid.check.judge import first_reading, properties_of
from aforesaid.check.reading import Reading
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.judging import judged_in_slices, with_work
from aforesaid.pipeline.auditing.options import AuditOptions
from aforesaid.pipeline.auditing.outcome import Outcome, refused_whole
from aforesaid.pipeline.auditing.parcels import tables_of, unpacked
from aforesaid.pipeline.auditing.ranges import Calls, Plan, Ranges
from aforesaid.pipeline.auditing.sharing import Shelves
from aforesaid.pipeline.auditing.shelf import Tables
from aforesaid.pipeline.auditing.sifted import Described, Tally, described, sift_sends
from aforesaid.pipeline.auditing.work import Seen, seen
from aforesaid.pipeline.tasks import packed as packed_result
from aforesaid.pipeline.tasks import unpacked as unpacked_result
from aforesaid.trace.memory import concatenated_stabilities
from aforesaid.trace.model import Int64s, Stabilities
from aforesaid.trace.parquet import ROW_GROUP_ROWS


@dataclass
class _Run:
    """A run while it is judged."""

    place: int
    known: Described
    ranges: Ranges
    lengths: Int64s
    tally: Tally = field(default_factory=Tally)
    calls: list[Stabilities] = field(default_factory=list)


@dataclass(frozen=True)
class _Ready:
    """A run whose table tasks can map."""

    run: _Run
    required: tuple[str, ...]
    plan: Plan
    """How it is read first."""


def judge_scattered(
    parcels: DataFrame, rows: Mapping[str, Mapping[str, int]], options: AuditOptions, room: Shelves
) -> list[Outcome]:
    """What became of each run, of which the rows of each table are counted."""
    outcomes: dict[str, Outcome] = {}
    runs: dict[str, _Run] = {}
    ready: dict[str, _Ready] = {}

    def attempt(name: str, work: Callable[[], Outcome | None]) -> None:
        """The outcome of a run if that is known now, or if it has to be refused."""
        try:
            outcome = work()
        except (Misuse, ValueError) as error:
            outcome = refused_whole(name, "", str(error), rows[name])
        if outcome is not None:
            outcomes[name] = outcome

    def describe(place: int, name: str) -> None:
        runs[name] = _described(place, name, telling.get(name, {}), rows[name], options)

    def prepare(name: str, rows: Any) -> None:
        ready[name] = _prepared(runs[name], rows, options, room)

    telling = _collected(parcels, list(rows), "runs", "processes")
    for place, name in enumerate(rows):
        attempt(name, partial(describe, place, name))
    if not runs:
        return list(outcomes.values())
    logs = _sifted(parcels, runs).persist(StorageLevel.DISK_ONLY)
    try:
        _learn(logs, runs)
        for name, tables in _collected(parcels, list(runs), "messages").items():
            attempt(name, partial(prepare, name, tables["messages"]))
        begun = _read(logs, list(ready.values()))
        for name, run in ready.items():
            attempt(name, partial(_judge, run, begun[run.run.place], logs, room))
    finally:
        logs.unpersist()
    return list(outcomes.values())


def _described(
    place: int, name: str, tables: Mapping[str, Any], rows: Mapping[str, int], options: AuditOptions
) -> _Run:
    known = described(name, tables, rows)
    count = len(known.processes)
    wanted = -(-known.rows["deliveries"] // min(options.slice_deliveries, ROW_GROUP_ROWS))
    ranges = Ranges(count, known.rows["messages"], -(-count // wanted))
    return _Run(place, known, ranges, np.zeros(count, np.int64))


def _collected(parcels: DataFrame, runs: Sequence[str], *names: str) -> dict[str, dict[str, Any]]:
    """Tables of some runs, on the driver."""
    wanted = parcels.where(sql.col("run").isin(list(runs)) & sql.col("table").isin(list(names)))
    found: dict[str, dict[str, list[bytes]]] = {}
    for row in wanted.select("run", "table", "parcel").collect():
        found.setdefault(row["run"], {}).setdefault(row["table"], []).append(row["parcel"])
    return {run: {name: unpacked(some) for name, some in tables.items()} for run, tables in found.items()}


def _sifted(parcels: DataFrame, runs: Mapping[str, _Run]) -> DataFrame:
    """The logs of all ranges of all runs."""
    places = {name: (run.place, run.ranges) for name, run in runs.items()}
    by_place = dict(places.values())

    def cut(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in range(len(batch)):
                place, ranges = places[batch.column("run")[row].as_py()]
                name = batch.column("table")[row].as_py()
                numbers, pieces = ranges.cut(unpacked([batch.column("parcel")[row].as_buffer()]))
                yield pa.record_batch(
                    {
                        "place": pa.array([place] * len(numbers), pa.int32()),
                        "number": pa.array(numbers, pa.int32()),
                        "table": pa.array([name] * len(numbers)),
                        "parcel": pieces,
                    }
                )

    def sift(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        place, number = (part.as_py() for part in key)
        tally, logs = by_place[place].sift(number, tables_of(rows))
        return pa.table(
            {
                "place": pa.array([place], pa.int32()),
                "number": pa.array([number], pa.int32()),
                "told": pa.array([packed_result((tally, logs.lengths, logs.calls))], pa.binary()),
                "logs": pa.array([packed_result(logs)], pa.binary()),
            }
        )

    events = sql.col("table").isin("deliveries", "stabilities") & sql.col("run").isin(list(places))
    pieces = parcels.where(events).select("run", "table", "parcel")
    pieces = pieces.mapInArrow(cut, "place int, number int, table string, parcel binary")
    # In so many tasks, and no fewer, however small they seem to Spark.
    tasks = 2 * sum(len(ranges) for ranges in by_place.values())
    grouped = pieces.repartition(tasks, "place", "number").groupBy("place", "number")
    return grouped.applyInArrow(sift, "place int, number int, told binary, logs binary")


def _learn(logs: DataFrame, runs: Mapping[str, _Run]) -> None:
    """What was refused, how long the logs are, and what was called stable."""
    by_place = {run.place: run for run in runs.values()}
    for row in logs.select("place", "number", "told").orderBy("place", "number").collect():
        run = by_place[row["place"]]
        tally, lengths, calls = unpacked_result(row["told"])
        run.tally.absorb(tally)
        run.calls.append(calls)
        processes = run.ranges[row["number"]]
        run.lengths[processes.start : processes.stop] = lengths


def _prepared(run: _Run, rows: Any, options: AuditOptions, room: Shelves) -> _Ready:
    """Make the table that tasks share."""
    messages = sift_sends(run.tally, rows, run.lengths)
    processes = run.known.remaining(run.tally)
    calls = concatenated_stabilities(run.calls)
    trace = Tables(run.known.run, processes, messages, calls)
    required, judged = properties_of(trace, options.properties)
    shelf = room.new()
    shelf.put(trace.run, processes, calls, [messages])
    plan = Plan(room.share(shelf), len(calls), first_reading(trace.run, judged, options.witnesses_max))
    return _Ready(run, required, plan)


def _read(logs: DataFrame, runs: Sequence[_Ready]) -> dict[int, list[Seen]]:
    """What each range of each run gives when it is read as planned."""
    plans = {one.run.place: one.plan for one in runs}

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in range(len(batch)):
                some = unpacked_result(batch.column("logs")[row].as_buffer())
                found = seen(partial(plans[batch.column("place")[row].as_py()].read, some))
                yield pa.record_batch(
                    {
                        "place": batch.column("place").slice(row, 1),
                        "number": batch.column("number").slice(row, 1),
                        "seen": pa.array([packed_result(found)], pa.binary()),
                    }
                )

    wanted = logs.where(sql.col("place").isin(list(plans))).select("place", "number", "logs")
    rows = wanted.mapInArrow(work, "place int, number int, seen binary").collect()
    found = {(row["place"], row["number"]): unpacked_result(row["seen"]) for row in rows}
    return {
        place: [
            found.get((place, number)) or seen(partial(plans[place].read, ranges.silent(number)))
            for number in range(len(ranges))
        ]
        for place, ranges in ((one.run.place, one.run.ranges) for one in runs)
    }


def _judge(one: _Ready, begun: Sequence[Seen], logs: DataFrame, room: Shelves) -> Outcome:
    run, plan = one.run, one.plan
    work: list[Seen] = []

    def read(reading: Reading) -> list[Seen]:
        return _read(logs, [replace(one, plan=replace(plan, reading=reading))])[run.place]

    reader = plan.shelf.take(Calls(plan.calls))
    report = judged_in_slices(reader, plan.reading, one.required, begun, read, work)
    room.drop(plan.shelf)
    return with_work(replace(run.known.outcome(report, run.tally), slices=len(run.ranges)), work)
