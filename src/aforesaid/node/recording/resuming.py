"""What the trace segments of an incarnation hold that goes on after a restart.

A kill may tear the last record; a loss of power may take a tail of each segment that was not forced. What is
torn is cut off, and segments after it are removed: their events come again. What is left is forced: the next
mark, in a later segment, will vouch for all before it.
"""

from collections import Counter
from pathlib import Path
from typing import TypeAlias

import msgspec

from aforesaid.core import Misuse, Process
from aforesaid.ground import ground
from aforesaid.wire.segments import SUFFIX, whole_records

Mark: TypeAlias = tuple[int, int]
"""A place in the segments: the number of one, and how many bytes of it are before."""

START: Mark = (0, 0)


def recorded_since(directory: Path, name: Process, incarnation: int, mark: Mark) -> tuple[int, Counter[str]]:
    """The number of the last segment, and how many events of each letter stand behind the mark."""
    try:
        return _recorded_since(directory, f"{name}-{incarnation}-", mark)
    except OSError as error:
        raise Misuse(f"cannot go on with the trace in {directory}: {error.strerror}") from error


def _recorded_since(directory: Path, prefix: str, mark: Mark) -> tuple[int, Counter[str]]:
    disk, counts = ground().disk, Counter[str]()
    last, torn = mark[0], False
    for segment in disk.names(directory):
        stem = segment.removeprefix(prefix).removesuffix(SUFFIX)
        if segment != f"{prefix}{stem}{SUFFIX}" or not stem.isdecimal() or int(stem) < mark[0]:
            continue
        path, number = directory / segment, int(stem)
        data = b"" if torn else disk.read(path) or b""
        begins = mark[1] if number == mark[0] else 0
        end = 0
        for end, record in whole_records(data):
            if end > begins and isinstance(events := msgspec.msgpack.decode(record), list):
                counts.update(event[0] for event in events)
        torn = torn or end < len(data)
        if not end:
            disk.remove(path)
            continue
        if end < len(data):
            disk.replace(path, data[:end])
        else:
            disk.settle(path)
        last = number
    return last, counts
