"""The disk of this machine: what is forced, and what is there."""

import os
import stat
from pathlib import Path

import pytest

from aforesaid.ground import REAL


def test_what_is_put_in_place_is_forced_and_then_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []
    fsync = os.fsync

    def watched(file: int) -> None:
        directory = stat.S_ISDIR(os.fstat(file).st_mode)
        forced.append(f"names {sorted(os.listdir(tmp_path))}" if directory else "data")
        fsync(file)

    monkeypatch.setattr(os, "fsync", watched)
    REAL.disk.replace(tmp_path / "number", b"7\n")
    assert forced == ["data", "names ['number']"]
    assert REAL.disk.read(tmp_path / "number") == b"7\n"


def test_a_file_that_was_begun_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "new" / "log"
    file = REAL.disk.begin(path, b"one ")
    assert REAL.disk.write(file, b"two") == 3
    REAL.disk.force(file)
    REAL.disk.close(file)
    assert path.read_bytes() == b"one two"
    assert REAL.disk.names(path.parent) == ["log"]
    REAL.disk.remove(path)
    REAL.disk.remove(path)
    assert REAL.disk.names(path.parent) == REAL.disk.names(tmp_path / "nowhere") == []
    assert REAL.disk.read(path) is None
