"""The packed vector times modulo k: n entries of ceil(log2 k) bits, and nothing else is taken for one."""

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aforesaid.core import Misbehaviour
from aforesaid.protocols.broadcast.pak import ModularVectors

KS = st.integers(min_value=2, max_value=600)
VECTORS = st.lists(st.integers(min_value=0, max_value=10**9), min_size=1, max_size=40)


@given(VECTORS, KS)
def test_a_vector_comes_back_modulo_k(vector: list[int], k: int) -> None:
    vectors = ModularVectors(len(vector), k)
    assert vectors.unpack(vectors.pack(vector)) == tuple(entry % k for entry in vector)


@given(VECTORS, KS)
def test_it_takes_n_times_log_k_bits(vector: list[int], k: int) -> None:
    bits = len(vector) * ceil(log2(k))
    assert len(ModularVectors(len(vector), k).pack(vector)) == ceil(bits / 8)


@given(VECTORS, KS, st.binary(max_size=60))
def test_what_is_taken_is_what_pack_makes(vector: list[int], k: int, noise: bytes) -> None:
    vectors = ModularVectors(len(vector), k)
    try:
        entries = vectors.unpack(noise)
    except Misbehaviour:
        return
    assert vectors.pack(entries) == noise


def test_entries_lie_one_after_another_from_the_lowest_bit() -> None:
    # 3 bits each, modulo 7: 1, 2, 5, 6 are 001, 010, 101, 110, read from the right.
    assert ModularVectors(4, 7).pack([1, 2, 12, 13]) == (0b110_101_010_001).to_bytes(2, "little")


@pytest.mark.parametrize(
    ("n", "k", "size"), [(4, 3, 1), (5, 3, 2), (100, 3, 25), (100, 7, 38), (1000, 2049, 1500)]
)
def test_sizes(n: int, k: int, size: int) -> None:
    assert len(ModularVectors(n, k).pack(range(n))) == size


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (b"", "0 bytes, not 1"),
        (b"\0\0", "2 bytes, not 1"),
        (b"\x03", "an entry of 3, modulo 3"),
        (b"\x40", "behind its last entry"),
    ],
)
def test_what_no_peer_can_have_packed_is_refused(packed: bytes, reason: str) -> None:
    with pytest.raises(Misbehaviour, match=reason):
        ModularVectors(3, 3).unpack(packed)
