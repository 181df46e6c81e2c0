"""A table in several files, as Spark and others write it, and logs read in slices."""

import shutil
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aforesaid.core import Misuse
from aforesaid.trace.parquet import ParquetTrace, open_trace
from support.injected import injected, write

TABLES = ("runs", "processes", "messages", "deliveries", "stabilities", "samples")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(injected(20, 200, faults=4, stability=True), tmp_path, "one", row_group_rows=700)


def scattered(run: Path, files: int, shuffle: bool) -> ParquetTrace:
    """The same run, each table in a directory of files."""
    target = run.with_name("run=many")
    for name in TABLES:
        table = pq.read_table(run / f"{name}.parquet")
        if shuffle:
            rows = list(range(len(table)))
            Random(1).shuffle(rows)
            table = table.take(pa.array(rows, pa.int64()))
        directory = target / f"{name}.parquet"
        directory.mkdir(parents=True)
        (directory / "_SUCCESS").touch()
        step = -(-len(table) // files) or 1
        for part in range(max(1, -(-len(table) // step))):
            pq.write_table(table.slice(part * step, step), directory / f"part-{part:03}.parquet")
    return open_trace(target)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("files", [1, 3])
def test_many_files_read_like_one(run: Path, files: int, shuffle: bool) -> None:
    one, many = open_trace(run), scattered(run, files, shuffle)
    assert many.event_counts == one.event_counts
    for (process, log), (other, same) in zip(one.logs(), many.logs(), strict=True):
        assert process == other
        assert log.message.tolist() == same.message.tolist()
        assert sorted(one.stabilities.of(process).message) == sorted(many.stabilities.of(process).message)
    assert one.messages.after.values.tolist() == many.messages.after.values.tolist()


def test_a_directory_without_files_is_no_table(run: Path) -> None:
    scattered(run, 2, shuffle=False)
    table = run.with_name("run=many") / "deliveries.parquet"
    shutil.rmtree(table)
    table.mkdir()
    with pytest.raises(Misuse, match="lacks its table deliveries"):
        open_trace(run.with_name("run=many"))


@pytest.mark.parametrize("deliveries_max", [1, 700, 1_500, 1 << 30])
def test_slices_hold_every_log_once(run: Path, deliveries_max: int) -> None:
    trace = open_trace(run)
    slices = trace.slices(deliveries_max)
    assert [process for part in slices for process in part] == list(range(20))
    assert (len(slices) > 1) == (deliveries_max < 1 << 30)
    read = [(process, log.message.tolist()) for part in slices for process, log in trace.logs(part)]
    assert read == [(process, log.message.tolist()) for process, log in trace.logs()]


def test_a_log_across_row_groups_is_in_one_slice(tmp_path: Path) -> None:
    """A process may have more deliveries than a row group has rows."""
    trace = open_trace(write(injected(9, 300, faults=1), tmp_path, "long", row_group_rows=100))
    slices = trace.slices(100)
    assert [process for part in slices for process in part] == list(range(9))
    for part in slices:
        for process, log in trace.logs(part):
            assert log.message.tolist() == trace.log(process).message.tolist()
