"""Records as they are declared, laid out and read; and the families of the fleet's errors."""

from typing import Annotated

import numpy as np
import pytest

from aforesaid.core import AforesaidError, Misbehaviour, Misuse
from aforesaid.fleet import FleetBroken, FleetFull, FleetStopped
from aforesaid.fleet.layout import Hot, Link, Process, State
from aforesaid.fleet.records import SHORT_MAX, Int64s, Record, Rows, Short
from aforesaid.fleet.states import COUNTED, Kind


class Point(Record):
    x: int
    y: int


class Pair(Record):
    first: Short
    second: Short


class Path(Record):
    count: int
    points: Annotated[Rows[Point], 3]
    tags: Annotated[Int64s, 2]
    last: Point


def test_fields_are_words_records_and_so_many_of_either_in_their_order() -> None:
    assert Path.dtype.names == ("count", "points", "tags", "last")
    assert [Path.dtype.fields[name][1] for name in Path.dtype.names] == [0, 8, 56, 72]  # type: ignore[index]
    assert Path.dtype.itemsize == 88


def test_a_row_is_read_and_written_by_name() -> None:
    table = np.zeros(2, Path.dtype)
    row = table[1]
    row.points[2].y, row.last.x, row.tags[1] = 7, 8, 9
    row.points[0] = row.points[2]
    assert table["points"]["y"].tolist() == [[0, 0, 0], [7, 0, 7]]
    assert (table["last"]["x"].tolist(), table["tags"].tolist()) == ([0, 8], [[0, 0], [0, 9]])


def test_half_words_stand_in_pairs() -> None:
    assert Pair.dtype.itemsize == 8
    table = np.zeros(1, Pair.dtype)
    table[0].first, table[0].second = SHORT_MAX, -1
    assert table.tolist() == [(SHORT_MAX, -1)]


def test_no_row_has_more_cache_lines_than_it_needs() -> None:
    """Three processes share a line of what copies need; a link is less than two."""
    assert (64 // Hot.dtype.itemsize, Link.dtype.itemsize <= 2 * 64) == (3, True)


@pytest.mark.parametrize("record", [Hot, Link, Process, State])
def test_every_word_is_aligned(record: type[Record]) -> None:
    assert record.dtype.isalignedstruct
    assert record.dtype.itemsize % record.dtype.alignment == 0


def test_the_kinds_that_count_have_a_name_each_and_come_first() -> None:
    assert len(COUNTED) - 1 == Kind.FLOOD
    assert sorted(Kind) == list(range(len(Kind)))


def test_errors_of_the_fleet_belong_to_one_family_each() -> None:
    for error in (FleetStopped, FleetFull, FleetBroken):
        assert issubclass(error, AforesaidError)
        assert issubclass(error, RuntimeError)
    assert issubclass(FleetFull, Misuse)
    assert not issubclass(FleetFull, Misbehaviour)
    assert issubclass(FleetBroken, Misbehaviour)
    assert not issubclass(FleetBroken, Misuse)
