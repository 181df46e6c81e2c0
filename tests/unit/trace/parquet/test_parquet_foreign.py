"""What others laid out is read all the same: in any order, with or without statistics."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from aforesaid.trace.parquet import ParquetTrace, open_trace
from aforesaid.trace.parquet.deliveries import Deliveries
from support.trace_scripts import assert_same, in_memory, stored


def by_time(rows: Any) -> Any:
    return rows.sort_by("time_ns")


def shuffled(rows: Any) -> Any:
    return rows.take(random.Random(1).sample(range(len(rows)), len(rows)))


def processes_backwards(rows: Any) -> Any:
    return rows.sort_by([("process", "descending"), ("position", "ascending")])


def all_backwards(rows: Any) -> Any:
    return rows.sort_by([("process", "descending"), ("position", "descending")])


def positions_backwards(rows: Any) -> Any:
    return rows.sort_by([("process", "ascending"), ("position", "descending")])


def half_and_half(rows: Any) -> Any:
    low = rows.filter(pc.less(rows["process"], 3))
    high = rows.filter(pc.greater_equal(rows["process"], 3))
    return pa.concat_tables([by_time(low), high])


def by_process(rows: Any) -> Any:
    return rows.sort_by([("process", "ascending"), ("position", "ascending"), ("time_ns", "ascending")])


LAYOUTS = [by_time, shuffled, processes_backwards, all_backwards, positions_backwards, half_and_half]


def laid_out(root: Path, layout: Callable[[Any], Any], **options: Any) -> ParquetTrace:
    path = stored(root, seed=4).path
    deliveries = path / "deliveries.parquet"
    pq.write_table(layout(pq.ParquetFile(deliveries).read()), deliveries, **options)
    return open_trace(path)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row_group_size", [3, 50, 10_000])
@pytest.mark.parametrize("write_statistics", [True, False])
def test_any_layout(tmp_path: Path, layout: Any, row_group_size: int, write_statistics: bool) -> None:
    trace = laid_out(tmp_path, layout, row_group_size=row_group_size, write_statistics=write_statistics)
    assert_same(in_memory(seed=4), trace)


@pytest.mark.parametrize("layout", [*LAYOUTS, by_process])
@pytest.mark.parametrize("row_group_size", [3, 10_000])
@pytest.mark.parametrize("write_statistics", [True, False])
def test_stable_calls_in_any_layout(
    tmp_path: Path, layout: Any, row_group_size: int, write_statistics: bool
) -> None:
    path = stored(tmp_path, seed=4).path
    file = path / "stabilities.parquet"
    whole = pq.ParquetFile(file).read()
    pq.write_table(layout(whole), file, row_group_size=row_group_size, write_statistics=write_statistics)
    expected, found = in_memory(seed=4), open_trace(path)
    assert len(found.stabilities) == len(expected.stabilities) == len(whole) > 30
    for process in range(-1, len(expected.processes) + 1):
        ours, theirs = expected.stabilities.of(process), found.stabilities.of(process)
        assert theirs.position.tolist() == ours.position.tolist()
        assert sorted(theirs.time_ns.tolist()) == ours.time_ns.tolist()
        assert dict(zip(theirs.time_ns.tolist(), theirs.message.tolist(), strict=True)) == dict(
            zip(ours.time_ns.tolist(), ours.message.tolist(), strict=True)
        )


def test_only_what_overlaps_is_read_together(tmp_path: Path) -> None:
    def together(layout: Any) -> list[int]:
        trace = laid_out(tmp_path / layout.__name__, layout, row_group_size=20)
        return [len(span.groups) for span in trace._deliveries._spans]

    assert len(together(by_time)) == 1
    assert set(together(processes_backwards)) == {1}
    mixed = together(half_and_half)
    assert mixed[0] > 1
    assert set(mixed[1:]) == {1}


def test_a_log_is_read_from_the_row_groups_that_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = stored(tmp_path, seed=4, row_group_rows=30)
    expected = [log.message.tolist() for _, log in trace.logs()]
    groups: list[int] = []
    read_group = Deliveries._read_group

    def counted(self: Deliveries, group: int) -> Any:
        groups.append(group)
        return read_group(self, group)

    monkeypatch.setattr(Deliveries, "_read_group", counted)
    trace = open_trace(trace.path)
    assert [trace.log(process).message.tolist() for process in range(len(expected))] == expected
    # One after the other, each row group is read once, but for those at a seam.
    assert sorted(set(groups)) == list(range(trace._deliveries._table.group_count))
    assert len(groups) <= 2 * len(set(groups))


def test_tables_in_any_order_and_large_types(tmp_path: Path) -> None:
    path = stored(tmp_path, seed=4).path
    for table in ("processes", "messages"):
        rows = shuffled(pq.ParquetFile(path / f"{table}.parquet").read())
        large = {pa.string(): pa.large_string()}
        kinds = [
            pa.large_list(field.type.value_type)
            if pa.types.is_list(field.type)
            else large.get(field.type, field.type)
            for field in rows.schema
        ]
        fields = [pa.field(name, kind) for name, kind in zip(rows.column_names, kinds, strict=True)]
        pq.write_table(rows.cast(pa.schema(fields)), path / f"{table}.parquet", row_group_size=10)
    assert_same(in_memory(seed=4), open_trace(path))
