"""The log of deliveries: what is written is read again, a damaged end is cut off, the old goes in time."""

from pathlib import Path

import pytest

from aforesaid.core import Misuse
from aforesaid.ground import REAL
from aforesaid.node.history.entries import Entry, read_block
from aforesaid.node.history.log import DeliveryLog
from support.scale import scaled

BYTES = 2**20
STEP = scaled(7, 1)
"""Of so many cuts and flips one is tried."""


def log_in(place: Path | None, bytes_max: int = BYTES, age_ns: int | None = None) -> DeliveryLog:
    return DeliveryLog(REAL.disk, place, "orders/alice prc_spray", bytes_max, age_ns)


def said(author: str, *numbers: int, size: int = 3) -> list[Entry]:
    return [(author, 1, number, b"%d" % number + bytes(size)) for number in numbers]


def add(log: DeliveryLog, entries: list[Entry], now_ns: int = 0) -> None:
    for origin, incarnation, number, _ in entries:
        log.floors[origin, incarnation] = number
    log.append(entries, now_ns)


def kept(log: DeliveryLog, offset: int = 1) -> list[tuple[str, int]]:
    entries = [entry for _, block in log.blocks(offset) for entry in read_block(block)[2]]
    return [(origin, number) for origin, _, number, _ in entries]


def test_a_start_has_what_the_one_before_had(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    add(log, said("alice", 1, 2))
    add(log, said("bob", 1))
    log.acknowledge(2)
    log.adopt({("carol", 5): 9})
    log.enter()
    log.close()
    again = log_in(tmp_path)
    assert kept(again) == [("alice", 1), ("alice", 2), ("bob", 1)]
    assert (again.first, again.end, again.cursor, again.entered) == (1, 4, 2, True)
    assert again.floors == {("alice", 1): 2, ("bob", 1): 1, ("carol", 5): 9}
    assert again.below == {("carol", 5): 9}
    add(again, said("bob", 2))
    again.close()
    assert kept(log_in(tmp_path)) == [("alice", 1), ("alice", 2), ("bob", 1), ("bob", 2)]


def damaged_logs(tmp_path: Path, damage: bool) -> list[tuple[int, list[tuple[str, int]]]]:
    log = log_in(tmp_path)
    for number in range(1, 6):
        add(log, said("alice", number))
    log.close()
    path = next(tmp_path.glob("*.history"))
    whole = path.read_bytes()
    title = whole.index(b"s")  # Where the records begin: a title is written whole, or not at all.
    found = []
    for place in range(title + 1, len(whole), STEP):
        bad = bytearray(whole)
        if damage:
            bad[place] ^= 0x10
        for name in tmp_path.glob("*.history"):
            name.unlink()
        path.write_bytes(bytes(bad) if damage else whole[:place])
        try:
            again = log_in(tmp_path)
        except Misuse:
            continue  # The title.
        found.append((place, kept(again)))
        # What is said from there on follows on what can be read.
        add(again, said("alice", again.end, 99))
        again.close()
        assert kept(log_in(tmp_path))[-1] == ("alice", 99)
    return found


@pytest.mark.parametrize("damage", [True, False])
def test_a_log_ends_before_the_first_byte_that_is_wrong(damage: bool, tmp_path: Path) -> None:
    everything = [("alice", number) for number in range(1, 6)]
    found = damaged_logs(tmp_path, damage)
    assert len(found) > 10
    for place, log in found:
        assert log == everything[: len(log)], place
    assert {len(log) for _, log in found} >= {0, 2, 4}


def test_another_ones_log_is_refused(tmp_path: Path) -> None:
    log_in(tmp_path).close()
    with pytest.raises(Misuse, match="is of orders/alice prc_spray, not of orders/bob prc_spray"):
        DeliveryLog(REAL.disk, tmp_path, "orders/bob prc_spray", BYTES, None)


@pytest.mark.parametrize("on_disk", [True, False])
def test_what_is_too_much_goes_and_what_it_was_is_known(on_disk: bool, tmp_path: Path) -> None:
    place = tmp_path if on_disk else None
    log = log_in(place, bytes_max=20_000)
    for number in range(1, 101):
        add(log, said("alice", number, size=1000))
        log.acknowledge(number - 5)
    log.expire(0)
    assert 10 <= len(kept(log)) <= 21
    assert log.bytes <= 26_000
    assert log.below == {("alice", 1): log.first - 1}
    assert kept(log)[-1] == ("alice", 100)
    log.close()
    if on_disk:
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 30_000
        again = log_in(place, bytes_max=20_000)
        assert again.first == log.first
        assert again.below == log.below


def test_what_is_too_old_goes() -> None:
    log = log_in(None, bytes_max=40_000, age_ns=100)
    for number in range(1, 41):
        add(log, said("alice", number, size=1000), now_ns=10 * number)
    log.expire(450)
    assert log.first == 1  # The application may ask for all of it.
    log.acknowledge(40)
    log.expire(450)
    assert 35 - 11 <= log.first <= 35
    assert kept(log)[-1] == ("alice", 40)


def test_where_something_is_lacking(tmp_path: Path) -> None:
    log = log_in(tmp_path, bytes_max=40_000)
    for number in range(1, 31):
        add(log, said("alice", number, size=1000), now_ns=number)
    assert log.lacking_from({}) == 1
    assert log.lacking_from({("alice", 1): 30}) == log.end
    assert 10 < log.lacking_from({("alice", 1): 29}) <= 30
    assert log.since(17) == 17
    assert log.since(31) == log.end
    assert log.floors_at(12) == {("alice", 1): 11}
    assert log.floors_at(log.end) == log.floors
