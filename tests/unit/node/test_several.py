"""Payloads said one after the other: where they are cut does not depend on how their sizes are kept."""

from itertools import product
from random import Random

import pytest

from aforesaid.node.several import PART_BYTES, Several

SIZES = {
    "equal": [100] * 40,
    "empty": [0] * 40,
    "one": [7],
    "mixed": [0, 3000, 1, 1, 500, 0, 9000, 20],
    "drawn": [Random(7).randrange(300) for _ in range(60)],
}


@pytest.mark.parametrize("name", SIZES)
def test_a_cut_takes_as_many_as_fit(name: str) -> None:
    sizes = SIZES[name]
    several = Several([bytes(size) for size in sizes])
    for begin, most, room in product(range(len(sizes)), (1, 3, 100), (-5, 0, 5, 104, 105, 106, 3010, 10**6)):
        end = begin
        while end < min(len(sizes), begin + most) and sum(sizes[begin : end + 1]) + PART_BYTES * (
            end + 1 - begin
        ) <= max(room, 0):
            end += 1
        assert several.cut(begin, most, room) == end, (begin, most, room)
        assert several.between(begin, end) == sum(sizes[begin:end]) + PART_BYTES * (end - begin)


@pytest.mark.parametrize("name", SIZES)
def test_a_part_is_as_if_it_were_all(name: str) -> None:
    payloads = [bytes(size) for size in SIZES[name]]
    for begin, end in ((0, len(payloads)), (0, 1), (len(payloads) // 2, len(payloads))):
        part, whole = Several(payloads).part(begin, end), Several(payloads[begin:end])
        assert list(part.payloads) == list(whole.payloads)
        assert (part.size, part.in_run) == (whole.size, whole.in_run)
        assert [part.cut(0, 100, room) for room in range(0, 4000, 50)] == [
            whole.cut(0, 100, room) for room in range(0, 4000, 50)
        ]
