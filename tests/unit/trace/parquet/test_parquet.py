"""Traces as Parquet: what goes in comes out, process by process, and a run is there whole or not at all."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from aforesaid.core import Misuse
from aforesaid.trace import Lists, MemorySink, Run, Samples, Stabilities, Tracer
from aforesaid.trace.model import SCHEMA_VERSION
from aforesaid.trace.parquet import ParquetSink, find_runs, open_trace
from aforesaid.trace.parquet.spill import row_group_bounds
from support.trace_scripts import RUN, assert_same, in_memory, messages_of, processes_of, record, stored

TABLES = ("deliveries", "messages", "processes", "runs", "samples", "stabilities")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"memory_rows_max": 20, "row_group_rows": 60},
        {"memory_rows_max": 1, "row_group_rows": 7},
    ],
    ids=str,
)
def test_round_trip(tmp_path: Path, seed: int, options: dict[str, int]) -> None:
    assert_same(in_memory(seed), stored(tmp_path, seed, **options))


def test_round_trip_of_an_empty_run(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, "empty") as sink:
        Tracer(sink).close(Run("empty"))
    memory = MemorySink()
    Tracer(memory).close(Run("empty"))
    assert_same(memory.trace, open_trace(tmp_path / "run=empty"))


def test_a_trace_can_be_read_again_and_says_where_it_is(tmp_path: Path) -> None:
    trace = stored(tmp_path, seed=1)
    assert trace.path == tmp_path / f"run={RUN.run}"
    assert trace.messages is trace.messages
    assert [p for p, _ in trace.logs()] == [p for p, _ in trace.logs()]
    assert trace.delivery_count == sum(len(log) for _, log in trace.logs())
    half_read = trace.logs()
    next(half_read)
    assert_same(in_memory(seed=1), trace)


def test_process_indices_above_16_bits_are_sorted_too(tmp_path: Path) -> None:
    processes = np.array([70_000, 3, 65_539, 3, 70_000, 131_075, 3], np.int32)
    positions = np.array([0, 0, 0, 1, 1, 0, 2], np.int32)
    with ParquetSink(tmp_path, "wide", memory_rows_max=4) as sink:
        _write(sink, 131_076, processes, positions)
    trace = open_trace(tmp_path / "run=wide")
    logs = {process: log.time_ns.tolist() for process, log in trace.logs() if len(log)}
    assert logs == {3: [1, 3, 6], 65_539: [2], 70_000: [0, 4], 131_075: [5]}


# Layout


def test_files_and_versions(tmp_path: Path) -> None:
    run = stored(tmp_path, seed=1).path
    assert sorted(file.name for file in run.iterdir()) == [f"{table}.parquet" for table in TABLES]
    assert [child.name for child in tmp_path.iterdir()] == [run.name]
    for table in TABLES:
        metadata = pq.ParquetFile(run / f"{table}.parquet").metadata
        assert metadata.metadata[b"aforesaid.schema_version"] == str(SCHEMA_VERSION).encode()
    assert pq.ParquetFile(run / "runs.parquet").read()["schema_version"].to_pylist() == [SCHEMA_VERSION]


def test_none_is_null_on_file(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, "r") as sink:
        after, audience = Lists.of([[], [0]]), Lists.of([[], [1]])
        columns = {"time_ns": [-1, 5], "sent_after": [-1, 0], "to_all": [True, False]}
        sink.messages(messages_of(2, after=after, audience=audience, **columns))
        sink.samples(Samples(np.arange(2), np.array([-1, 1], np.int32), ["m", "m"], np.zeros(2)))
        sink.close(Run("r"), processes_of(2, ended_ns=[-1, 9]))
    run = tmp_path / "run=r"
    read = {table: pq.ParquetFile(run / f"{table}.parquet").read() for table in TABLES}
    assert read["messages"]["time_ns"].to_pylist() == [None, 5]
    assert read["messages"]["sent_after"].to_pylist() == [-1, 0]
    assert read["messages"]["audience"].to_pylist() == [None, [1]]
    assert read["messages"]["after"].to_pylist() == [[], [0]]
    assert read["processes"]["ended_ns"].to_pylist() == [None, 9]
    assert read["samples"]["process"].to_pylist() == [None, 1]


def test_others_find_the_runs_as_hive_partitions(tmp_path: Path) -> None:
    for name in ("a-1", "b-2"):
        with ParquetSink(tmp_path, name) as sink:
            _write(sink, 2, np.array([0, 1, 0], np.int32), np.array([0, 0, 1], np.int32), run=name)
    for table in TABLES:
        files = sorted(map(str, tmp_path.glob(f"run=*/{table}.parquet")))
        whole = ds.dataset(files, partitioning="hive", partition_base_dir=str(tmp_path)).to_table()
        assert set(whole["run"].to_pylist()) == {"a-1", "b-2"}


def test_row_groups_hold_whole_processes(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    counts = chance.integers(0, 40, 60)
    counts[[7, 8, 31]] = [130, 251, 100]
    processes = chance.permutation(np.repeat(np.arange(60, dtype=np.int32), counts))
    positions = np.zeros(len(processes), np.int32)
    for process in range(60):
        positions[processes == process] = np.arange(counts[process])
    with ParquetSink(tmp_path, "r", memory_rows_max=97, row_group_rows=100) as sink:
        for start in range(0, len(processes), 10):
            _append(sink, processes[start : start + 10], positions[start : start + 10])
        sink.messages(messages_of(1))
        sink.close(Run("r"), processes_of(60))
    file = pq.ParquetFile(tmp_path / "run=r" / "deliveries.parquet")
    groups = [file.read_row_group(group).to_pydict() for group in range(file.num_row_groups)]
    rows = [row for group in groups for row in zip(group["process"], group["position"], strict=True)]
    assert rows == sorted(rows)
    assert len(rows) == len(processes)
    holders: dict[int, list[int]] = {}
    for index, group in enumerate(groups):
        assert 0 < len(group["process"]) <= 100
        for process in set(group["process"]):
            holders.setdefault(process, []).append(index)
    assert {process for process, held in holders.items() if len(held) > 1} == {7, 8}
    assert all(set(groups[index]["process"]) == {p} for p in (7, 8) for index in holders[p])
    # As many as fit go together: two neighbours would never have fitted into one, the large ones apart.
    small = [len(group["process"]) for group in groups if not {7, 8} & set(group["process"])]
    assert len(small) < 2 * (sum(small) / 100 + 3)


@pytest.mark.parametrize(
    ("counts", "bounds"),
    [
        ([], [0]),
        ([0, 0], [0, 2]),
        ([4, 6, 1], [0, 2, 3]),
        ([11], [0, 1]),
        ([3, 0, 11, 0, 2], [0, 2, 3, 5]),
        ([10, 10, 0], [0, 1, 3]),
    ],
)
def test_row_group_bounds(counts: list[int], bounds: list[int]) -> None:
    assert row_group_bounds(np.array(counts, np.int64), rows_max=10).tolist() == bounds


def test_small_chunks_of_messages_and_samples_share_row_groups(tmp_path: Path) -> None:
    run = stored(tmp_path, seed=1).path
    assert pq.ParquetFile(run / "messages.parquet").num_row_groups == 1
    assert pq.ParquetFile(run / "samples.parquet").num_row_groups == 1


# Whole or not at all


def test_nothing_is_seen_before_the_end(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, RUN.run, memory_rows_max=10) as sink:
        sink.messages(messages_of(1))
        for _ in range(30):
            _append(sink, np.zeros(1, np.int32), np.zeros(1, np.int32))
        [hidden] = tmp_path.iterdir()
        assert hidden.name.startswith(f".run={RUN.run}.tmp-")
        with pytest.raises(Misuse, match="is not a trace"):
            find_runs(tmp_path)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_nothing_behind(tmp_path: Path, error: type[BaseException]) -> None:
    def interrupted() -> None:
        with ParquetSink(tmp_path, "r", memory_rows_max=2) as sink:
            sink.messages(messages_of(1))
            _append(sink, np.zeros(5, np.int32), np.arange(5, dtype=np.int32))
            raise error

    with pytest.raises(error):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_leaving_without_closing_leaves_nothing_behind(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, "r") as sink:
        sink.messages(messages_of(1))
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="is closed"):
        sink.messages(messages_of(1))


@pytest.mark.parametrize(
    ("run", "process", "message", "complaint"),
    [("r", 2, 0, "name process 2 of 2"), ("r", 0, 1, "name message 1 of 1"), ("q", 0, 0, "closed with q")],
)
@pytest.mark.parametrize("table", ["deliveries", "stabilities"])
def test_a_close_that_fails_leaves_nothing_behind(
    tmp_path: Path, run: str, process: int, message: int, complaint: str, table: str
) -> None:
    sink = ParquetSink(tmp_path, "r")
    sink.messages(messages_of(1))
    zero = np.zeros(1, np.int32)
    columns: dict[str, Any] = {"process": zero + process, "position": zero, "time_ns": np.zeros(1, np.int64)}
    if table == "deliveries":
        sink.deliveries(**columns, message=zero + message)
    else:
        sink.stabilities(Stabilities(**columns, message=zero + message))
    with pytest.raises(ValueError, match=complaint if run == "q" else f"^{table} {complaint}$"):
        sink.close(Run(run), processes_of(2))
    assert not list(tmp_path.iterdir())


def test_a_negative_index_is_refused(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, "r") as sink, pytest.raises(ValueError, match="negative index"):
        _append(sink, np.array([-1], np.int32), np.zeros(1, np.int32))


def test_two_writers_of_one_run_do_not_meet(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, RUN.run) as first, ParquetSink(tmp_path, RUN.run) as second:
        record(second, seed=2)
        with pytest.raises(Misuse, match="exists"):
            record(first, seed=1)
    assert_same(in_memory(seed=2), open_trace(tmp_path / f"run={RUN.run}"))
    assert len(list(tmp_path.iterdir())) == 1


KILLED = """
import sys
from dataclasses import replace
from aforesaid.trace.parquet import ParquetSink
import support.trace_scripts as scripts

