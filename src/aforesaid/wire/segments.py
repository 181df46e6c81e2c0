"""The trace segments of nodes: what each said and delivered, in order. Here is the format, and its reader.

A segment is a file of records: a length and a CRC-32 of four bytes each, big-endian, and a msgpack value. The
first record tells who writes (`Origin`), each other one holds events, as tuples that begin with a letter:
    ("s", number, time, targets or None)           this node said its message `number`; None: to everyone
    ("d", origin, incarnation, number, time)       it delivered this one
    ("k", origin, incarnation, number, time)       it knows that everyone has delivered it
    ("p", peer, incarnation)                       it heard of this incarnation of a peer first
    ("a", peer, incarnation or None)               it admits this newcomer
    ("x", peer, time, how, owed)                   the peer was "evicted" or has "left", or another one
                                                   "told" that it is gone; how many messages said to
                                                   it it had not acknowledged
    ("e", time, how, drained)                      the end: "closed" in order, or "isolated"
    ("t", what, counts, together, time)            before it: how long own messages took to be "acknowledged",
                                                   or lay in the "inbox", since the last such event: pairs of
                                                   a power of two in nanoseconds that was not exceeded, and
                                                   how often; and the sum
If the first record says `receipts`, these stand between them:
    ("r", source, waits)                           after a "d": who handed that message on ("": nobody knows,
                                                   None: its author), and what it waited for. Without it the
                                                   message came from its author and waited for nothing
    ("h", number, count, wait)                     so many of this node's messages, from `number` on, were
                                                   held back since they were said, before they left for a peer
                                                   (None: for several)
    ("l", origin, incarnation, number, source, time, waits)   before the "e": this one came and still waited
    ("v", kind, peer, time)                        what else happened: "open", "close", "suspect", "heard"
A wait is (number of its kind in WAIT_KINDS, peer, author and number of the message it was for, microseconds;
-1: to the end). In these four a process is its place in the `group` of the first record, or its name where it
is not in it; None: there is none. Readers pass over letters that they do not know.
Times are nanoseconds since 1970 by the node's own clock.
"""

import re
from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

from aforesaid.core import Misuse, Process

if TYPE_CHECKING:
    # A node writes segments, and does not need PyArrow for it.
    from aforesaid.storage import Place

SUFFIX = ".segment"
VERSION = 1
WAIT_KINDS = (
    "missing cause",
    "missing on channel",
    "held",
    "named too much",
    "evicted",
    "outside",
    "no room",
    "missing permit",
    "behind",
    "unnamable",
    "queued",
    "handshake",
    "given up",
)
"""What messages wait for (`core.reasons`), by number: it may grow, and nothing in it may move."""
_HEAD = Struct(">II")
_encode = msgspec.msgpack.Encoder().encode

Event = tuple[Any, ...]


class Origin(msgspec.Struct, frozen=True):
    """Who writes a segment: its first record."""

    name: Process
    incarnation: int
    algorithm: str
    cluster: str
    group: tuple[Process, ...]
    """The founding group; of a newcomer, itself."""
    joined: bool
    began_ns: int
    segment: int
    """Which one of this incarnation's, from 1."""
    code_version: str
    version: int = VERSION
    linked: bool | None = None
    """Of the algorithm, which the reader may not have; None in segments of 0.1: it is in the catalog."""
    promises: tuple[str, ...] = ()
    promises_if_crashed: tuple[str, ...] | None = None
    receipts: bool = False


def record_of(value: Origin | list[Event]) -> bytes:
    """A record as it stands in a segment."""
    data = _encode(value)
    return _HEAD.pack(len(data), crc32(data)) + data


def torn_bytes(path: "Place") -> int:
    """How many bytes at the end of a segment nobody can read: they are in no whole record."""
    data = _read(path)
    return len(data) - max((end for end, _ in whole_records(data)), default=0)


def read_segment(path: "Place") -> tuple[Origin | None, Iterator[Event]]:
    """Who wrote it and its events, up to the first record that is torn; None if not even that is whole."""
    records = (record for _, record in whole_records(_read(path)))
    try:
        origin = msgspec.msgpack.decode(next(records), type=Origin)
    except StopIteration:
        return None, iter(())
    except msgspec.MsgspecError as error:
        raise Misuse(f"{path} is no trace segment: {error}") from error
    if not re.fullmatch(rf"{re.escape(origin.name)}-{origin.incarnation}-\d+{re.escape(SUFFIX)}", path.name):
        raise Misuse(f"{path} holds a segment of {origin.name}-{origin.incarnation}: it was renamed")
    if origin.version > VERSION:
        raise Misuse(f"{path} is of version {origin.version}; this aforesaid reads {VERSION}")
    return origin, (tuple(event) for record in records for event in msgspec.msgpack.decode(record))


def _read(path: "Place") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Misuse(f"cannot read {path}: {error.strerror}") from error


def whole_records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The records of a segment up to the first that is torn, each with the place where it ends."""
    start = 0
    while start + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, start)
        start += _HEAD.size
        record = data[start : start + length]
        # Nothing is as long as no record: where it seems so, pages are lost, and read as zeros.
        if not length or len(record) < length or crc32(record) != checksum:
            return
        start += length
        yield start, record


def whole_bytes(data: bytes) -> int:
    """How many bytes at the beginning are records that are there from end to end, by their lengths alone."""
    end = 0
    while end + _HEAD.size <= len(data):
        length, _ = _HEAD.unpack_from(data, end)
        if not length or end + _HEAD.size + length > len(data):
            break
        end += _HEAD.size + length
    return end


def first_bytes(data: bytes) -> int:
    """How long the first record is, by its head; 0 if not even that is there."""
    return _HEAD.size + int(_HEAD.unpack_from(data)[0]) if len(data) >= _HEAD.size else 0
