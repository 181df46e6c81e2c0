"""Whatever is wrong with a stored trace is a `Misuse` of one line that names what is at fault."""

import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aforesaid.core import Misuse
from aforesaid.trace.parquet import find_runs, open_trace
from aforesaid.trace.parquet.schema import DEFAULTS, OPTIONAL, SCHEMAS
from support.trace_scripts import assert_same, in_memory, is_same, stored

TABLES = ("deliveries", "messages", "processes", "runs", "samples", "stabilities")
Edit = Callable[[Any], Any]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    stored(tmp_path, seed=3, steps=120, row_group_rows=40)
    return tmp_path / "run=r1"


def edit(run: Path, table: str, change: Edit) -> Path:
    """Write a table anew, as another tool would: changed, and without the seal."""
    path = run / f"{table}.parquet"
    pq.write_table(change(pq.ParquetFile(path).read()), path)
    return path


def put(column: str, values: Any) -> Edit:
    """Another content for a column: an array, or a function of the old list."""

    def change(table: Any) -> Any:
        index = table.schema.get_field_index(column)
        new = values
        if callable(values):
            new = pa.array(values(table[column].to_pylist()), table.schema.field(index).type)
        return table.set_column(index, column, new)

    return change


def first(value: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda old: [value, *old[1:]]


def read_all(run: Path) -> None:
    for found in find_runs(run):
        trace = open_trace(found)
        for _ in trace.logs():
            pass
        for process in range(len(trace.processes)):
            trace.stabilities.of(process)
        trace.messages, trace.samples  # noqa: B018


def complaint(run: Path) -> str:
    """What reading everything is refused with; one line."""
    with pytest.raises(Misuse) as error:
        read_all(run)
    assert "\n" not in str(error.value)
    return str(error.value)


# Paths


def test_no_such_path(tmp_path: Path) -> None:
    assert complaint(tmp_path / "nowhere") == f"{tmp_path / 'nowhere'} does not exist"
    with pytest.raises(Misuse, match="does not exist"):
        open_trace(tmp_path / "nowhere")


def test_a_directory_without_runs(tmp_path: Path) -> None:
    assert "is not a trace: it holds neither runs.parquet nor a directory run=..." in complaint(tmp_path)
    with pytest.raises(Misuse, match=r"it has no runs\.parquet; name one run"):
        open_trace(tmp_path)


def test_a_file_is_no_trace(run: Path) -> None:
    assert "is not a trace: a trace is a directory" in complaint(run / "runs.parquet")


def test_find_runs(tmp_path: Path) -> None:
    for name in ("run=b", "run=a", "run=a10", ".run=c.tmp-1", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "run=file").write_text("")
    assert [run.name for run in find_runs(tmp_path)] == ["run=a", "run=a10", "run=b"]
    assert find_runs(str(tmp_path / "run=b")) == [tmp_path / "run=b"]


def test_a_run_directory_may_have_any_name(run: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    run.rename(moved)
    assert find_runs(moved) == [moved]
    assert open_trace(moved).run.run == "moved"


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_table(run: Path, table: str) -> None:
    (run / f"{table}.parquet").unlink()
    if table == "runs":
        assert complaint(run) == f"{run} is not a trace: it has no runs.parquet"
    elif table in OPTIONAL:
        trace = open_trace(run)
        empty = len(trace.stabilities.of(0)) if table == "stabilities" else len(trace.samples.metric)
        assert empty == 0
    else:
        assert complaint(run) == f"trace {run} lacks its table {table}: there is no file {table}.parquet"


def test_no_such_process(run: Path) -> None:
    trace = open_trace(run)
    for process in (-1, len(trace.processes)):
        with pytest.raises(Misuse, match=f"has no process {process}; it has {len(trace.processes)}, from 0"):
            trace.log(process)


# Columns and versions


def without(column: str, rows: pa.Table) -> pa.Table:
    return rows.drop_columns([column])


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_column(run: Path, table: str) -> None:
    needed = set(SCHEMAS[table].names) - DEFAULTS.get(table, {}).keys()
    for column in sorted(needed):
        kept = run.parent / "kept"
        shutil.copytree(run, kept)
        path = edit(kept, table, partial(without, column))
        assert complaint(kept).startswith(f"{path}: table {table} lacks column {column} (")
        shutil.rmtree(kept)


def test_a_run_of_version_1_has_potential_causality_and_is_whole(run: Path) -> None:
    edit(
        run, "runs", lambda rows: put("schema_version", first(1))(rows.drop_columns(["causality", "sampled"]))
    )
    old = open_trace(run).run
    assert (old.schema_version, old.causality, old.sampled) == (1, "potential", False)


def test_a_causality_that_is_none(run: Path) -> None:
    edit(run, "runs", put("causality", first("guessed")))
    assert "column causality holds 'guessed', expected one of potential, declared" in complaint(run)


@pytest.mark.parametrize(
    ("table", "column", "kind", "text"),
    [
        ("deliveries", "position", pa.float64(), "is double, expected int32"),
        ("deliveries", "time_ns", pa.timestamp("ns"), "is timestamp[ns], expected int64"),
        ("messages", "after", pa.list_(pa.float64()), "is list<double>, expected list<int32>"),
        ("messages", "time_ns", pa.timestamp("us"), "is timestamp[us], expected int64"),
        ("messages", "audience", pa.string(), "is string, expected list<int32>"),
        ("processes", "name", pa.int32(), "is int32, expected string"),
        ("processes", "joined", pa.int32(), "is int32, expected bool"),
        ("samples", "value", pa.float32(), "is float, expected double"),
        ("stabilities", "position", pa.string(), "is string, expected int32"),
        ("runs", "promises", pa.string(), "is string, expected list<string>"),
    ],
)
def test_a_column_of_another_type(run: Path, table: str, column: str, kind: Any, text: str) -> None:
    path = edit(run, table, lambda rows: put(column, pa.nulls(len(rows), kind))(rows))
    assert complaint(run) == f"{path}: column {column} of table {table} {text}"


@pytest.mark.parametrize(
    ("table", "column", "kind", "value", "text"),
    [
        ("deliveries", "position", pa.int64(), 2**31, "is int64, expected int32 (Integer value 2147483648 "),
        ("deliveries", "message", pa.uint32(), 2**31, "is uint32, expected int32 (Integer value 2147483648 "),
        (
            "messages",
            "time_ns",
            pa.uint64(),
            2**63,
            "is uint64, expected int64 (Integer value 92233720368547",
        ),
        ("messages", "after", pa.list_(pa.int64()), [-(2**40)], "is list<int64>, expected list<int32> ("),
        ("processes", "incarnation", pa.int64(), 2**40, "is int64, expected int32 (Integer value 1099511627"),
    ],
)
def test_a_number_that_does_not_fit(
    run: Path, table: str, column: str, kind: Any, value: Any, text: str
) -> None:
    path = edit(
        run, table, lambda rows: put(column, pa.array(first(value)(rows[column].to_pylist()), kind))(rows)
    )
    assert complaint(run).startswith(f"{path}: column {column} of table {table} {text}")


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("deliveries", "message", first(None)),
        ("messages", "origin", first(None)),
        ("messages", "after", first([None])),
        ("messages", "audience", first([0, None])),
        ("processes", "name", first(None)),
        ("samples", "value", first(None)),
        ("stabilities", "message", first(None)),
    ],
)
def test_nulls_where_there_are_none(run: Path, table: str, column: str, values: Any) -> None:
    kind = {"after": pa.list_(pa.int32()), "audience": pa.list_(pa.int32())}.get(column)

    def change(rows: Any) -> Any:
        new = values(rows[column].to_pylist())
        return put(column, pa.array(new, kind or rows.schema.field(column).type))(_nullable(rows))

    path = edit(run, table, change)
    assert complaint(run).startswith(f"{path}: column {column} (")
    assert complaint(run).endswith(f" of table {table} has nulls")


