"""A judgement over mapped tables, in blocks of a few rows, is that of `check` in memory."""

import pickle
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from aforesaid.check import Report, blocks, check
from aforesaid.check.judge import first_reading, judge, properties_of
from aforesaid.check.reading import Reading, SliceFindings
from aforesaid.core import Misuse
from aforesaid.pipeline.auditing.shelf import Shelf
from aforesaid.storage import Place
from aforesaid.trace.parquet import ParquetTrace, open_trace
from support.injected import injected, write
from support.random_traces import random_trace
from support.scale import scaled
from support.stored import stored

SEEDS = scaled(100, 250)


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
    directory.mkdir()
    shelf = Shelf(directory / "table")
    blocks = (trace.message_part(groups) for groups in trace.message_parts(4))
    shelf.put(trace.run, trace.processes, trace.stabilities, blocks)
    required, judged = properties_of(trace, None)

    def gather(reading: Reading) -> list[SliceFindings]:
        sent = pickle.dumps(reading)
        return [found_elsewhere(trace.path, shelf, sent, process) for process in range(len(trace.processes))]

    report = judge(shelf.take(trace.stabilities), first_reading(trace.run, judged, None), required, gather)
    assert [path.name for path in directory.iterdir()] == ["table"]
    return report


def found_elsewhere(path: Place, shelf: Shelf, sent: bytes, process: int) -> SliceFindings:
    trace = open_trace(path)
    reader = shelf.take(trace.stabilities)
    with pytest.raises(ValueError, match="read-only"):
        reader.history.sent[:] = True
    part = range(process, process + 1)
    found = reader.read(pickle.loads(sent), trace.logs(part), part, lambda: None)
    copy: SliceFindings = pickle.loads(pickle.dumps(found))
    return copy
