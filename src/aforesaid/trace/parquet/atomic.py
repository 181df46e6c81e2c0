"""Directories that appear complete, or not at all: filled under a hidden name, then renamed."""

import errno
import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path

from aforesaid.core import Misuse


def hidden_directory(path: Path) -> Path:
    """A new one beside the one wanted. Others' are left alone: a live process elsewhere may have our id."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f".{path.name}.tmp-{os.getpid()}"
    for attempt in count(1):
        directory = path.parent / (name if attempt == 1 else f"{name}-{attempt}")
        with suppress(FileExistsError):
            directory.mkdir()
            break
    return directory


def put_in_place(directory: Path, path: Path, overwrite: bool) -> None:
    """Give the complete directory its name."""
    if not overwrite or not path.exists():
        try:
            directory.rename(path)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise already(path) from error
            raise
        return
    aside = directory.with_name(directory.name + ".old")
    path.rename(aside)
    try:
        directory.rename(path)
    except BaseException:
        aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def already(path: Path) -> Misuse:
    return Misuse(f"{path} exists; choose another --out or pass --force")
