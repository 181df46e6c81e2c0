"""Places, and how to come by one."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, Protocol, Self, TypeVar, cast
from urllib.parse import unquote, urlsplit

import pyarrow.fs as fs

from aforesaid.core import Misuse
from aforesaid.storage.schemes import LOCAL, file_system, plain_scheme

REQUESTS_MAX = 16
"""How many requests wait for a store at a time."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Unreachable(Misuse):
    """A store that PyArrow has no file system for; Spark may have one."""


class Place(Protocol):
    """A file or directory, wherever it is: the part of `pathlib.Path` that every store can do."""

    @property
    def name(self) -> str: ...

    @property
    def parent(self) -> Self: ...

    def __truediv__(self, name: str, /) -> Self: ...

    def exists(self) -> bool: ...

    def is_dir(self) -> bool: ...

    def is_file(self) -> bool: ...

    def iterdir(self) -> Iterator[Self]:
        """What is in a directory, in no order. A directory that is not there has nothing in it, or is an
        OSError: ask `is_dir` first."""

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """A file to read, which can be sought in."""

    def read_bytes(self) -> bytes: ...

    def read_text(self) -> str: ...

    def write_bytes(self, data: bytes, /) -> int:
        """All at once in a store; in a directory of this machine a reader may see a part of it."""

    def write_text(self, data: str, /) -> int: ...

    def unlink(self, missing_ok: bool = False) -> None: ...

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None: ...

    def resolve(self) -> Self:
        """The same place, whatever the working directory is."""


@dataclass(frozen=True)
class Remote:
    """A place in a store. It can be pickled, and then takes the store's credentials along."""

    store: Any = field(hash=False)
    path: str
    """Within the store, the bucket first; without a slash at its end."""
    root: str
    """What comes before the path when the place is written down: `s3://`."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> "Remote":
        return self._at(self.path.rpartition("/")[0])

    def __truediv__(self, name: str, /) -> "Remote":
        return self._at(f"{self.path}/{name}" if self.path else name)

    def __str__(self) -> str:
        return f"{self.root}{self.path}"

    def exists(self) -> bool:
        return bool(self._kind() != fs.FileType.NotFound)

    def is_dir(self) -> bool:
        return bool(self._kind() == fs.FileType.Directory)

    def is_file(self) -> bool:
        return bool(self._kind() == fs.FileType.File)

    def iterdir(self) -> Iterator["Remote"]:
        for found in self.store.get_file_info(fs.FileSelector(self.path, allow_not_found=True)):
            yield self._at(found.path)

    def open(self, mode: Literal["rb"] = "rb", /) -> IO[bytes]:
        return cast(IO[bytes], self.store.open_input_file(self.path))

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return file.read()

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, data: bytes, /) -> int:
        with self.store.open_output_stream(self.path) as file:
            return int(file.write(data))

    def write_text(self, data: str, /) -> int:
        return self.write_bytes(data.encode())

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            self.store.delete_file(self.path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Stores have no directories, or make them as files come."""

    def resolve(self) -> "Remote":
        return self

    def _at(self, path: str) -> "Remote":
        return Remote(self.store, path, self.root)

    def _kind(self) -> Any:
        return self.store.get_file_info(self.path).type


def place(text: str | os.PathLike[str] | Place, settings: Mapping[str, str] | None = None) -> Place:
    """The place that a path or URI names. `settings` are Hadoop's, as in `fs.s3a.endpoint`."""
    if not isinstance(text, str | os.PathLike):
        return text
    written = os.fspath(text)
    scheme = plain_scheme(written)
    if scheme == LOCAL:
        return Path(_local(written))
    found = file_system(scheme, written, settings or {})
    if found is None:
        raise Unreachable(f"{written}: aforesaid cannot read {scheme}:// by itself")
    store, path, root = found
    return Remote(store, path.rstrip("/"), root)


def is_local(text: str) -> bool:
    """Whether a path or URI names a place of this machine."""
    return plain_scheme(text) == LOCAL


def _local(written: str) -> str:
    """The path of a file URI, or a path as it is."""
    if not written.startswith("file:"):
        return written
    parts = urlsplit(written)
    if parts.netloc not in ("", "localhost"):
        raise Misuse(f"{written} names the machine {parts.netloc}; write file:///path for a file of this one")
    return unquote(parts.path)


def remove_tree(there: Place) -> None:
    """A directory and all that is in it; nothing if it is not there."""
    if isinstance(there, Remote):
        with suppress(FileNotFoundError):
            there.store.delete_dir(there.path)
    else:
        shutil.rmtree(cast(Path, there), ignore_errors=True)


def listing(there: Place) -> dict[str, bool]:
    """What is in a directory, by name, and whether that is a directory, too. Nothing if it is not there.

    In a store this is one request, however much there is, or one for each thousand.
    """
    if isinstance(there, Remote):
        found = there.store.get_file_info(fs.FileSelector(there.path, allow_not_found=True))
        return {one.base_name: one.type == fs.FileType.Directory for one in found}
    try:
        with os.scandir(cast(Path, there)) as entries:
            return {entry.name: entry.is_dir() for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def files_below(there: Remote) -> set[str]:
    """The files in a store's directory and below, by their paths within it."""
    below = there.store.get_file_info(fs.FileSelector(there.path, recursive=True, allow_not_found=True))
    return {found.path[len(there.path) + 1 :] for found in below if found.type == fs.FileType.File}


def together(there: Place, call: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """What a call gives of each item, in their order; many at a time if they wait for a store."""
    if not isinstance(there, Remote):
        yield from map(call, items)
        return
    with ThreadPoolExecutor(REQUESTS_MAX) as pool:
        yield from pool.map(call, items)


def total_size(there: Place) -> int:
    """The bytes of a file, or of all files in a directory and below; 0 if there is none."""
    if isinstance(there, Remote):
        info = there.store.get_file_info(there.path)
        if info.type == fs.FileType.File:
            return int(info.size)
        below = there.store.get_file_info(fs.FileSelector(there.path, recursive=True, allow_not_found=True))
        return sum(found.size or 0 for found in below)
    path = cast(Path, there)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def sizes_below(there: Place) -> dict[str, int]:
    """The bytes of each file in a directory and below, by its path within it; of a file itself by no name.

    In a store this is one request or two, however much there is, or one for each thousand.
    """
    if isinstance(there, Remote):
        info = there.store.get_file_info(there.path)
        if info.type == fs.FileType.File:
            return {"": int(info.size)}
        below = there.store.get_file_info(fs.FileSelector(there.path, recursive=True, allow_not_found=True))
        start = len(there.path) + 1
        return {one.path[start:]: int(one.size) for one in below if one.type == fs.FileType.File}
    path = cast(Path, there)
    if path.is_file():
        return {"": path.stat().st_size}
    files = (file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): file.stat().st_size for file in files}
