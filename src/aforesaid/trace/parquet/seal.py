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

import pyarrow as pa
import pyarrow.parquet as pq

from aforesaid.storage import Place, Ranges
from aforesaid.trace.parquet.schema import Damaged

MAGIC = b"AFSEAL01"

_GROUP = struct.Struct("<QI")
_TRAILER = struct.Struct("<III8s")
_TAIL = struct.Struct("<I4s")


@dataclass(frozen=True)
class Seal:
    """What a sealed file says of its row groups: where each ends, and its checksum."""

    path: Place
    groups: tuple[tuple[int, int], ...]

    def start(self, group: int) -> int:
        return self.groups[group - 1][0] if group else 0

    def end(self, group: int) -> int:
        return self.groups[group][0]

    def check(self, group: int, content: memoryview) -> None:
        """Refuse the file if a row group is not what was sealed."""
        if zlib.crc32(content) != self.groups[group][1]:
            raise Damaged(f"{self.path} is damaged: row group {group} does not match its checksum")


def seal(path: Path) -> None:
    """Seal a complete Parquet file in place."""
    file = Ranges(path)
    footer = footer_of(path, file)
    footer_start = file.size - len(footer)
    starts = _group_starts(footer)
    # The first checksum covers the file's own first bytes too, the last one all up to the seal.
    bounds = [0, *starts[1:], footer_start] if starts else []
    groups = b"".join(_GROUP.pack(end, zlib.crc32(file.read(start, end))) for start, end in pairwise(bounds))
    body = groups + struct.pack("<II", zlib.crc32(footer), len(starts))
    with path.open("r+b") as sealed:
        sealed.seek(footer_start)
        sealed.write(body + struct.pack("<I8s", zlib.crc32(body), MAGIC) + footer)


def seal_of(path: Place, file: Ranges, footer: memoryview) -> Seal | None:
    """A file's seal, its footer checked against it; None if the file has none."""
    footer_start = file.size - len(footer)
    trailer_start = footer_start - _TRAILER.size
    if trailer_start < 0:
        return None
    trailer = file.last(len(footer) + _TRAILER.size)[: _TRAILER.size]
    footer_checksum, count, seal_checksum, magic = _TRAILER.unpack(trailer)
    if magic != MAGIC:
        return None
    seal_start = trailer_start - count * _GROUP.size
    content = file.last(file.size - seal_start)[: footer_start - seal_start] if seal_start >= 0 else trailer
    # All but the checksum itself and the magic.
    if seal_start < 0 or zlib.crc32(content[:-12]) != seal_checksum:
        raise Damaged(f"{path} is damaged: its checksums do not match their own")
    if zlib.crc32(footer) != footer_checksum:
        raise Damaged(f"{path} is damaged: its footer does not match its checksum")
    return Seal(path, tuple(_GROUP.iter_unpack(content[: count * _GROUP.size])))


def footer_of(path: Place, file: Ranges) -> memoryview:
    """A file's last bytes, from its footer on: to Parquet, a file by themselves, but for its rows."""
    if file.size < _TAIL.size + 4:
        raise Damaged(f"{path} is damaged: {file.size} bytes are no Parquet file")
    length, magic = _TAIL.unpack(file.last(_TAIL.size))
    if magic != b"PAR1" or length > file.size - _TAIL.size - 4:
        raise Damaged(f"{path} is damaged: it does not end as a Parquet file does")
    return file.last(int(length) + _TAIL.size)


def _group_starts(footer: memoryview) -> list[int]:
    metadata = pq.read_metadata(pa.BufferReader(footer))
    firsts = [metadata.row_group(group).column(0) for group in range(metadata.num_row_groups)]
    return [
        first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset
        for first in firsts
    ]
