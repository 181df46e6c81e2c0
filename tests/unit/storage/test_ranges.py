"""Ranges of a file, read one after the other or anyhow, here and in a store."""

import pickle
import random

import pytest

from aforesaid.storage import Place
from aforesaid.storage.ranges import END_BYTES, Ranges
from support.s3 import Bucket

CONTENT = random.Random(1).randbytes(3_000_000)


@pytest.fixture(autouse=True)
def _small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aforesaid.storage.ranges.AHEAD_BYTES", 100_000)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What was asked of a store."""
    asked: list[tuple[int, int]] = []
    fetch = Ranges._fetch

    def noted(self: Ranges, start: int, stop: int) -> memoryview:
        asked.append((start, stop))
        return fetch(self, start, stop)

    monkeypatch.setattr(Ranges, "_fetch", noted)
    return asked


def walked(ranges: Ranges, chance: random.Random, start: int, end: int, most: int) -> None:
    """Range after range, some across the seam of two requests, and with gaps between some."""
    while start < end:
        stop = min(end, start + chance.randint(1, most))
        assert ranges.read(start, stop) == CONTENT[start:stop]
        start = stop + chance.choice([0, 0, 0, 7])


@pytest.mark.parametrize("most", [1_000, 60_000, 250_000])
def test_what_is_expected_comes_as_it_is(somewhere: Place, most: int) -> None:
    (somewhere / "file").write_bytes(CONTENT)
    ranges: Ranges = pickle.loads(pickle.dumps(Ranges(somewhere / "file")))
    ranges.forget()
    chance = random.Random(most)
    for start, end in [(0, len(CONTENT)), (1_234_567, 2_000_000), (2_999_000, len(CONTENT))]:
        ranges.expect(end)
        walked(ranges, chance, start, end, most)
    for _ in range(20):  # What nobody expected, too.
        first = chance.randrange(len(CONTENT) - most)
        assert ranges.read(first, first + most) == CONTENT[first : first + most]
    assert ranges.last(10) == CONTENT[-10:]


def test_a_store_is_asked_for_each_byte_once_and_for_no_more_than_is_expected(
    bucket: Bucket, fetched: list[tuple[int, int]]
) -> None:
    (bucket.place / "file").write_bytes(CONTENT)
    ranges = Ranges(bucket.place / "file")
    ranges.expect(950_000)
    for start in range(0, 950_000, 50_000):
        ranges.read(start, start + 50_000)
    assert fetched == [(start, min(950_000, start + 100_000)) for start in range(0, 950_000, 100_000)]


def test_what_cannot_be_read_ahead_is_told_to_who_reads_it(bucket: Bucket) -> None:
    (bucket.place / "file").write_bytes(CONTENT)
    ranges = Ranges(bucket.place / "file")
    ranges.expect(len(CONTENT) - END_BYTES)
    assert ranges.read(0, 1_000) == CONTENT[:1_000]
    (bucket.place / "file").unlink()
    with pytest.raises(OSError, match="GetObject"):
        walked(ranges, random.Random(1), 1_000, len(CONTENT) - END_BYTES, 60_000)
