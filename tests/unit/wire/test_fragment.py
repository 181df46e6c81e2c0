"""Large frames in pieces: any order, twice, with losses; in bounded memory."""

import random
import struct
from itertools import count

import pytest

from aforesaid.core import SECOND, Misuse, Refused
from aforesaid.wire import Limits, Reassembly
from aforesaid.wire.fragment import split

FRAME = random.Random(7).randbytes(10_000)


def test_pieces_in_any_order_and_twice_make_the_frame_once() -> None:
    chance = random.Random(1)
    for size_max in (30, 100, 999, 10_000, 10_020, 20_000):
        pieces = split(FRAME, size_max)
        assert all(len(piece) <= size_max for piece in pieces)
        chance.shuffle(pieces)
        twice = [piece for piece in pieces[:-1] for _ in range(2)] + pieces[-1:]
        reassembly = Reassembly()
        assert [whole for piece in twice if (whole := reassembly.add("a", piece, 0))] == [FRAME]
        assert (reassembly.frames, reassembly.bytes, reassembly.given_up) == (0, 0, 0)


def test_no_piece_fits_into_nothing() -> None:
    with pytest.raises(Misuse, match="no fragment"):
        split(FRAME, 20)


def test_a_second_try_fills_the_gaps_of_the_first() -> None:
    """With 100 pieces and 10 % of loss no single try would be complete in a lifetime."""
    chance = random.Random(2)
    reassembly = Reassembly()
    for tries in count(1):
        for piece in split(FRAME, 120):
            if chance.random() > 0.1 and reassembly.add("a", piece, tries):
                assert 1 < tries < 6
                return


def test_sources_do_not_mix() -> None:
    one, two = split(FRAME, 5_020)
    reassembly = Reassembly()
    assert reassembly.add("a", one, 0) is None
    assert reassembly.add("b", two, 0) is None
    assert reassembly.add("a", two, 0) == FRAME


def forged(name: bytes, length: int, pieces: int, place: int, piece: bytes) -> bytes:
    return struct.pack(">8sIII", name, length, pieces, place) + piece


@pytest.mark.parametrize(
    ("fragment", "why"),
    [
        (b"", "fragment"),
        (forged(b"n", 10, 1, 0, b""), "fragment"),
        (forged(b"n", 10, 2, 2, b"x"), "fragment"),
        (forged(b"n", 10, 0, 0, b"x"), "fragment"),
        (forged(b"n", 10, 11, 0, b"x"), "fragment"),
        (forged(b"n", 10, 2, 0, b"x" * 10), "fragment"),
        (forged(b"n", 10, 1, 0, b"x" * 9), "fragment"),
        (forged(b"n", 10, 1, 0, b"x" * 10), "fragment"),
        (forged(b"n", 2**32 - 1, 2**32 - 1, 0, b"x"), "frame size"),
    ],
)
def test_a_fragment_that_is_none_is_refused_and_leaves_nothing(fragment: bytes, why: str) -> None:
    reassembly = Reassembly()
    with pytest.raises(Refused) as refusal:
        reassembly.add("a", fragment, 0)
    assert refusal.value.reason == why
    assert (reassembly.frames, reassembly.bytes) == (0, 0)


def test_pieces_that_disagree_about_their_frame_are_refused() -> None:
    reassembly = Reassembly()
    reassembly.add("a", forged(b"n", 10, 2, 0, b"12345"), 0)
    for other in (forged(b"n", 11, 2, 1, b"67890"), forged(b"n", 10, 3, 1, b"6789")):
        with pytest.raises(Refused, match="fragment"):
            reassembly.add("a", other, 0)


def test_what_stays_incomplete_is_given_up() -> None:
    reassembly = Reassembly(Limits(patience=10 * SECOND))
    first, *rest = split(FRAME, 1000)
    reassembly.add("a", first, 0)
    reassembly.add("a", rest[0], 8 * SECOND)
    reassembly.add("b", first, 8 * SECOND)
    reassembly.expire(18 * SECOND)
    assert (reassembly.frames, reassembly.given_up) == (2, 0)
    reassembly.expire(18 * SECOND + 1)
    assert (reassembly.frames, reassembly.bytes, reassembly.given_up) == (0, 0, 2)


def test_time_passes_by_itself_as_fragments_come() -> None:
    reassembly = Reassembly(Limits(patience=10 * SECOND))
    first, second, *_ = split(FRAME, 1000)
    reassembly.add("a", first, 0)
    reassembly.add("b", second, 20 * SECOND)
    assert (reassembly.frames, reassembly.given_up) == (1, 1)


def test_a_source_that_is_gone_leaves_nothing() -> None:
    reassembly = Reassembly()
    reassembly.add("a", split(FRAME, 1000)[0], 0)
    reassembly.forget("a")
    reassembly.forget("b")
    assert (reassembly.frames, reassembly.bytes, reassembly.given_up) == (0, 0, 1)


def test_a_source_exceeds_its_share_at_the_cost_of_its_oldest_frame() -> None:
    reassembly = Reassembly(Limits(frames_per_source_max=2))
    frames = [bytes([number]) * 2000 for number in range(3)]
    cut = [split(frame, 1020) for frame in frames]
    for first, _ in cut:
        reassembly.add("a", first, 0)
    assert (reassembly.frames, reassembly.given_up) == (2, 1)
    assert reassembly.add("a", cut[1][1], 0) == frames[1]
    assert reassembly.add("a", cut[2][1], 0) == frames[2]
    assert reassembly.add("a", cut[0][1], 0) is None


def test_memory_is_bounded_whatever_comes() -> None:
    limits = Limits(
        frame_bytes_max=5_000,
        frames_per_source_max=4,
        bytes_per_source_max=6_000,
        frames_max=25,
        bytes_max=20_000,
    )
    chance = random.Random(3)
    reassembly = Reassembly(limits)
    refused = 0
    for _ in range(20_000):
        which = chance.randrange(1, 60)
        place = chance.randrange(which)
        fragment = forged(bytes([which]) * 8, 90 * which, which, place, bytes(chance.choice((1, 10, 1000))))
        try:
            reassembly.add(chance.choice("abcdefgh"), fragment, 0)
        except Refused:
            refused += 1
        shares = reassembly._shares.values()
        held = [partial for share in shares for partial in share.partials.values()]
        assert len(held) == reassembly.frames <= 25
        assert sum(partial.charged for partial in held) == reassembly.bytes <= 20_000
        assert all(share.bytes <= 6_000 and 0 < len(share.partials) <= 4 for share in shares)
    assert refused > 1_000
    assert reassembly.given_up > 1_000


def test_when_all_memory_is_taken_those_who_come_late_are_refused() -> None:
    reassembly = Reassembly(Limits(frames_max=2))
    first, second, *_ = split(FRAME, 1000)
    reassembly.add("a", first, 0)
    reassembly.add("b", first, 0)
    with pytest.raises(Refused, match="reassembly full"):
        reassembly.add("c", first, 0)
    assert reassembly.add("a", second, 0) is None
    assert (reassembly.frames, reassembly.given_up) == (2, 0)
