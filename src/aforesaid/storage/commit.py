"""Directories and files of results that appear complete, or not at all, wherever they are to lie.

On this machine a directory is filled under a hidden name beside its own, and renamed. A store has no rename:
there it is filled on this machine's own disk and then copied file by file, its *mark* last; without its mark
a directory in a store is not complete. To replace one, its mark goes first.

Two may write the same directory at once, as two attempts of one task do. The names under which they fill it
are unique, and the second finds the mark of the first: with the same content in it, both made the same, and
the second leaves it at that. In a store neither removes a file that the other writes.
"""

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as fs

from aforesaid.core import Misuse
from aforesaid.storage.place import Place, Remote, remove_tree, sizes_below


class Draft:
    """A directory on this machine to fill; published, it is the one wanted. Discard it in any case."""

    def __init__(self, there: Place, mark: str, overwrite: bool = False) -> None:
        """`mark` is the one of its files that a complete one has."""
        if not overwrite and appeared(there, mark):
            raise already(there)
        self._there, self._mark, self._overwrite = there, mark, overwrite
        self._before = self._mark_there()
        if isinstance(there, Remote):
            self.directory = Path(tempfile.mkdtemp(prefix=f"aforesaid-{there.name}-"))
        else:
            path = cast(Path, there)
            self.directory = path.with_name(f".{path.name}.tmp-{uuid4().hex}")
            self.directory.mkdir(parents=True)

    def publish(self) -> None:
        theirs = self._mark_there()
        # What had this very mark from the beginning may be damaged elsewhere: it is what is to be replaced.
        if theirs not in (None, self._before) and theirs == (self.directory / self._mark).read_bytes():
            return
        if not isinstance(self._there, Remote):
            _rename(self.directory, cast(Path, self._there), self._overwrite)
        elif theirs is None or self._overwrite:
            _upload(self.directory, self._there, self._mark, self._overwrite)
        else:
            raise already(self._there)

    def discard(self) -> None:
        """Nothing is left of it, unless it was published."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _mark_there(self) -> bytes | None:
        """The mark of what is there by now."""
        try:
            return (self._there / self._mark).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None


@contextmanager
def appearing(there: Place, mark: str, overwrite: bool = False) -> Iterator[Path]:
    """A directory to fill; it is published when the block ends well."""
    with writing(there):
        draft = Draft(there, mark, overwrite)
    try:
        yield draft.directory
        with writing(there):
            draft.publish()
    finally:
        draft.discard()


def put_file(there: Place, content: bytes) -> None:
    """A file all at once, in place of what is there."""
    if isinstance(there, Remote):
        there.write_bytes(content)
        return
    path = cast(Path, there)
    hidden = path.with_name(f".{path.name}.tmp-{uuid4().hex}")
    try:
        hidden.write_bytes(content)
        hidden.rename(path)
    finally:
        hidden.unlink(missing_ok=True)


def appeared(there: Place, mark: str) -> bool:
    """Whether there is a directory of this name; in a store, a complete one."""
    return (there / mark).exists() if isinstance(there, Remote) else there.exists()


def already(there: Place) -> Misuse:
    return Misuse(f"{there} exists; choose another --out or pass --force")


@contextmanager
def writing(there: Place) -> Iterator[None]:
    """What the system says of a place it cannot write, as one line that names it."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise Misuse(f"cannot write {there}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """An error's first line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).strip().splitlines()[0].rstrip(".")


def _rename(directory: Path, path: Path, overwrite: bool) -> None:
    aside = directory.with_name(directory.name + ".old")
    if overwrite:
        # Whoever else replaces it at the same time may have moved it away.
        with suppress(FileNotFoundError):
            path.rename(aside)
    try:
        directory.rename(path)
    except BaseException as error:
        if aside.exists() and not path.exists():
            aside.rename(path)
        if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise already(path) from error
        raise
    finally:
        remove_tree(aside)


def _upload(directory: Path, there: Remote, mark: str, overwrite: bool) -> None:
    ours = {str(file.relative_to(directory)): file for file in directory.rglob("*") if file.is_file()}
    if overwrite:
        (there / mark).unlink(missing_ok=True)
        for name in sizes_below(there).keys() - ours.keys():
            (there / name).unlink(missing_ok=True)
    for name in sorted(ours, key=lambda name: name == mark):
        fs.copy_files(str(ours[name]), (there / name).path, fs.LocalFileSystem(), there.store)
