"""Packets: who speaks, and many frames at a time (docs/wire.md).

A packet is a header and a body. The header names the cluster, the source, its incarnation and its start, and
says whether the body is in the clear or sealed (`aforesaid.security.datagrams`). On UDP every datagram is a
packet; a TCP connection begins with a header in the clear and goes on with bodies (`stream`).

A body is one msgpack value: an array of frames, each a bin, or, alone, a bin that is a fragment of a frame
too large for a body (`fragment`). A body without a byte is a greeting: it says nothing but who speaks.
"""

import hashlib
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Annotated, NamedTuple

from msgspec import Meta, MsgspecError
from msgspec.msgpack import Decoder, Encoder

from aforesaid.core import Misuse, Process, Refused
from aforesaid.wire.fragment import split

MAGIC = 0xAF
VERSION = 3
CLEAR, SEALED = 0, 1
CLUSTER_BYTES = 8
NAME_BYTES_MAX = 255
FRAMES_MAX = 2**16
"""How many frames one body may hold."""

_FIXED = Struct(f">BBBB{CLUSTER_BYTES}sQQ")
_VERSION_AT = 1
_NAME_LENGTH_AT = 3
_NAME_AT_IN_1 = 20
_encode = Encoder().encode
_Frames = Annotated[list[bytes], Meta(max_length=FRAMES_MAX)]
_decode: Callable[[bytes], list[bytes] | bytes] = Decoder(_Frames | bytes).decode
_ARRAY_BYTES_MAX = 5
_BIN_BYTES_MAX = 5


class Header(NamedTuple):
    """Who speaks."""

    cluster: bytes
    """Eight bytes, see `cluster_id`."""
    source: Process
    incarnation: int
    start: int = 0
    """Which one of this incarnation, if it survives its starts (`protocols.membership.epochs`); else 0."""

    def encode(self, mode: int = CLEAR) -> bytes:
        name = self.source.encode()
        if not 0 < len(name) <= NAME_BYTES_MAX:
            raise Misuse(f"the name of a process takes 1 to {NAME_BYTES_MAX} bytes, not {len(name)}")
        return _FIXED.pack(MAGIC, VERSION, mode, len(name), self.cluster, self.incarnation, self.start) + name


class Opened(NamedTuple):
    """A packet that was let in."""

    header: Header
    session: bytes
    """The sender's session of the seal; empty in the clear."""
    body: bytes
    fresh: bool = True
    """False for a greeting: anyone may have recorded it long ago."""


def cluster_id(name: str, algorithm: str) -> bytes:
    """By what a cluster knows its own packets. Tags mean nothing without the algorithm: it is part of it.

    Nodes whose messages carry their frontier write `+frontier` behind the algorithm's name.
    """
    return hashlib.sha256(f"aforesaid cluster {algorithm} {name}".encode()).digest()[:CLUSTER_BYTES]


def read_header(data: bytes, cluster: bytes, mode: int) -> tuple[Header, int]:
    """The header that data begins with, which must be of this cluster and mode, and where it ends."""
    if len(data) < _FIXED.size:
        raise Refused("truncated")
    magic, version, its_mode, length, its_cluster, incarnation, start = _FIXED.unpack_from(data)
    if magic != MAGIC:
        raise Refused("not ours")
    if version != VERSION:
        raise Refused("version")
    if its_cluster != cluster:
        raise Refused("cluster")
    if its_mode != mode:
        raise Refused("mode")
    end = _FIXED.size + length
    if length == 0 or len(data) < end:
        raise Refused("truncated")
    try:
        return Header(its_cluster, data[_FIXED.size : end].decode(), incarnation, start), end
    except UnicodeDecodeError:
        raise Refused("name") from None


def claimed_name(data: bytes) -> Process:
    """The name that a packet of whatever cluster, mode or version gives its sender; nothing proves it."""
    if len(data) < _FIXED.size:
        return ""
    begins = _NAME_AT_IN_1 if data[_VERSION_AT] == 1 else _FIXED.size
    return data[begins : begins + data[_NAME_LENGTH_AT]].decode(errors="replace")


class Clear:
    """Packets that anyone can read and forge: for loopback only."""

    def __init__(self, header: Header) -> None:
        self.cluster = header.cluster
        self._prefix = header.encode(CLEAR)

    @property
    def overhead(self) -> int:
        """How many bytes a packet is longer than its body."""
        return len(self._prefix)

    def seal(self, body: bytes, session: bytes = b"") -> bytes:
        """For whichever session of the receiver: the clear knows none."""
        return self._prefix + body

    def open(self, data: bytes) -> Opened:
        header, end = read_header(data, self.cluster, CLEAR)
        return Opened(header, b"", data[end:])


def pack(frames: Sequence[bytes], size_max: int) -> list[bytes]:
    """The frames, in order, in as few bodies of up to so many bytes as can be; large ones as fragments."""
    # What is too much anyway is not copied to find out.
    if sum(map(len, frames)) < size_max and len(frames) <= FRAMES_MAX:
        body = _encode(frames)
        if len(body) <= size_max:
            return [body]
    bodies = []
    some: list[bytes] = []
    room = size_max - _ARRAY_BYTES_MAX
    for frame in frames:
        size = len(frame) + _BIN_BYTES_MAX
        if some and (size > room or len(some) == FRAMES_MAX):
            bodies.append(_encode(some))
            some, room = [], size_max - _ARRAY_BYTES_MAX
        if size > room:
            bodies.extend(map(_encode, split(frame, size_max - _BIN_BYTES_MAX)))
        else:
            some.append(frame)
            room -= size
    if some:
        bodies.append(_encode(some))
    return bodies


def unpack(body: bytes) -> list[bytes] | bytes:
    """The frames of a body, or the fragment that it is; raises Refused."""
    try:
        return _decode(body)
    except MsgspecError:
        raise Refused("body") from None
