"""A run with rows that cannot be judged is never violated for it, and none of its rows is forgotten."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aforesaid.check import check
from aforesaid.pipeline.auditing.sifted import judge_sifted
from aforesaid.trace import MemoryTrace
from aforesaid.trace.parquet.columns import messages_table, processes_table, rows_table, run_table
from aforesaid.trace.parquet.spill import Rows, joined
from support.random_traces import Scheduler

SEEDS = 200


def test_a_good_run_with_bad_rows_is_never_violated() -> None:
    values: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in range(SEEDS):
        random = Random(seed)
        trace = Scheduler(random, multicast=seed % 3 == 0, reckless=False).run()
        tables = tables_of(trace)
        for name in ("deliveries", "messages", "stabilities"):
            tables[name] = spoiled(tables[name], random)
        outcome = judge_sifted("x", tables, None, None)
        assert outcome.rows == {name: len(tables[name]) for name in outcome.rows}
        if outcome.report is None:
            assert sum(outcome.refused.values()) == sum(outcome.rows.values())
            values["refused"] += 1
            continue
        assert outcome.value != "violated", (seed, outcome.refused, outcome.report.to_dict())
        assert len(outcome.quarantine) == sum(outcome.refused.values())
        values[outcome.value] += 1
        reasons.update(reason for _, reason in outcome.refused)
    assert min(values["kept"], values["unknown"], values["refused"]) > 10, values
    assert len(reasons) >= 11, reasons


def tables_of(trace: MemoryTrace) -> dict[str, Any]:
    """All tables, as they would come from files."""
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
        "runs": run_table(trace.run),
        "processes": processes_table(trace.processes),
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


@pytest.mark.parametrize("seed", range(3))
def test_a_good_run_stays_as_it_is(seed: int) -> None:
    trace = Scheduler(Random(seed), multicast=False, reckless=False).run()
    outcome = judge_sifted(trace.run.run, tables_of(trace), None, None)
    assert outcome.report == check(trace, witnesses_max=None)
    assert not outcome.refused
