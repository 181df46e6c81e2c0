"""The bytes of a journal: segments of records, and snapshots. docs/durability.md tells what is made of them.

A segment is a file: a title, then records. The title tells whose journal it is, which start of its owner
(epoch) wrote it, the number of its first record, and the checksum of the record before that. A record is

    brand       4 bytes, the checksum of the title: a record belongs to one segment, and can be found again
    checksum    4 bytes, CRC-32 of all that follows, begun with the brand
    length      4 bytes, of its data
    sequence    8 bytes, its number
    data

all little-endian. After each forced write comes a *seal*: a record without data that has the number of the
last record before it. It is not forced itself. A seal proves that what stands before it was forced once, and
so tells damage from a torn tail: damage before a seal is no tail that the disk never had.

A snapshot is a file with a title and one record, whose number is that of the last record it covers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple
from zlib import crc32

import msgspec

from aforesaid.core import Misuse

MAGIC = b"aforesaid journal 1\n"
_TITLE = Struct("<II")
_RECORD = Struct("<IIIQ")
_COVERED = Struct("<IQ")
"""The part of a record's head that its checksum covers."""
DATA_BYTES_MAX = 2**32 - 1


class Damaged(Misuse):
    """A journal that nobody may go on from; the text says which file, where, and why."""


class Code(NamedTuple):
    """What reads and writes a journal. Inputs are told again to the same version only, for another one might
    decide otherwise than was promised; snapshots are taken by every version with the same state format."""

    version: str = ""
    state: int = 0


UNTOLD = Code()


class Title(msgspec.Struct, frozen=True, array_like=True):
    """What a file begins with."""

    owner: str
    epoch: int
    first: int
    """The number of the first record; of a snapshot, of the record in it."""
    follows: int
    """The checksum of the record before the first one; of a snapshot, of the last one it covers. 0: none."""
    version: str = ""
    state: int = 0
    """`Code` of who wrote it."""


def title_bytes(title: Title) -> bytes:
    data = msgspec.msgpack.encode(title)
    return MAGIC + _TITLE.pack(len(data), crc32(data)) + data


brand_of = crc32
"""The brand of the records in a file, by the bytes of its title."""


def record_bytes(brand: int, sequence: int, data: bytes) -> tuple[bytes, int]:
    """A record as it stands in a file, and its checksum."""
    checksum = crc32(data, crc32(_COVERED.pack(len(data), sequence), brand))
    return _RECORD.pack(brand, checksum, len(data), sequence) + data, checksum


class Record(NamedTuple):
    sequence: int
    data: bytes
    checksum: int
    end: int
    """Where the next one begins."""


@dataclass(frozen=True)
class Contents:
    """What a file holds, as far as it can be read."""

    title: Title
    records: list[Record]
    torn_bytes: int
    """So many bytes at the end are none."""
    sealed: int
    """The highest number in a seal, wherever it stands: so far everything was forced."""


def read(name: str, data: bytes) -> Contents:
    """What a file holds up to the first byte that is wrong; raises Damaged if its title is."""
    title, brand, start = _title(name, data)
    records: list[Record] = []
    expected, sealed = title.first, 0
    for record in _run(data, brand, start):
        start = record.end
        if record.sequence == expected - 1 and not record.data:
            sealed = record.sequence
        elif record.sequence == expected:
            records.append(record)
            expected += 1
        else:
            raise Damaged(f"{name}: record {record.sequence} stands where {expected} should")
    if start < len(data):
        sealed = max(sealed, _sealed_after(data, brand, start))
    return Contents(title, records, len(data) - start, sealed)


def _title(name: str, data: bytes) -> tuple[Title, int, int]:
    """The title, the brand of its records, and where they begin."""
    head = len(MAGIC) + _TITLE.size
    # A title is written whole or not at all: there is no excuse for one that cannot be read.
    if not data.startswith(MAGIC) or len(data) < head:
        raise Damaged(f"{name} does not begin as a journal of this version does")
    length, checksum = _TITLE.unpack_from(data, len(MAGIC))
    written = data[head : head + length]
    if len(written) < length or crc32(written) != checksum:
        raise Damaged(f"{name}: its title is damaged")
    try:
        title = msgspec.msgpack.decode(written, type=Title)
    except msgspec.MsgspecError as error:
        raise Damaged(f"{name}: its title is no title: {error}") from error
    return title, brand_of(data[: head + length]), head + length


def _run(data: bytes, brand: int, start: int) -> Iterator[Record]:
    """The records from here on, seals among them, up to the first bytes that are none."""
    while (record := _record(data, brand, start)) is not None:
        yield record
        start = record.end


def _record(data: bytes, brand: int, start: int) -> Record | None:
    body = start + _RECORD.size
    if body > len(data):
        return None
    found, checksum, length, sequence = _RECORD.unpack_from(data, start)
    if found != brand or body + length > len(data):
        return None
    inside = data[body : body + length]
    if crc32(inside, crc32(_COVERED.pack(length, sequence), brand)) != checksum:
        return None
    return Record(sequence, inside, checksum, body + length)


def _sealed_after(data: bytes, brand: int, start: int) -> int:
    """The highest number in a seal after a place where there is no record."""
    mark = brand.to_bytes(4, "little")
    sealed = 0
    while (start := data.find(mark, start)) >= 0:
        record = _record(data, brand, start)
        if record is not None and not record.data:
            sealed = max(sealed, record.sequence)
        start = start + 1 if record is None else record.end
    return sealed