def _nullable(rows: Any) -> Any:
    return rows.cast(pa.schema([field.with_nullable(True) for field in rows.schema]))


def test_more_columns_are_welcome(run: Path) -> None:
    for table in TABLES:
        edit(run, table, lambda rows: rows.append_column("new", pa.nulls(len(rows), pa.string())))
    assert_same(in_memory(seed=3, steps=120), open_trace(run))


@pytest.mark.parametrize("table", TABLES)
def test_a_newer_version_in_any_file(run: Path, table: str) -> None:
    edit(run, table, lambda rows: rows.replace_schema_metadata({"aforesaid.schema_version": "7"}))
    text = f"trace {run} has schema version 7, this aforesaid reads up to 2; upgrade aforesaid"
    assert complaint(run) == text


def test_a_newer_version_is_told_before_what_else_it_changed(run: Path) -> None:
    edit(
        run,
        "runs",
        lambda rows: rows.drop_columns(["seed"]).replace_schema_metadata({"aforesaid.schema_version": "7"}),
    )
    (run / "samples.parquet").unlink()
    assert "has schema version 7" in complaint(run)


def test_a_newer_version_in_the_column_alone(run: Path) -> None:
    edit(run, "runs", put("schema_version", first(7)))
    assert "has schema version 7, this aforesaid reads up to 2" in complaint(run)


@pytest.mark.parametrize("version", ["", "one", "0", "-1", "1.5"])
def test_what_is_no_version(run: Path, version: str) -> None:
    edit(run, "runs", lambda rows: rows.replace_schema_metadata({"aforesaid.schema_version": version}))
    assert complaint(run) == f"trace {run} has schema version {version!r}, which is no version"


# Content


