"""What a directory's journal gives back, or why it gives nothing. Reads only, and changes nothing.

Law: what is given back is the newest snapshot and all records after it, up to the last one that can have been
forced; or `Damaged` is raised. The end may be torn, for nobody was told of what was never forced. Whatever
else is missing, changed, or another's is refused. Another version's snapshot is taken if its state format is
the same, another version's records are not: who closed in order left none.
"""

from dataclasses import dataclass, field
from pathlib import Path

from aforesaid.ground import Disk
from aforesaid.journal.records import UNTOLD, Code, Contents, Damaged, read

SEGMENT, SNAPSHOT = ".journal", ".snapshot"


@dataclass(frozen=True)
class Recovered:
    """What stood in a journal."""

    epoch: int = 0
    """Of the last start that wrote there; 0: there is no journal."""
    snapshot: bytes | None = None
    covers: int = 0
    """The number of the last record that the snapshot covers."""
    records: list[bytes] = field(default_factory=list)
    """Those after it."""
    unforced: int = 0
    """So many of them, the last ones, are in no sealed batch: they may be gone after a loss of power."""
    checksum: int = 0
    """Of the record before these."""
    torn_bytes: int = 0
    """So many bytes at the end belong to no record: a write that was never forced."""

    @property
    def last(self) -> int:
        """The number of the last of all records."""
        return self.covers + len(self.records)


DIGITS = 20


def file_name(number: int, suffix: str) -> str:
    return f"{number:0{DIGITS}d}{suffix}"


def numbered(names: list[str], suffix: str) -> list[tuple[int, str]]:
    """The files of a journal among these, by number; what others have left there is not ours."""
    stems = ((name.removesuffix(suffix), name) for name in names if name.endswith(suffix))
    return [(int(stem), name) for stem, name in stems if len(stem) == DIGITS and stem.isdecimal()]


def recover(disk: Disk, directory: Path, owner: str, epoch_known: int = 0, code: Code = UNTOLD) -> Recovered:
    """Read a journal. `epoch_known` is the highest epoch of this owner that anyone has heard of; `code` is to
    go on from it."""
    try:
        names = disk.names(directory)
    except OSError as error:
        raise Damaged(f"cannot read {directory}: {error.strerror}") from error
    snapshots, segments = numbered(names, SNAPSHOT), numbered(names, SEGMENT)
    read_file = _Reader(disk, directory, owner).read
    found = Recovered()
    if snapshots:
        found = _snapshot(str(directory / snapshots[-1][1]), read_file(*snapshots[-1]), code)
        if not segments:
            raise Damaged(f"{directory}: what came after {snapshots[-1][1]} is missing")
    # What the snapshot covers may have come back, or was not removed yet.
    while len(segments) > 1 and segments[1][0] <= found.covers + 1:
        del segments[0]
    found = _joined(
        found, [(str(directory / name), read_file(number, name)) for number, name in segments], code
    )
    if found.epoch < epoch_known:
        what = f"its last start was number {found.epoch}" if found.epoch else "there is none"
        raise Damaged(
            f"{directory}: the journal of {owner} is older than what others know: {what}, and they have "
            f"heard of start {epoch_known}; is it a backup that was put back?"
        )
    return found


class _Reader:
    def __init__(self, disk: Disk, directory: Path, owner: str) -> None:
        self._disk, self._directory, self._owner = disk, directory, owner

    def read(self, number: int, name: str) -> Contents:
        path = self._directory / name
        try:
            data = self._disk.read(path)
        except OSError as error:
            raise Damaged(f"cannot read {path}: {error.strerror}") from error
        contents = read(str(path), data or b"")
        if contents.title.owner != self._owner:
            raise Damaged(f"{path} is of {contents.title.owner}, not of {self._owner}")
        if contents.title.first != number:
            raise Damaged(f"{path} was renamed: it begins with record {contents.title.first}")
        return contents


def _snapshot(name: str, contents: Contents, code: Code) -> Recovered:
    if len(contents.records) != 1 or contents.torn_bytes:
        raise Damaged(f"{name}: the snapshot is damaged")
    title, record = contents.title, contents.records[0]
    if title.state != code.state:
        raise Damaged(
            f"{name} is of version {title.version}, state format {title.state}; {code.version} reads format "
            f"{code.state}: go on with {title.version}, replace the node by another one, or start its "
            "group anew"
        )
    return Recovered(title.epoch, record.data, title.first, checksum=title.follows)


def _joined(found: Recovered, segments: list[tuple[str, Contents]], code: Code) -> Recovered:
    """The records of all segments, in one line."""
    epoch, checksum, last = found.epoch, found.checksum, found.covers
    forced = last
    records: list[bytes] = []
    for place, (name, segment) in enumerate(segments):
        title = segment.title
        end = segments[place + 1][1].title.first if place + 1 < len(segments) else None
        if title.first > last + 1:
            raise Damaged(f"{name}: records {last + 1} to {title.first - 1} are missing before it")
        if title.epoch < epoch and place:
            raise Damaged(f"{name} is of start {title.epoch}, after one of start {epoch}")
        if title.first == last + 1 and title.follows != checksum:
            raise Damaged(f"{name} does not follow on what stands before it: it is of another history")
        # The next title tells where this segment ends; else only a seal can tell how much was forced.
        forced = max(last, title.first - 1, segment.sealed) if end is None else end - 1
        for record in segment.records:
            if record.sequence == end:
                break  # It may not have been forced when the next start looked, which has written it again.
            if record.sequence == found.covers and record.checksum != found.checksum:
                raise Damaged(f"{name} does not lead to the snapshot: it is of another history")
            if record.sequence > last:
                if title.version != code.version:
                    raise Damaged(
                        f"{name} was not closed in order by version {title.version}, and {code.version} "
                        "cannot stand by what that promised since its last snapshot: start it once more "
                        f"with {title.version} and close it, then start {code.version}"
                    )
                records.append(record.data)
                last = record.sequence
                checksum = record.checksum if last <= forced else checksum
        if last < forced:
            raise Damaged(
                f"{name}: record {last + 1} is damaged or missing, and {forced} was forced after it"
            )
        epoch = max(epoch, title.epoch)
    torn = segments[-1][1].torn_bytes if segments else 0
    return Recovered(epoch, found.snapshot, found.covers, records, last - forced, checksum, torn)
