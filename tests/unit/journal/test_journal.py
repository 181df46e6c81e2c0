"""What a journal gives back after each thing that can happen to it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from aforesaid.core import Misuse
from aforesaid.ground import REAL
from aforesaid.journal import WINDOWS, Code, Damaged, GroupCommit, Journal, recover
from aforesaid.world.disk import WorldDisk
from support.journals import OWNER, PLACE, contents, disk_of, mounted, opened


def filled(disk: WorldDisk, *batches: bytes) -> Journal:
    """Each letter of a batch is a record."""
    journal = opened(disk)
    for batch in batches:
        for letter in batch:
            journal.append(bytes([letter]))
        journal.commit()
    return journal


def found(disk: WorldDisk) -> bytes:
    return b"".join(recover(mounted(disk)[0], PLACE, OWNER).records)


def spoiled(disk: WorldDisk, spoil: Callable[[bytearray], None], name: str = "") -> WorldDisk:
    """The same journal with something done to its last file, or to the one of that name."""
    files = contents(disk)
    data = bytearray(files[name := name or max(files)])
    spoil(data)
    return disk_of({**files, name: bytes(data)})


def test_real_files_give_back_what_was_committed(tmp_path: Path) -> None:
    for start in range(1, 4):
        journal = Journal(REAL.disk, tmp_path / "journal", OWNER, segment_bytes_max=2000)
        assert (journal.epoch, journal.last) == (start, 100 * (start - 1))
        for number in range(100):
            journal.append(b"%d" % number)
        journal.close()
    journal = Journal(REAL.disk, tmp_path / "journal", OWNER)
    assert journal.recovered.records == [b"%d" % number for number in range(100)] * 3
    journal.snapshot(b"three hundred")
    journal.append(b"one more")
    journal.close()
    assert len(list((tmp_path / "journal").iterdir())) == 2
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "journal").iterdir()} == {0o600}
    again = recover(REAL.disk, tmp_path / "journal", OWNER)
    assert (again.snapshot, again.covers, again.records) == (b"three hundred", 300, [b"one more"])


def test_what_was_not_committed_is_not_there() -> None:
    disk = WorldDisk()
    journal = filled(disk, b"ab", b"c")
    journal.append(b"d")
    assert (journal.durable, journal.last, journal.pending) == (3, 4, 1)
    assert found(disk) == b"abc"


def test_a_torn_tail_is_cut_off_and_the_next_start_goes_on_before_it() -> None:
    disk = WorldDisk()
    filled(disk, b"ab", b"c")
    torn = spoiled(disk, lambda data: data.extend(data[-30:-3]))
    assert recover(mounted(torn)[0], PLACE, OWNER).torn_bytes == 27
    filled(torn, b"d").close()
    assert found(torn) == b"abcd"
    filled(torn, b"e").close()
    assert found(torn) == b"abcde"


def test_a_flipped_bit_in_what_was_forced_is_refused() -> None:
    disk = WorldDisk()
    filled(disk, b"ab", b"c")
    first = contents(disk)[max(contents(disk))].index(b"a", 60)

    def flip(data: bytearray) -> None:
        data[first] ^= 4

    with pytest.raises(Damaged, match=r"record 1 is damaged or missing, and 3 was forced after it"):
        found(spoiled(disk, flip))


def test_a_batch_that_was_never_forced_may_have_a_hole_before_whole_records() -> None:
    disk = WorldDisk()
    journal = filled(disk, b"ab")
    start = len(contents(disk)[max(contents(disk))])
    for letter in b"cdef":
        journal.append(bytes([letter]))
    journal.commit()

    def hole(data: bytearray) -> None:
        data[start + 4 : start + 8] = bytes(4)

    with pytest.raises(Damaged, match="record 3 is damaged or missing, and 6 was forced"):
        found(spoiled(disk, hole))

    def hole_without_seal(data: bytearray) -> None:
        hole(data)
        del data[-20:]

    assert found(spoiled(disk, hole_without_seal)) == b"ab"


def test_a_missing_file_is_refused() -> None:
    disk = WorldDisk()
    for batch in (b"ab", b"cd", b"ef"):
        filled(disk, batch).close()
    files = contents(disk)
    middle = sorted(files)[1]
    with pytest.raises(Damaged, match="record 3 is damaged or missing, and 4 was forced after it"):
        found(disk_of({name: data for name, data in files.items() if name != middle}))
    with pytest.raises(Damaged, match="records 1 to 2 are missing"):
        found(disk_of({name: data for name, data in files.items() if name != min(files)}))


def test_a_segment_of_another_history_is_refused() -> None:
    one, other = WorldDisk(), WorldDisk()
    filled(one, b"ab").close()
    filled(other, b"xy").close()
    for disk in (one, other):
        filled(disk, b"cd").close()
    mixed = contents(one) | {max(contents(other)): contents(other)[max(contents(other))]}
    with pytest.raises(Damaged, match="of another history"):
        found(disk_of(mixed))


def test_a_snapshot_of_another_history_is_refused() -> None:
    one, other = WorldDisk(), WorldDisk()
    filled(one, b"abc").close()
    filled(other, b"xyz").snapshot(b"XYZ")
    snapshot = next(name for name in contents(other) if name.endswith(".snapshot"))
    with pytest.raises(Damaged, match="does not lead to the snapshot"):
        found(disk_of(contents(one) | {snapshot: contents(other)[snapshot]}))


def test_an_old_backup_is_known_by_its_epoch() -> None:
    disk = WorldDisk()
    filled(disk, b"ab").close()
    backup = contents(disk)
    filled(disk, b"cd").close()
    assert opened(disk, epoch_known=2).epoch == 3
    with pytest.raises(Damaged, match=r"its last start was number 1, and they have heard of start 3"):
        opened(disk_of(backup), epoch_known=3)
    with pytest.raises(Damaged, match="there is none"):
        opened(WorldDisk(), epoch_known=3)


def test_an_older_start_that_still_writes_is_not_heard() -> None:
    disk = WorldDisk()
    older = filled(disk, b"ab")
    newer = filled(disk, b"c")
    older.append(b"x")
    older.commit()
    newer.append(b"d")
    newer.commit()
    assert found(disk) == b"abcd"


def test_another_nodes_directory_is_refused() -> None:
    disk = WorldDisk()
    filled(disk, b"ab").close()
    with pytest.raises(Damaged, match="is of orders/alice, not of orders/bob"):
        recover(mounted(disk)[0], PLACE, "orders/bob")


def test_another_version_goes_on_from_a_snapshot_of_the_same_format_and_from_nothing_else() -> None:
    disk, older, newer = WorldDisk(), Code("1.0", 1), Code("1.1", 1)

    def start(code: Code) -> Journal:
        return Journal(mounted(disk)[0], PLACE, OWNER, code=code)

    first = start(older)
    first.snapshot(b"ab")
    with pytest.raises(
        Damaged, match=r"is of version 1\.0, state format 1; 2\.0 reads format 2: go on with 1\.0"
    ):
        start(Code("2.0", 2))
    first.append(b"c")
    first.close()
    for _ in range(2):  # A refusal leaves it as it is.
        with pytest.raises(
            Damaged, match=r"not closed in order by version 1\.0.* once more with 1\.0 and close it"
        ):
            start(newer)
    again = start(older)
    assert again.recovered.records == [b"c"]
    again.snapshot(b"abc")
    again.close()
    upgraded = start(newer)
    assert (upgraded.recovered.snapshot, upgraded.recovered.records) == (b"abc", [])
    upgraded.append(b"d")
    upgraded.close()
    # What it was told is its own to be told again, before its first snapshot, too.
    assert start(newer).recovered.records == [b"d"]
    with pytest.raises(Damaged, match=r"not closed in order by version 1\.1"):
        start(older)


def test_a_directory_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file")
    with pytest.raises(Damaged, match=r"cannot read .*journal: Not a directory"):
        recover(REAL.disk, tmp_path / "journal", OWNER)


def test_what_is_no_journal_is_refused() -> None:
    with pytest.raises(Damaged, match="does not begin as a journal"):
        found(disk_of({f"{1:020d}.journal": b"dear diary"}))
    disk = WorldDisk()
    filled(disk, b"ab").close()
    ((_, data),) = contents(disk).items()
    with pytest.raises(Damaged, match="was renamed: it begins with record 1"):
        found(disk_of({f"{7:020d}.journal": data}))


def test_what_others_leave_in_the_directory_is_nobodys_business() -> None:
    disk = WorldDisk()
    filled(disk, b"ab").close()
    files = contents(disk) | {f"{1:020d}.new": b"never finished", "README": b"", "old.journal": b""}
    assert found(disk_of(files)) == b"ab"
    opened(disk_of(files)).snapshot(b"AB")


def test_a_full_disk_ends_a_journal_and_the_next_start_has_what_was_durable() -> None:
    disk = WorldDisk()
    journal = filled(disk, b"ab")
    disk.room = 30
    journal.append(bytes(100))
    for _ in range(2):
        # Room that is found meanwhile is of no use: nobody knows what is there.
        with pytest.raises(Misuse, match="cannot write the journal"):
            journal.commit()
        disk.room = None
    assert journal.durable == 2
    journal.close()
    assert found(disk) == b"ab"
    assert filled(disk, b"c").last == 3


def test_a_disk_that_cannot_be_forced_ends_a_journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    journal = Journal(REAL.disk, tmp_path, OWNER)
    journal.append(b"a")

    def broken(file: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(REAL.disk, "force", broken)
    with pytest.raises(Misuse, match="Input/output error"):
        journal.commit()
    monkeypatch.undo()
    with pytest.raises(Misuse, match="Input/output error"):
        journal.commit()
    assert journal.durable == 0


def test_a_snapshot_removes_what_it_covers_and_what_comes_back_is_not_read() -> None:
    disk = WorldDisk()
    journal = filled(disk, b"ab", b"cd")
    journal.snapshot(b"ABCD")
    journal.append(b"e")
    journal.commit()
    assert len(contents(disk)) == 2
    disk.files |= disk.removed
    assert len(contents(disk)) == 3
    recovered = recover(mounted(disk)[0], PLACE, OWNER)
    assert (recovered.snapshot, recovered.records) == (b"ABCD", [b"e"])


def test_a_snapshot_is_due_by_bytes_whoever_wrote_them() -> None:
    disk = WorldDisk()
    journal = opened(disk, snapshot_bytes=1000)
    journal.append(bytes(600))
    journal.commit()
    assert not journal.snapshot_due
    journal.close()
    journal = opened(disk, snapshot_bytes=1000)
    journal.append(bytes(600))
    journal.commit()
    assert journal.snapshot_due
    journal.snapshot(b"")
    assert not journal.snapshot_due


def test_effects_wait_for_the_commit_that_they_rest_on() -> None:
    journal = opened(WorldDisk())
    batch: GroupCommit[str] = GroupCommit(journal, WINDOWS["batch"])
    assert batch.due_ns is None
    assert not batch.due(10**18)
    batch.add(b"1", 1_000_000)
    batch.hold("one")
    batch.add(b"2", 1_500_000)
    batch.hold("two")
    assert batch.due_ns == 2_000_000
    assert [batch.due(now) for now in (1_999_999, 2_000_000)] == [False, True]
    assert journal.durable == 0
    assert batch.commit() == ["one", "two"]
    assert (journal.durable, batch.due_ns, batch.commit()) == (2, None, [])
    for number in range(256):
        assert not batch.due(7_000_000)
        batch.add(b"%d" % number, 7_000_000)
    assert batch.due(7_000_000)


def test_a_disk_that_is_full_lets_no_effect_go() -> None:
    disk = WorldDisk()
    always: GroupCommit[str] = GroupCommit(opened(disk), WINDOWS["always"])
    always.add(b"1", 5)
    always.hold("one")
    assert always.due(5)
    disk.room = 3
    for _ in range(2):
        with pytest.raises(Misuse, match="cannot write the journal"):
            always.commit()
        disk.room = None