@pytest.mark.parametrize(
    ("table", "column", "value", "thing"),
    [
        ("messages", "origin", 99, "process"),
        ("messages", "origin", -2, "process"),
        ("messages", "after", [10_000], "message"),
        ("messages", "after", [-1], "message"),
        ("messages", "audience", [0, 99], "process"),
        ("processes", "base", [10_000], "message"),
        ("deliveries", "process", 99, "process"),
        ("deliveries", "process", -1, "process"),
        ("deliveries", "message", 10_000, "message"),
        ("deliveries", "message", -1, "message"),
        ("samples", "process", 99, "process"),
        ("samples", "process", -2, "process"),
        ("stabilities", "process", 99, "process"),
        ("stabilities", "process", -1, "process"),
        ("stabilities", "message", 10_000, "message"),
        ("stabilities", "message", -1, "message"),
    ],
)
def test_an_index_out_of_range(run: Path, table: str, column: str, value: Any, thing: str) -> None:
    path = edit(run, table, put(column, first(value)))
    wrong = value[-1] if isinstance(value, list) else value
    assert complaint(run).startswith(f"{path}: column {column} names {thing} {wrong}, but the trace has ")


@pytest.mark.parametrize(
    ("table", "column", "value", "text"),
    [
        ("runs", "ended", "nicely", "'nicely', expected one of drained, cut, failed"),
        ("processes", "fate", "well", "'well', expected one of alive, "),
        ("messages", "sent_after", -2, "-2, less than -1"),
        ("stabilities", "position", -1, "-1, less than 0"),
    ],
)
def test_a_word_that_is_none(run: Path, table: str, column: str, value: Any, text: str) -> None:
    path = edit(run, table, put(column, first(value)))
    assert complaint(run).startswith(f"{path}: column {column} holds {text}")


@pytest.mark.parametrize(("table", "column"), [("processes", "process"), ("messages", "message")])
def test_rows_must_be_numbered(run: Path, table: str, column: str) -> None:
    path = edit(run, table, put(column, first(1)))
    assert complaint(run).startswith(f"{path}: column {column} does not number the ")


def test_a_run_has_one_row(run: Path) -> None:
    path = edit(run, "runs", lambda rows: pa.concat_tables([rows, rows]))
    assert complaint(run) == f"{path} has 2 rows; a run has one"


@pytest.mark.parametrize("loss", ["first", "middle", "twice"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_positions_with_a_gap(run: Path, loss: str, shuffled: bool) -> None:
    process = next(process for process, log in open_trace(run).logs() if len(log) > 5)

    def change(rows: Any) -> Any:
        at = rows["process"].to_pylist().index(process) + (0 if loss == "first" else 3)
        keep = [row for row in range(len(rows)) if row != at or loss == "twice"]
        keep += [at] if loss == "twice" else []
        return rows.take(random.Random(1).sample(keep, len(keep)) if shuffled else sorted(keep))

    path = edit(run, "deliveries", change)
    text = f"{path}: the positions of process {process} are not 0, 1, 2, ...: "
    assert complaint(run).startswith(text)
    with pytest.raises(Misuse) as error:
        open_trace(run).log(process)
    assert str(error.value).startswith(text)


# Damage


@pytest.mark.parametrize("table", TABLES)
def test_truncated_anywhere(run: Path, table: str) -> None:
    path = run / f"{table}.parquet"
    whole = path.read_bytes()
    for length in [*range(0, 40), *range(40, len(whole) - 40, 11), *range(len(whole) - 40, len(whole))]:
        path.write_bytes(whole[:length])
        assert str(path) in complaint(run)


@pytest.mark.parametrize("table", TABLES)
def test_flipped_bits_never_change_what_is_read(run: Path, table: str) -> None:
    path = run / f"{table}.parquet"
    whole = path.read_bytes()
    expected = in_memory(seed=3, steps=120)
    refusals = []
    for bit in random.Random(table).sample(range(len(whole) * 8), 250):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            assert is_same(expected, open_trace(run)), bit
        except Misuse as error:
            refusals.append(str(error))
    assert len(refusals) > 200
    assert all(str(path) in text and "\n" not in text for text in refusals)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"PAR1\0\0\0\0PAR1", b"hello world, hello"])
def test_what_is_no_parquet_file(run: Path, table: str, content: bytes) -> None:
    (run / f"{table}.parquet").write_bytes(content)
    assert str(run / f"{table}.parquet") in complaint(run)


def test_statistics_that_lie(run: Path) -> None:
    # A reader that trusts statistics and skips row groups must notice when they are wrong.
    trace = open_trace(run)
    stated = trace._deliveries._table.group_range
    trace._deliveries._table.group_range = lambda group, column: (  # type: ignore[method-assign]
        (stated(group, column) or (0, 0))[0],
        10**6,
    )
    with pytest.raises(Misuse, match="does not match its statistics"):
        list(trace.logs())


def test_a_file_that_cannot_be_opened(run: Path) -> None:
    (run / "messages.parquet").unlink()
    (run / "messages.parquet").mkdir()
    assert "lacks its table messages" in complaint(run)


def test_a_table_that_vanishes_later(run: Path) -> None:
    trace = open_trace(run)
    (run / "deliveries.parquet").unlink()
    with pytest.raises(Misuse, match=r"^cannot read .*deliveries.parquet: No such file or directory$"):
        list(trace.logs())
    assert np.all(trace.messages.number > 0)
