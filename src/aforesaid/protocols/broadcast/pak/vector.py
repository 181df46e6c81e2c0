"""Vector times modulo k, packed: n entries of ceil(log2 k) bits each (section 5.1: "n ⌈log2 k⌉ bits").

Entry i takes the bits from i * bits on, least significant first. Eight entries fill `bits` whole bytes, so
that packing and unpacking go by eights and cost as n, whatever n is.
"""

from collections.abc import Sequence

from aforesaid.core import Misbehaviour


class ModularVectors:
    """How the vector times of n processes travel: the only place that knows their layout."""

    __slots__ = ("bits", "bytes", "k", "n")

    def __init__(self, n: int, k: int) -> None:
        self.n = n
        self.k = k
        self.bits = (k - 1).bit_length()
        self.bytes = (n * self.bits + 7) // 8
        """What a vector adds to a message."""

    def pack(self, vector: Sequence[int]) -> bytes:
        """The entries, each modulo k."""
        k, bits = self.k, self.bits
        packed = bytearray()
        for first in range(0, self.n, 8):
            eight = 0
            for entry in reversed(vector[first : first + 8]):
                eight = eight << bits | entry % k
            packed += eight.to_bytes(bits, "little")
        return bytes(packed[: self.bytes])

    def unpack(self, packed: bytes) -> tuple[int, ...]:
        """The entries as they were modulo k; Misbehaviour if `pack` cannot have made this."""
        n, k, bits = self.n, self.k, self.bits
        if len(packed) != self.bytes:
            raise Misbehaviour(
                f"a vector time of {len(packed)} bytes, not {self.bytes}: {n} entries modulo {k}"
            )
        mask = (1 << bits) - 1
        entries: list[int] = []
        for first in range(0, self.bytes, bits):
            eight = int.from_bytes(packed[first : first + bits], "little")
            for _ in range(min(8, n - len(entries))):
                entries.append(eight & mask)
                eight >>= bits
            if eight:
                raise Misbehaviour("a vector time with bits set behind its last entry")
        if max(entries) >= k:
            raise Misbehaviour(f"a vector time with an entry of {max(entries)}, modulo {k}")
        return tuple(entries)
