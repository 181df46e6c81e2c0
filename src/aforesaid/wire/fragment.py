"""Frames too large for one body: cut into fragments, and put together again in bounded memory.

A fragment says of which frame it is (its BLAKE2b hash of eight bytes), how long that frame is, into
how many pieces it was cut, and which of them follows. Since the frame's own content names it, a frame that is
sent again fills the gaps that loss has left in the first try: without that, a thousand pieces at one per cent
of loss would never be complete. It also shows when pieces of different frames were mixed.

Fragments may come in any order, and twice. What is incomplete is bounded, per source and in all, by count and
by bytes, and given up after a time. Who needs more room gives up its own oldest frames, most likely those
that their sender has given up too; who has none, and finds the memory taken by others, is refused.
"""

from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from aforesaid.core import SECOND, Misuse, Nanoseconds, Process, Refused

_HEAD = Struct(">8sIII")
_PIECE_OVERHEAD = 200
"""What a piece costs besides its bytes, so that many small ones are no way round the limits."""


class Limits(NamedTuple):
    """How much may be incomplete."""

    frame_bytes_max: int = 16 * 2**20
    frames_per_source_max: int = 16
    bytes_per_source_max: int = 32 * 2**20
    frames_max: int = 1024
    bytes_max: int = 256 * 2**20
    patience: Nanoseconds = 30 * SECOND
    """How long a frame may stay without a new piece."""


def split(frame: bytes, size_max: int) -> list[bytes]:
    """The fragments of a frame, each of up to so many bytes."""
    room = size_max - _HEAD.size
    if room < 1:
        raise Misuse(f"no fragment fits into {size_max} bytes")
    count = -(-len(frame) // room)
    name = _name(frame)
    return [
        _HEAD.pack(name, len(frame), count, place) + frame[place * room : (place + 1) * room]
        for place in range(count)
    ]


class Partial:
    """A frame of which some pieces are here."""

    __slots__ = ("charged", "count", "length", "missing", "pieces", "touched")

    def __init__(self, length: int, count: int) -> None:
        self.length = length
        self.count = count
        self.pieces: dict[int, bytes] = {}
        self.missing = length
        """How many of its bytes are not here."""
        self.charged = 0
        """What it counts against the limits."""
        self.touched = 0


class Share:
    """The incomplete frames of one source, by name; the one that was touched last is the last."""

    __slots__ = ("bytes", "partials")

    def __init__(self) -> None:
        self.bytes = 0
        self.partials: dict[bytes, Partial] = {}


class Reassembly:
    """The incomplete frames of all sources."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.bytes = 0
        self.frames = 0
        self.given_up = 0
        """How many frames never became complete."""
        self._shares: dict[Process, Share] = {}
        self._swept = 0

    def add(self, source: Process, fragment: bytes, now: Nanoseconds) -> bytes | None:
        """Take a fragment; the whole frame if this was its last piece. Raises Refused."""
        if now - self._swept > self.limits.patience // 4:
            self.expire(now)
        name, length, count, place, piece = self._read(fragment)
        share = self._shares.get(source) or Share()
        partial = share.partials.get(name) or Partial(length, count)
        if place in partial.pieces:
            return None
        left = count - len(partial.pieces) - 1
        if (partial.length, partial.count) != (length, count) or len(piece) + left > partial.missing:
            raise Refused("fragment")
        self._make_room(share, name, len(piece) + _PIECE_OVERHEAD)
        self._shares[source] = share
        self._keep(share, name, partial, place, piece)
        partial.touched = now
        return None if left else self._complete(source, name)

    def expire(self, now: Nanoseconds) -> None:
        """Give up what had no new piece for too long."""
        self._swept = now
        for source, share in list(self._shares.items()):
            late = [n for n, p in share.partials.items() if now - p.touched > self.limits.patience]
            for name in late:
                self._give_up(share, name)
            if not share.partials:
                del self._shares[source]

    def forget(self, source: Process) -> None:
        """The source is gone, or has a new incarnation."""
        share = self._shares.pop(source, Share())
        for name in list(share.partials):
            self._give_up(share, name)

    def _read(self, fragment: bytes) -> tuple[bytes, int, int, int, bytes]:
        piece = fragment[_HEAD.size :]
        if not piece:
            raise Refused("fragment")
        name, length, count, place = _HEAD.unpack_from(fragment)
        if length > self.limits.frame_bytes_max:
            raise Refused("frame size")
        if place >= count:
            raise Refused("fragment")
        return name, length, count, place, piece

    def _make_room(self, share: Share, name: bytes, size: int) -> None:
        """For one more piece of this frame: at the cost of the source's other frames, the oldest first."""
        limits, mine = self.limits, share.partials.get(name)
        new = mine is None
        needed = size if mine is None else mine.charged + size
        others = self.bytes - share.bytes, self.frames - len(share.partials)
        if (
            needed > limits.bytes_per_source_max
            or needed + others[0] > limits.bytes_max
            or 1 + others[1] > limits.frames_max
        ):
            raise Refused("reassembly full")
        while (
            share.bytes + size > limits.bytes_per_source_max
            or self.bytes + size > limits.bytes_max
            or len(share.partials) + new > limits.frames_per_source_max
            or self.frames + new > limits.frames_max
        ):
            self._give_up(share, next(other for other in share.partials if other != name))

    def _keep(self, share: Share, name: bytes, partial: Partial, place: int, piece: bytes) -> None:
        self.frames += name not in share.partials
        share.partials.pop(name, None)
        share.partials[name] = partial
        partial.pieces[place] = piece
        partial.missing -= len(piece)
        charge = len(piece) + _PIECE_OVERHEAD
        partial.charged += charge
        share.bytes += charge
        self.bytes += charge

    def _complete(self, source: Process, name: bytes) -> bytes:
        share = self._shares[source]
        partial = self._remove(share, name)
        if not share.partials:
            del self._shares[source]
        frame = b"".join([partial.pieces[place] for place in range(partial.count)])
        if _name(frame) != name:
            raise Refused("fragment")
        return frame

    def _give_up(self, share: Share, name: bytes) -> None:
        self._remove(share, name)
        self.given_up += 1

    def _remove(self, share: Share, name: bytes) -> Partial:
        partial = share.partials.pop(name)
        self.frames -= 1
        self.bytes -= partial.charged
        share.bytes -= partial.charged
        return partial


def _name(frame: bytes) -> bytes:
    return blake2b(frame, digest_size=8).digest()
