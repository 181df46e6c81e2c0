"""Journals to be spoiled: on disks of our own making, with records that are known."""

from pathlib import Path
from random import Random
from typing import Any, cast

from aforesaid.journal import Journal
from aforesaid.world.disk import OpenDisk, WorldDisk, _File
from aforesaid.world.machine import Machine

PLACE = Path("alice/journal")
OWNER = "orders/alice"


def mounted(disk: WorldDisk) -> tuple[OpenDisk, Machine]:
    """The disk as a new process sees it, and the machine, which may be killed."""
    nothing = cast(Any, None)
    machine = Machine("alice", "10.0.0.1", nothing, nothing, Random(0), disk, 0)
    return cast(OpenDisk, machine.disk), machine


def opened(disk: WorldDisk, epoch_known: int = 0, **bounds: Any) -> Journal:
    return Journal(mounted(disk)[0], PLACE, OWNER, epoch_known, **bounds)


def contents(disk: WorldDisk) -> dict[str, bytes]:
    """The files of the journal, by name."""
    return {path.name: bytes(file.data) for path, file in sorted(disk.files.items()) if path.parent == PLACE}


def disk_of(files: dict[str, bytes]) -> WorldDisk:
    disk = WorldDisk()
    disk.files = {PLACE / name: _File(bytearray(data), len(data)) for name, data in files.items()}
    return disk


def written(bytes_total: int, seed: int, segment_bytes_max: int) -> tuple[WorldDisk, list[bytes]]:
    """A journal of about so many bytes in batches of several sizes, and its records, all of them durable."""
    chance = Random(seed)
    disk = WorldDisk()
    journal = opened(disk, segment_bytes_max=segment_bytes_max)
    journal.snapshot(b"nothing yet")
    records: list[bytes] = []
    while sum(map(len, contents(disk).values())) < bytes_total:
        for _ in range(chance.choice((1, 1, 4, 16))):
            records.append(chance.randbytes(chance.choice((0, 20, 100, 100, 300, 1000))))
            journal.append(records[-1])
        journal.commit()
    journal.close()
    return disk, records
