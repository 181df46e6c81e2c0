"""What the format `aforesaid` plans to read: row groups of large tables, small tables together."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aforesaid.core import Misuse
from aforesaid.node.recording.segments import SegmentWriter
from aforesaid.pipeline.source.segments import SegmentEvents
from aforesaid.pipeline.source.source import PORTION_BYTES, portions
from aforesaid.pipeline.source.traces import Piece, TraceTable
from aforesaid.wire.segments import Event, Origin
from support.injected import injected, write
from support.s3 import Bucket


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("traces")
    for name in ("a", "b"):
        write(injected(12, 60, faults=0), there, name, row_group_rows=200)
    return there


def test_a_large_table_is_read_by_row_groups(root: Path) -> None:
    deliveries = TraceTable("deliveries")
    whole = [piece for piece, _ in deliveries.pieces(root, bytes_max=1 << 20)]
    assert whole == [Piece(root / "run=a"), Piece(root / "run=b")]
    cut = [piece for piece, _ in deliveries.pieces(root, bytes_max=100)]
    assert [piece.run.name for piece in cut] == sorted(piece.run.name for piece in cut)
    assert {piece.group for piece in cut} == set(range(len(cut) // 2))
    assert len(cut) > 4

    def rows(pieces: list[Piece]) -> pa.Table:
        return pa.concat_tables([table for piece in pieces for table in deliveries.tables(piece)])

    assert rows(cut) == rows(whole)
    assert set(rows(cut).column("run").to_pylist()) == {"a", "b"}


def test_a_bucket_is_planned_by_few_requests_however_many_runs_it_has(root: Path, bucket: Bucket) -> None:
    for number in range(20):
        for file in (root / "run=a").iterdir():
            (bucket.place / f"run={number}" / file.name).write_bytes(file.read_bytes())
    before = len(bucket.server.requests())
    found = list(TraceTable("deliveries").pieces(bucket.place, bytes_max=1 << 20))
    assert len(bucket.server.requests()) == before + 3
    assert len(found) == 20
    [here] = TraceTable("deliveries").tables(Piece(root / "run=a"))
    [there] = TraceTable("deliveries").tables(found[0][0])
    assert there.drop_columns("run") == here.drop_columns("run")


def test_a_directory_of_files_is_a_table_and_one_run_is_a_root(root: Path, tmp_path: Path) -> None:
    run = shutil.copytree(root / "run=a", tmp_path / "run=a")
    rows = pq.read_table(run / "messages.parquet")
    (run / "messages.parquet").unlink()
    (run / "messages.parquet").mkdir()
    for part, piece in enumerate((rows.slice(0, 30), rows.slice(30))):
        pq.write_table(piece, run / f"messages.parquet/part-{part}.parquet")
    messages = TraceTable("messages")
    [(piece, size)] = messages.pieces(run, bytes_max=1 << 20)
    [read] = messages.tables(piece)
    assert read.column("message").to_pylist() == list(range(len(rows)))
    assert size == sum(file.stat().st_size for file in (run / "messages.parquet").iterdir())


def test_a_table_that_is_not_there_is_told_unless_it_is_optional(root: Path, tmp_path: Path) -> None:
    run = shutil.copytree(root / "run=a", tmp_path / "run=a")
    for table in ("deliveries", "stabilities"):
        (run / f"{table}.parquet").unlink(missing_ok=True)
    with pytest.raises(Misuse, match=r"run=a lacks its table deliveries"):
        list(TraceTable("deliveries").pieces(tmp_path, 100))
    assert list(TraceTable("stabilities").pieces(tmp_path, 100)) == []


def test_small_pieces_go_together_and_large_ones_alone() -> None:
    sizes = [1, 2, PORTION_BYTES, PORTION_BYTES + 1, PORTION_BYTES - 1, 1, 1]
    found = [portion.pieces for portion in portions(enumerate(sizes))]
    assert found == [[0, 1], [2], [3], [4, 5], [6]]
    assert list(portions([])) == []


EVENTS: list[Event] = [
    ("p", "b", 8),
    ("a", "c", None),
    ("s", 1, 10, None),
    ("s", 2, 11, ("b",)),
    ("d", "b", 8, 1, 12),
    ("r", None, ((1, None, 1, 1, 20),)),
    ("k", "b", 8, 1, 13),
    ("x", "b", 14, "evicted", 3),
    ("e", 15, "closed", True),
]


def test_every_event_of_a_segment_is_a_row(tmp_path: Path) -> None:
    origin = Origin("a", 7, "waiting", "test", ("a", "b"), False, 1, 1, "0")
    writer = SegmentWriter(tmp_path / "deep", origin, 1 << 20)
    for event in EVENTS:
        writer.add(event)
    writer.close()
    [file] = (tmp_path / "deep").iterdir()
    with file.open("ab") as torn:
        torn.write(b"torn")
    [(piece, size)] = SegmentEvents().pieces(tmp_path, 100)
    assert (piece, size) == (file, file.stat().st_size)
    [table] = SegmentEvents().tables(piece)
    rows = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
    told: list[dict[str, Any]] = [
        {"event": "met", "peer": "b", "peer_incarnation": 8},
        {"event": "admitted", "peer": "c"},
        {"event": "said", "number": 1, "time_ns": 10},
        {"event": "said", "number": 2, "time_ns": 11, "audience": ["b"]},
        {"event": "delivered", "peer": "b", "peer_incarnation": 8, "number": 1, "time_ns": 12},
        {"event": "stable", "peer": "b", "peer_incarnation": 8, "number": 1, "time_ns": 13},
        {"event": "lost", "peer": "b", "time_ns": 14, "how": "evicted", "owed": 3},
        {"event": "ended", "time_ns": 15, "how": "closed", "drained": True},
        {"event": "torn", "number": 4},
    ]
    by = {"cluster": "test", "algorithm": "waiting", "node": "a", "incarnation": 7, "segment": 1}
    assert rows == [{**by, "position": position, **facts} for position, facts in enumerate(told)]


def test_a_place_without_segments_is_told(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no trace segments in"):
        list(SegmentEvents().pieces(tmp_path, 100))
