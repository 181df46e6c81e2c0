"""Payloads that are said one after the other, and the bytes they take: their lengths are asked for once."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, repeat
from operator import add

PART_BYTES = 5
"""What a message takes in a run besides its payload, at most."""


class Several:
    """One or more of them, in order."""

    __slots__ = ("_ends", "payloads")

    def __init__(self, payloads: Sequence[bytes], ends: Sequence[int] | None = None) -> None:
        """`ends`: where the first of them begins in a run, and where each ends."""
        self.payloads = payloads
        self._ends = _ends_of(payloads) if ends is None else ends

    @staticmethod
    def one(payload: bytes) -> "Several":
        return Several((payload,), (0, len(payload) + PART_BYTES))

    def __len__(self) -> int:
        return len(self.payloads)

    def part(self, begin: int, end: int) -> "Several":
        """Those from this place up to that one."""
        return Several(self.payloads[begin:end], self._ends[begin : end + 1])

    @property
    def size(self) -> int:
        """In bytes."""
        return self.in_run - PART_BYTES * len(self.payloads)

    @property
    def in_run(self) -> int:
        """How many bytes they take in a run."""
        return self._ends[-1] - self._ends[0]

    def cut(self, begin: int, most: int, in_run: int) -> int:
        """Where as many end, from this place on and no more than so many, as take so many bytes in a run."""
        ends, last = self._ends, min(len(self.payloads), begin + most)
        if type(ends) is range:
            return max(begin, min(last, begin + in_run // ends.step))
        return max(begin, bisect_right(ends, ends[begin] + in_run, begin, last + 1) - 1)

    def between(self, begin: int, end: int) -> int:
        """How many bytes those take in a run."""
        return self._ends[end] - self._ends[begin]


def _ends_of(payloads: Sequence[bytes]) -> Sequence[int]:
    lengths = list(map(len, payloads))
    if not lengths or lengths.count(lengths[0]) != len(lengths):
        return list(accumulate(map(add, lengths, repeat(PART_BYTES)), initial=0))
    # They often are of one length; then nothing has to be kept of each.
    each = lengths[0] + PART_BYTES
    return range(0, each * len(lengths) + 1, each)
