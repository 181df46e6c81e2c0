"""The stream of spans: offsets that end at whole records, whatever is being written meanwhile."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from aforesaid.live.spans import Span, unpacked
from aforesaid.pipeline.source import tailing
from aforesaid.pipeline.source.tailing import SegmentTail, Share, Stretch, shares
from aforesaid.wire.segments import whole_records
from support.growing import Story


def spans_of(tail: SegmentTail, start: dict[str, object], end: dict[str, object]) -> list[Span]:
    parts = tail.partitions(start, end)
    return [unpacked(batch.column(0)[0].as_py()) for part in parts for batch in tail.read(part)]


def test_every_record_is_read_once_however_the_files_grow(tmp_path: Path) -> None:
    for seed in range(10):
        story, random = Story(seed, steps=60), Random(seed)
        whole = story.write(tmp_path / "whole" / str(seed), bytes_max=300)
        grown = tmp_path / "grown" / str(seed)
        grown.mkdir(parents=True)
        tail = SegmentTail([grown], tasks=3)
        at: dict[str, Any] = {}
        left = {
            log: [(number, data) for number, data in enumerate(segments, 1)]
            for log, segments in whole.items()
        }
        read: dict[tuple[str, int], bytes] = {}
        while any(left.values()):
            for log, segments in left.items():
                if segments and random.random() < 0.7:
                    number, data = segments[0]
                    cut = random.randint(0, len(data))
                    with (grown / f"{log}-{number:06d}.segment").open("ab") as file:
                        file.write(data[:cut])
                    segments[0] = (number, data[cut:])
                    if not segments[0][1]:
                        segments.pop(0)
            latest = tail.latestOffset(at, ReadAllAvailable())
            for span in sorted(spans_of(tail, at, latest), key=lambda span: span.start):
                assert not span.damage
                key = (span.log.removeprefix("0:"), span.segment)
                data = read.get(key, b"")
                assert len(data) == span.start, "nothing is left out, nothing comes twice"
                read[key] = data + whole[key[0]][key[1] - 1][span.start : span.stop]
            at = latest
        assert read == {
            (log, number): data for log, segments in whole.items() for number, data in enumerate(segments, 1)
        }


def test_a_torn_end_is_left_and_damage_goes_to_whoever_reads(tmp_path: Path) -> None:
    whole = Story(3).write(tmp_path, bytes_max=10**9)
    log, (data, *_) = next(iter(whole.items()))
    path = tmp_path / f"{log}-000001.segment"
    ends = [end for end, _ in whole_records(data)]
    path.write_bytes(data[: ends[1] + 5])
    tail = SegmentTail([path], tasks=2)
    at = tail.latestOffset({}, ReadAllAvailable())
    assert at == {f"0:{log}": {"segment": 1, "bytes": ends[1]}}
    assert tail.latestOffset(at, ReadAllAvailable()) == at
    damaged = bytearray(data)
    damaged[ends[1] + 9] ^= 1
    path.write_bytes(damaged)
    spans = spans_of(tail, at, tail.latestOffset(at, ReadAllAvailable()))
    assert "damaged at byte" in min(spans, key=lambda span: span.start).damage


def test_a_backlog_is_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Story(3, steps=200).write(tmp_path, bytes_max=500)
    monkeypatch.setattr(tailing, "BATCH_BYTES", 2_000)
    tail, batches = SegmentTail([tmp_path], tasks=2), 0
    at: dict[str, Any] = {}
    while (latest := tail.latestOffset(at, ReadAllAvailable())) != at:
        at, batches = latest, batches + 1
    assert batches > 3
    assert sum(each["segment"] for each in at.values()) == len(list(tmp_path.iterdir()))


def test_bytes_are_dealt_to_all_tasks(tmp_path: Path) -> None:
    Story(5, steps=400).write(tmp_path, bytes_max=10**9)
    files = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_size)[-2:]
    stretches = [Stretch(file, file.name, 1, 0, file.stat().st_size) for file in files]
    dealt = [part for part in shares(stretches, 3) if isinstance(part, Share)]
    sizes = [sum(each.size for each in share.stretches) for share in dealt]
    assert len(sizes) == 3
    assert sum(sizes) == sum(each.size for each in stretches)
    assert max(sizes) < 2 * min(sizes), "two files, three tasks"
    assert shares([], 3) == []
