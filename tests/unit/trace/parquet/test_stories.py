"""The story of a run as Parquet: what was told comes out, sorted; if nothing was, no file does."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from aforesaid.core import MessageId, Misuse
from aforesaid.trace import MemorySink, Run, Sink, Story, Tracer
from aforesaid.trace.parquet import ParquetSink, open_trace
from aforesaid.trace.parquet.schema import SCHEMAS, STORY, plain


def told(sink: Sink) -> None:
    """Two processes; the second gets a message at once and one that waited for two things."""
    tracer = Tracer(sink)
    a, b = (tracer.began(name, 0, 0) for name in "ab")
    first, second, third = (MessageId("a", 0, number) for number in (1, 2, 3))
    for time, message_id in enumerate((first, second, third)):
        tracer.sent(a, message_id, time)
    chronicle = tracer.chronicle
    tracer.delivered(b, first, 10)
    chronicle.waited(b, 0, a, "missing cause", -1, 1, 7)
    chronicle.waited(b, 0, a, "", a, -1, 2)
    tracer.delivered(b, second, 11)
    chronicle.receipt(b, 1, a)
    tracer.delivered(a, second, 12)
    chronicle.receipt(a, 0, b)
    chronicle.wait(b, 2, a, "missing cause", -1, 1, 9)
    chronicle.wait(a, 0, -1, "missing permit", b, 1, 0, 3)
    chronicle.event(4, "partition", text="a | b")
    chronicle.event(5, "suspect", a, b)
    tracer.close(Run("told"))


def stored(root: Path) -> Path:
    with ParquetSink(root, "told") as sink:
        told(sink)
    return root / "run=told"


def rows(table: Any) -> list[tuple[Any, ...]]:
    columns = (getattr(table, field.name) for field in fields(table))
    return list(zip(*(c.tolist() if isinstance(c, np.ndarray) else c for c in columns), strict=True))


def assert_told(story: Story) -> None:
    assert rows(story.receipts) == [
        (0, 0, 1, "", -1, -1, 0),
        (1, 0, 0, "missing cause", -1, 1, 7),
        (1, 0, 0, "", 0, -1, 2),
        (1, 1, 0, "", -1, -1, 0),
    ]
    assert rows(story.waits) == [
        (0, 0, -1, "missing permit", 1, 1, 0, 3),
        (1, 2, 0, "missing cause", -1, 1, 9, -1),
    ]
    assert rows(story.events) == [(4, "partition", -1, -1, "a | b"), (5, "suspect", 0, 1, "")]
    assert rows(story.receipts.of(1)) == rows(story.receipts)[1:]
    assert rows(story.receipts.of(7)) == []


def test_what_was_told_comes_out(tmp_path: Path) -> None:
    memory = MemorySink()
    told(memory)
    assert_told(memory.trace.story)
    assert_told(open_trace(stored(tmp_path)).story)


def test_rows_in_another_order_are_sorted(tmp_path: Path) -> None:
    run = stored(tmp_path)
    table = pq.read_table(run / "receipts.parquet", partitioning=None)
    pq.write_table(table.take([3, 1, 0, 2]), run / "receipts.parquet")
    assert_told(open_trace(run).story)


def test_a_run_without_a_story_has_no_files_for_it(tmp_path: Path) -> None:
    with ParquetSink(tmp_path, "silent") as sink:
        Tracer(sink).close(Run("silent"))
    run = tmp_path / "run=silent"
    assert not [name for name in STORY if (run / f"{name}.parquet").exists()]
    story = open_trace(run).story
    assert [len(table) for table in (story.receipts, story.waits, story.events)] == [0, 0, 0]


def test_the_story_is_not_in_the_digest() -> None:
    """So a run that is played again with receipts can be compared with the one that had none."""
    digests = []
    for waits in (False, True):
        memory = MemorySink()
        tracer = Tracer(memory)
        a = tracer.began("a", 0, 0)
        if waits:
            tracer.chronicle.event(0, "pause", a)
        digests.append(tracer.close(Run("told")).digest)
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("table", "column"), [("receipts", "cause"), ("waits", "message"), ("events", "other")]
)
def test_an_index_that_names_nothing_is_refused(tmp_path: Path, table: str, column: str) -> None:
    path = stored(tmp_path) / f"{table}.parquet"
    rows = pq.read_table(path, partitioning=None)
    wrong = rows.column(column).to_pylist()
    wrong[-1] = 99
    pq.write_table(rows.set_column(rows.schema.get_field_index(column), column, [wrong]), path)
    with pytest.raises(Misuse, match=f"{table}.parquet: column {column} names .* 99"):
        open_trace(path.parent).story  # noqa: B018


@pytest.mark.parametrize("table", SCHEMAS)
def test_the_page_gives_the_type_of_every_column(table: str) -> None:
    page = Path(__file__).parents[4] / "docs" / "traces.md"
    (row,) = [line for line in page.read_text().splitlines() if line.startswith(f"| `{table}` |")]
    for column in SCHEMAS[table]:
        kind = {"double": "float64"}.get(
            str(column.type), plain(column.type).replace("<", " of ").rstrip(">")
        )
        null = " or null" if column.nullable else ""
        assert f"`{column.name}` {kind}{null}" in row, f"{table}.{column.name}: {kind}{null}"
