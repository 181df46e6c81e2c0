"""A judgement over mapped tables, in blocks of a few rows, is that of `check` in memory."""

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from aforesaid.check import Report, blocks, check
from aforesaid.check.judge import first_reading, judge, properties_of
from aforesaid.check.reading import Reading, SliceFindings
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.shelf import Shelf
from aforesaid.storage import Place
from aforesaid.trace import Lists, MemoryTrace, Messages
from aforesaid.trace.parquet import ParquetSink, ParquetTrace, open_trace
from support.injected import injected, write
from support.random_traces import random_trace

SEEDS = 250


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3)


@pytest.mark.usefixtures("small_blocks")
def test_random_traces_get_the_report_of_check(tmp_path: Path) -> None:
    values: Counter[str] = Counter()
    for seed in range(SEEDS):
        made, done = random_trace(seed)
        try:
            trace = stored(made, tmp_path, str(seed))
        except ValueError:
            continue  # Some have rows that no file may hold.
        with pytest.MonkeyPatch.context() as whole:
            whole.setattr(blocks, "BLOCK", 1 << 20)
            expected = told(partial(check, trace, witnesses_max=None))
        found = told(partial(judged_from_shelf, trace, tmp_path / f"shelf-{seed}"))
        assert found == expected, f"seed {seed}, {done}"
        if isinstance(expected, Report):
            values.update(f"{name} {verdict.value}" for name, verdict in expected.verdicts.items())
    violated = [name for name in values if name.endswith("violated")]
    assert len(violated) == 11, values


@pytest.mark.usefixtures("small_blocks")
def test_injected_faults_get_the_report_of_check(tmp_path: Path) -> None:
    for seed in range(4):
        made = injected(
            30, 200, faults=15, lies=6 * (seed % 2), strays=4 * (seed // 2), stability=True, seed=seed
        )
        trace = open_trace(write(made, tmp_path, str(seed), row_group_rows=500))
        report = judged_from_shelf(trace, tmp_path / f"shelf-{seed}")
        assert report == check(trace, witnesses_max=None)
        for name, verdict in report.verdicts.items():
            pairs = {(witness.process_index, witness.message_index) for witness in verdict.witnesses}
            assert pairs == made.expected.get(name, set()), (seed, name)


def told(judged: Callable[[], Report]) -> Report | str:
    try:
        return judged()
    except (Misuse, ValueError) as error:
        return str(error)


def judged_from_shelf(trace: ParquetTrace, directory: Path) -> Report:
    """The report, one process to a slice, by readers that have nothing but the files."""
    shelf = Shelf(directory)
    shelf.put(trace)
    required, judged = properties_of(trace, None)

    def gather(reading: Reading) -> list[SliceFindings]:
        sent = pickle.dumps(reading)
        return [found_elsewhere(trace.path, shelf, sent, process) for process in range(len(trace.processes))]

    report = judge(shelf.take(trace), first_reading(judged, None), required, gather)
    assert [path.name for path in directory.iterdir()] == ["table"]
    return report


def found_elsewhere(path: Place, shelf: Shelf, sent: bytes, process: int) -> SliceFindings:
    trace = open_trace(path)
    reader = shelf.take(trace)
    with pytest.raises(ValueError, match="read-only"):
        reader.history.sent[:] = True
    part = range(process, process + 1)
    found = reader.read(pickle.loads(sent), trace.logs(part), part, lambda: None)
    copy: SliceFindings = pickle.loads(pickle.dumps(found))
    return copy


def stored(made: MemoryTrace, root: Path, run: str) -> ParquetTrace:
    """The trace in files, its messages in row groups of two."""
    with ParquetSink(root, run, row_group_rows=4) as sink:
        for first in range(0, len(made.messages), 2):
            sink.messages(part_of(made.messages, slice(first, first + 2)))
        for process, log in made.logs():
            size = len(log)
            columns = np.full(size, process, np.int32), np.arange(size, dtype=np.int32)
            sink.deliveries(*columns, log.time_ns, log.message)
        sink.stabilities(made.stabilities)
        sink.samples(made.samples)
        sink.close(replace(made.run, run=run), made.processes)
        return open_trace(sink.path)


def part_of(messages: Messages, rows: slice) -> Messages:
    count = range(len(messages))[rows]
    return Messages(
        messages.origin[rows],
        messages.number[rows],
        messages.time_ns[rows],
        messages.sent_after[rows],
        Lists.of([messages.after[row].tolist() for row in count]),
        messages.to_all[rows],
        Lists.of([messages.audience[row].tolist() for row in count]),
    )
