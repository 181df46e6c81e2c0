"""Whatever happens to the rows of a good run, what is left of it is never judged to be violated."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aforesaid.check import check
from aforesaid.pipeline.auditing.driver import fair
from aforesaid.pipeline.auditing.rebuild import Group, Relaid, complete, note, sift_group
from aforesaid.trace import MemoryTrace
from aforesaid.trace.parquet import open_trace
from aforesaid.trace.parquet.columns import messages_table, rows_table
from aforesaid.trace.parquet.spill import Rows, joined
from support.random_traces import Scheduler

SEEDS = 200


def test_a_good_run_with_bad_rows_is_never_violated(tmp_path: Path) -> None:
    values: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in range(SEEDS):
        random = Random(seed)
        trace = Scheduler(random, multicast=seed % 3 == 0, reckless=False).run()
        tables = {name: spoiled(table, random) for name, table in tables_of(trace).items()}
        run = rebuilt(trace, tables, tmp_path / str(seed))
        if run.refusal:
            values["refused"] += 1
            continue
        report = fair(run, check(open_trace(run.path)))
        assert report.value() != "violated", (seed, run.refused, report.to_dict())
        judged = {name: open_trace(run.path).event_counts[name] for name in ("deliveries", "stabilities")}
        for name, left in judged.items():
            refused = sum(count for (table, _), count in run.refused.items() if table == name)
            assert left + refused == len(tables[name]), (seed, name)
        values[report.value()] += 1
        reasons.update(reason for _, reason in run.refused)
    assert min(values["kept"], values["unknown"], values["refused"]) > 10, values
    assert len(reasons) >= 11, reasons


def tables_of(trace: MemoryTrace) -> dict[str, Any]:
    """The tables of events, as they would come from files."""
    logs = [
        Rows(
            np.full(len(log), process, np.int32),
            np.arange(len(log), dtype=np.int32),
            log.time_ns,
            log.message,
        )
        for process, log in trace.logs()
    ]
    calls = trace.stabilities
    return {
        "deliveries": rows_table("deliveries", joined(logs)),
        "messages": messages_table(trace.messages, 0),
        "stabilities": rows_table(
            "stabilities", Rows(calls.process, calls.position, calls.time_ns, calls.message)
        ),
    }


def spoiled(table: Any, random: Random) -> Any:
    """Rows shuffled, and now and then one copied, or with a value that cannot be or is missing."""
    rows = table.to_pylist()
    random.shuffle(rows)
    for _ in range(random.choice((0, 0, 1, 2)) if rows else 0):
        place = random.randrange(len(rows))
        what = random.randrange(3)
        if what == 0:
            rows.append(dict(rows[place]))
        else:
            column = random.choice([name for name in rows[place] if name != "time_ns"])
            wrong: Any = random.choice((None, -7, 10_000))
            if column in ("after", "audience"):
                wrong = random.choice((None if column == "after" else [999], [10_000], [-1], [None]))
            rows[place] = {**rows[place], column: wrong}
    return pa.Table.from_pylist(rows, pa.schema([field.with_nullable(True) for field in table.schema]))


def rebuilt(trace: MemoryTrace, tables: dict[str, Any], path: Path) -> Relaid:
    rows = {name: len(table) for name, table in tables.items()}
    run = Relaid(trace.run.run, path / "run=x", rows, described=(trace.run, trace.processes))
    run.log_lengths = run.log_lengths.copy()
    run.log_lengths.resize(len(trace.processes), refcheck=False)
    (path / "quarantine").mkdir(parents=True)
    for name in ("deliveries", "messages", "stabilities"):
        group = Group(
            "x", run.path, path / "quarantine", run.process_count, rows["messages"], run.log_lengths
        )
        if rows[name]:
            note(name, run, *sift_group(name, group, 0, tables[name]))
    complete(run)
    return run


@pytest.mark.parametrize("seed", range(3))
def test_a_good_run_stays_as_it_is(seed: int, tmp_path: Path) -> None:
    trace = Scheduler(Random(seed), multicast=False, reckless=False).run()
    run = rebuilt(trace, tables_of(trace), tmp_path)
    assert not run.refused
    assert check(open_trace(run.path)).verdicts == check(trace).verdicts