class Unclosed:
    def __init__(self, sink):
        self.messages, self.deliveries, self.samples = sink.messages, sink.deliveries, sink.samples
        self.stabilities, self.story = sink.stabilities, sink.story
    def close(self, run, processes):
        pass

with ParquetSink(sys.argv[1], "halfway", memory_rows_max=5) as sink:
    scripts.record(Unclosed(sink), seed=1)
    print("halfway", flush=True)
    for number in range(100_000):
        scripts.RUN = replace(scripts.RUN, run=str(number))
        with ParquetSink(sys.argv[1], scripts.RUN.run) as whole:
            scripts.record(whole, seed=1, steps=50)
"""


@pytest.mark.parametrize("runs_before", [0, 5])
def test_kill_leaves_only_whole_runs(tmp_path: Path, runs_before: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"halfway\n"
        while len(list(tmp_path.glob("run=*"))) < runs_before:
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
    left = [child.name for child in tmp_path.iterdir()]
    assert any(name.startswith(".run=halfway.tmp-") for name in left)
    assert "run=halfway" not in left
    whole = sorted(tmp_path.glob("run=*"))
    assert len(whole) >= runs_before
    if whole:
        assert find_runs(tmp_path) == whole
    for run in whole:
        trace = open_trace(run)
        assert (len(list(trace.logs())), len(trace.messages), len(trace.samples.metric)) > (0, 0, 0)
    # What is left over is in nobody's way.
    with ParquetSink(tmp_path, "halfway") as sink:
        _write(sink, 1, np.zeros(1, np.int32), np.zeros(1, np.int32), run="halfway")
    assert open_trace(tmp_path / "run=halfway").delivery_count == 1


# What is there already


def test_an_existing_run_is_not_written_over(tmp_path: Path) -> None:
    before = stored(tmp_path, seed=1)
    with pytest.raises(Misuse, match=r"run=r1 exists; choose another --out or pass --force"):
        ParquetSink(tmp_path, RUN.run)
    assert_same(in_memory(seed=1), before)


def test_overwriting_replaces_the_run_at_the_end(tmp_path: Path) -> None:
    path = stored(tmp_path, seed=1).path
    with ParquetSink(tmp_path, RUN.run, overwrite=True) as sink:
        assert_same(in_memory(seed=1), open_trace(path))
        record(sink, seed=2)
    assert_same(in_memory(seed=2), open_trace(path))
    assert len(list(tmp_path.iterdir())) == 1


def test_overwriting_that_fails_keeps_the_old_run(tmp_path: Path) -> None:
    path = stored(tmp_path, seed=1).path
    with pytest.raises(RuntimeError), ParquetSink(tmp_path, RUN.run, overwrite=True):
        raise RuntimeError
    assert_same(in_memory(seed=1), open_trace(path))
    assert len(list(tmp_path.iterdir())) == 1


def test_overwriting_what_is_not_there(tmp_path: Path) -> None:
    assert_same(in_memory(seed=1), stored(tmp_path / "new" / "root", seed=1, overwrite=True))


def test_a_trace_replaced_while_open_is_noticed(tmp_path: Path) -> None:
    trace = stored(tmp_path, seed=1)
    stored(tmp_path, seed=2, overwrite=True)
    with pytest.raises(Misuse, match="is damaged"):
        list(trace.logs())


@pytest.mark.parametrize("run_id", ["", "a/b", "a=b", "a b", "é", "a\n"])
def test_names_that_are_no_directory_names_are_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(Misuse, match="cannot name a run"):
        ParquetSink(tmp_path, run_id)


def test_a_root_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misuse, match=r"^cannot write .*file/run=r: ") as error:
        ParquetSink(tmp_path / "file", "r")
    assert "\n" not in str(error.value)


def test_a_seed_beyond_64_bits_is_refused(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, "r") as sink, pytest.raises(Misuse, match="does not fit"):
        sink.close(Run("r", seed=2**63), processes_of(1))


def test_bounds_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="at least 1"):
        ParquetSink(tmp_path, "r", memory_rows_max=0)


def test_the_trace_package_does_not_load_pyarrow() -> None:
    script = "import sys, aforesaid.trace; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def _write(
    sink: ParquetSink, process_count: int, process: np.ndarray, position: np.ndarray, run: str = "wide"
) -> None:
    sink.messages(messages_of(1))
    _append(sink, process, position)
    zero = np.zeros(1, np.int32)
    sink.stabilities(Stabilities(zero, zero, np.zeros(1, np.int64), zero))
    sink.samples(Samples(np.zeros(1, np.int64), np.zeros(1, np.int32), ["bytes"], np.zeros(1)))
    sink.close(Run(run), processes_of(process_count))


def _append(sink: ParquetSink, process: np.ndarray, position: np.ndarray) -> None:
    sink.deliveries(process, position, np.arange(len(process)), np.zeros(len(process), np.int32))
