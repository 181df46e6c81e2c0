"""Every cut and every flipped byte of a journal of 64 KiB: the records up to a stated one, or a refusal.

The law, for a journal of which everything was forced and sealed. A flipped byte is refused, whatever it is,
unless it stands in the last seal, which holds nothing: then all records are there. A cut of the last file
leaves the records that are whole before it; a cut of another one is refused, unless it takes a last seal
only. Nothing is ever made up, left out in the middle, or changed.
"""

from collections.abc import Iterable, Iterator
from random import Random

import pytest

from aforesaid.journal import Damaged, recover
from aforesaid.journal.records import read
from support.journals import OWNER, PLACE, contents, disk_of, mounted, written
from support.scale import scaled

BYTES = 64 * 2**10
SEED = 5
SEAL_BYTES = 20
STRIDE = scaled(101, 1)
"""Every so many-th byte; heads of records are never left out."""

Outcome = list[bytes] | str


@pytest.fixture(scope="module", params=[2 * BYTES, BYTES // 5], ids=["one segment", "several"])
def journal(request: pytest.FixtureRequest) -> tuple[dict[str, bytes], list[bytes]]:
    disk, records = written(BYTES, SEED, request.param)
    return contents(disk), records


def outcome(files: dict[str, bytes]) -> Outcome:
    """The records, or why there are none."""
    try:
        found = recover(mounted(disk_of(files))[0], PLACE, OWNER)
    except Damaged as refusal:
        return str(refusal)
    assert found.snapshot == b"nothing yet"
    return found.records


def places(name: str, data: bytes) -> Iterator[int]:
    """Where a file is spoiled."""
    whole: set[int] = set(range(0, len(data), STRIDE))
    for record in read(name, data).records:
        # Of some records the whole head and the first bytes; of each the byte before it and its last one.
        whole |= {record.end - 1, record.end}
        if not record.sequence % STRIDE:
            whole |= set(range(record.end - len(record.data) - SEAL_BYTES, record.end - len(record.data) + 4))
    return iter(sorted(place for place in whole if place < len(data)))


def told(place: str, got: Outcome, wanted: Iterable[object]) -> str:
    said = got if isinstance(got, str) else f"{len(got)} records"
    return f"seed {SEED}, {place}: {said}, not {' or '.join(map(str, wanted))}"


def test_every_flipped_byte(journal: tuple[dict[str, bytes], list[bytes]]) -> None:
    files, records = journal
    chance = Random(SEED)
    refused = 0
    for name, data in files.items():
        for place in places(name, data):
            flipped = bytearray(data)
            flipped[place] ^= chance.randint(1, 255)
            got = outcome({**files, name: bytes(flipped)})
            in_last_seal = place >= len(data) - SEAL_BYTES and name.endswith(".journal")
            if in_last_seal:
                assert got == records, told(f"byte {place} of {name}", got, ["all records"])
            else:
                assert isinstance(got, str), told(f"byte {place} of {name}", got, ["a refusal"])
                refused += 1
    assert refused > BYTES / STRIDE


def test_every_cut(journal: tuple[dict[str, bytes], list[bytes]]) -> None:
    files, records = journal
    segments = [name for name in files if name.endswith(".journal")]
    prefixes = set()
    for name, data in files.items():
        contained = read(name, data)
        for place in places(name, data):
            got = outcome({**files, name: data[:place]})
            whole = sum(record.end <= place for record in contained.records)
            first = contained.records[0]
            # A segment begins with a seal, too: that of what stands before it.
            begins = first.end - len(first.data) - 2 * SEAL_BYTES
            if name == segments[-1] and place >= begins:
                wanted: Outcome = records[: contained.title.first - 1 + whole]
                prefixes.add(whole)
            elif name in segments and whole == len(contained.records):
                wanted = records
            else:
                wanted = got if isinstance(got, str) else "a refusal"
            assert got == wanted, told(f"{name} cut at {place}", got, [f"{len(wanted)} records"])
    assert len(prefixes) > 10


def test_without_its_last_seal_a_damaged_last_batch_is_a_torn_tail() -> None:
    """What nobody can tell apart from a write that was never forced; docs/durability.md says so."""
    disk, records = written(2000, SEED, BYTES)
    files = contents(disk)
    last = max(files)
    data = files[last][:-SEAL_BYTES]
    at = len(data) - len(records[-1]) - 1
    flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    assert outcome({**files, last: flipped}) == records[:-1]
