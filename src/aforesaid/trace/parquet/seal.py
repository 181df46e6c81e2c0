"""The seal: checksums of a Parquet file, inside it, where no Parquet reader looks.

Parquet has no checksum of its footer or of its page headers: a flipped bit there can change what is read, or
crash the reader. So a sealed file carries, between its last row group and its footer, the CRC-32 of the
footer and of each row group. Parquet finds pages by offset and the footer from the end, so those bytes are a
gap to every other reader. A tool that writes the file anew leaves the seal out, and a file without one is
read as it is: the seal tells damage from content, not one author from another.

    row groups | end of row group (u64), CRC-32 (u32), once each | trailer | footer | its length (u32) | PAR1
    trailer: CRC-32 from the footer to the end, number of row groups, CRC-32 of the seal up to here, magic
"""

import struct
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq

from aforesaid.trace.parquet.schema import Damaged

MAGIC = b"AFSEAL01"

_GROUP = struct.Struct("<QI")
_TRAILER = struct.Struct("<III8s")
_TAIL = struct.Struct("<I4s")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Seal:
    """What a sealed file says of its row groups: where each ends, and its checksum."""

    path: Path
    groups: tuple[tuple[int, int], ...]

    def check(self, group: int) -> None:
        """Refuse the file if a row group is not what was sealed."""
        start = self.groups[group - 1][0] if group else 0
        end, checksum = self.groups[group]
        with self.path.open("rb") as file:
            if _checksum(file, start, end) != checksum:
                raise Damaged(f"{self.path} is damaged: row group {group} does not match its checksum")


def seal(path: Path) -> None:
    """Seal a complete Parquet file in place."""
    starts = _group_starts(path)
    with path.open("r+b") as file:
        footer_start = _footer_start(file)
        # The first checksum covers the file's own first bytes too, the last one all up to the seal.
        bounds = [0, *starts[1:], footer_start] if starts else []
        groups = b"".join(_GROUP.pack(end, _checksum(file, start, end)) for start, end in pairwise(bounds))
        file.seek(footer_start)
        footer = file.read()
        body = groups + struct.pack("<II", zlib.crc32(footer), len(starts))
        file.seek(footer_start)
        file.write(body + struct.pack("<I8s", zlib.crc32(body), MAGIC) + footer)


def seal_of(path: Path) -> Seal | None:
    """A file's seal, its footer checked against it; None if the file has none."""
    with path.open("rb") as file:
        footer_start = _footer_start(file)
        trailer_start = footer_start - _TRAILER.size
        if trailer_start < 0:
            return None
        file.seek(trailer_start)
        footer_checksum, count, seal_checksum, magic = _TRAILER.unpack(file.read(_TRAILER.size))
        if magic != MAGIC:
            return None
        footer = file.read()
        seal_start = trailer_start - count * _GROUP.size
        if seal_start < 0 or _checksum(file, seal_start, trailer_start + 8) != seal_checksum:
            raise Damaged(f"{path} is damaged: its checksums do not match their own")
        if zlib.crc32(footer) != footer_checksum:
            raise Damaged(f"{path} is damaged: its footer does not match its checksum")
        file.seek(seal_start)
        return Seal(path, tuple(_GROUP.iter_unpack(file.read(count * _GROUP.size))))


def _group_starts(path: Path) -> list[int]:
    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        firsts = [metadata.row_group(group).column(0) for group in range(metadata.num_row_groups)]
    return [
        first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset
        for first in firsts
    ]


def _footer_start(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    if size < _TAIL.size + 4:
        raise Damaged(f"{file.name} is damaged: {size} bytes are no Parquet file")
    file.seek(-_TAIL.size, 2)
    length, magic = _TAIL.unpack(file.read(_TAIL.size))
    if magic != b"PAR1" or length > size - _TAIL.size - 4:
        raise Damaged(f"{file.name} is damaged: it does not end as a Parquet file does")
    return size - _TAIL.size - int(length)


def _checksum(file: BinaryIO, start: int, end: int) -> int:
    checksum = 0
    file.seek(start)
    while start < end and (piece := file.read(min(_PIECE_BYTES, end - start))):
        checksum = zlib.crc32(piece, checksum)
        start += len(piece)
    return checksum
