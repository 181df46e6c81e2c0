"""Packets: headers, bodies of many frames, records on a stream."""

import random
from itertools import pairwise

import pytest

from aforesaid.core import Misuse, Refused
from aforesaid.wire import Clear, Header, Records, cluster_id, pack, read_header, record, unpack
from aforesaid.wire.packet import CLEAR, FRAMES_MAX, SEALED, claimed_name

CLUSTER = cluster_id("demo", "waiting")
ALICE = Header(CLUSTER, "alice", 3)


def test_a_header_says_who_speaks() -> None:
    for header in (ALICE, Header(CLUSTER, "ü" * 127, 2**64 - 1, 2**64 - 1)):
        data = header.encode()
        assert read_header(data + b"body", CLUSTER, CLEAR) == (header, len(data))


@pytest.mark.parametrize("name", ["", "x" * 256, "ü" * 128])
def test_a_name_that_fits_no_header_is_a_misuse(name: str) -> None:
    with pytest.raises(Misuse, match="255 bytes"):
        Header(CLUSTER, name, 0).encode()


def replaced(data: bytes, place: int, byte: int) -> bytes:
    return data[:place] + bytes([byte]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (replaced(ALICE.encode(), 0, 0), "not ours"),
        (replaced(ALICE.encode(), 1, 1), "version"),
        (ALICE.encode(SEALED), "mode"),
        (replaced(ALICE.encode(), 3, 0), "truncated"),
        (replaced(ALICE.encode(), 3, 6), "truncated"),
        (replaced(ALICE.encode(), 28, 0xFF), "name"),
        (Header(cluster_id("other", "waiting"), "alice", 3).encode(), "cluster"),
        (Header(cluster_id("demo", "hybrid_sps"), "alice", 3).encode(), "cluster"),
        (ALICE.encode()[:27], "truncated"),
        (b"", "truncated"),
    ],
)
def test_a_header_that_is_not_ours_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_header(data, CLUSTER, CLEAR)
    assert refusal.value.reason == why


def test_packets_in_the_clear() -> None:
    clear = Clear(ALICE)
    packet = clear.seal(b"body")
    assert len(packet) == clear.overhead + 4
    assert clear.open(packet)[:3] == (ALICE, b"", b"body")


def test_many_frames_go_into_few_bodies_in_order() -> None:
    chance = random.Random(1)
    for size_max in (64, 300, 1400, 70_000):
        frames = [chance.randbytes(chance.randrange(1, 40)) for _ in range(500)]
        bodies = pack(frames, size_max)
        assert [frame for body in bodies for frame in unpack(body)] == frames
        assert all(len(body) <= size_max for body in bodies)
        # Two neighbours that would fit into one body do not come in two.
        assert all(len(one) + len(two) > size_max - 50 for one, two in pairwise(bodies))


def test_a_body_that_fits_exactly_is_not_split() -> None:
    frames = [b"x" * 100] * 3
    (body,) = pack(frames, 10_000)
    assert pack(frames, len(body)) == [body]
    assert len(pack(frames, len(body) - 1)) == 2


def test_no_more_frames_than_the_limit_go_into_one_body() -> None:
    bodies = pack([b"x"] * (FRAMES_MAX + 1), 10**9)
    assert [len(unpack(body)) for body in bodies] == [FRAMES_MAX, 1]


def test_large_frames_travel_between_small_ones() -> None:
    frames = [b"small", b"x" * 3000, b"also small", b"y" * 3000]
    bodies = pack(frames, 1000)
    kinds = [type(unpack(body)).__name__ for body in bodies]
    assert kinds == ["list", *["bytes"] * 4, "list", *["bytes"] * 4]
    assert all(len(body) <= 1000 for body in bodies)


@pytest.mark.parametrize(
    "body", [b"", b"\x01", b"\x91\x01", b"\x91\xa1x", b"\xdd\xff\xff\xff\xff", b"\x90\x90", b"\xc1"]
)
def test_a_body_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(Refused, match="body"):
        unpack(body)


def test_records_come_out_of_a_stream_however_it_is_cut() -> None:
    bodies = [b"", b"one", b"x" * 1000, b"two"]
    stream = b"".join(map(record, bodies))
    for step in (1, 2, 3, 5, 7, 1000, len(stream)):
        records = Records(size_max=1000)
        cut = [stream[at : at + step] for at in range(0, len(stream), step)]
        assert [body for piece in cut for body in records.feed(piece)] == bodies


def test_a_record_that_announces_too_much_is_refused_before_it_comes() -> None:
    records = Records(size_max=1000)
    assert list(records.feed(record(b"fine"))) == [b"fine"]
    with pytest.raises(Refused, match="record size"):
        records.feed(b"\x00\x00\x03\xe9")


def test_the_name_in_a_header_of_version_1_is_found() -> None:
    """It had no start: who is refused for its version is to be told by its name."""
    data = ALICE.encode()
    assert claimed_name(data) == "alice"
    assert claimed_name(replaced(data[:20] + data[28:] + bytes(8), 1, 1)) == "alice"
