"""How kernels are compiled: once per machine and version of this package.

Numba's cache looks at the file of a function, not at the files of what it calls. So only the entry points are
cached, as closures over the digest of the whole package: its value is part of numba's key, and a change in
any file compiles them anew. The cache lies beside the source, or in the user's cache directory where that
cannot be written (`NUMBA_CACHE_DIR` says otherwise). On a cluster the package is imported from an archive,
which each executor has at a place of its own: then `Archived` says where the cache lies.
"""

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import types

Function = TypeVar("Function", bound=Callable[..., Any])

untyped: Any = numba
"""Numba, with the options that its stubs do not know."""

JIT_DISABLED = bool(getattr(numba.config, "DISABLE_JIT", 0))
"""Kernels then are plain Python: slow, and debuggable."""

# Not by way of `__file__`: on a cluster the package is imported from an archive.
SOURCES = hashlib.blake2b(
    b"".join(
        source.read_bytes()
        for source in sorted(files(__package__).iterdir(), key=lambda source: source.name)
        if source.name.endswith(".py")
    ),
    digest_size=8,
).hexdigest()


def inner(function: Function) -> Function:
    """A function that kernels call: no wrapper for Python, no counting of references, and compiled once.

    The entry point holds the arrays, and nothing inside allocates: to count references would take longer than
    the work. And left alone, numba compiles a function anew for every combination of constants, enums and
    half words among its arguments.
    """
    options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    compiled = untyped.njit(**options)(function)
    if not JIT_DISABLED:
        resolve = compiled.get_call_template
        compiled.get_call_template = lambda args, kws: resolve(tuple(map(_widened, args)), kws)
    function_compiled: Function = compiled
    return function_compiled


def _widened(argument: Any) -> Any:
    """The type of an argument, whatever constant it is; of a number, a word."""
    unliteral: Callable[[Any], Any] = types.unliteral
    plain = unliteral(argument)
    if isinstance(plain, types.IntEnumMember):
        plain = plain.dtype
    return types.int64 if isinstance(plain, types.Integer) else plain


def entry(make: Callable[[str], Function]) -> Function:
    """An entry point; `make` gets the digest, and returns a function that mentions it."""
    locators = getattr(untyped.config, "CACHE_LOCATOR_CLASSES", "")
    if not Path(__file__).exists():
        untyped.config.CACHE_LOCATOR_CLASSES = f"{__name__}.{Archived.__name__}"
    try:
        compiled: Function = untyped.njit(error_model="numpy", cache=True, nogil=True)(make(SOURCES))
    finally:
        untyped.config.CACHE_LOCATOR_CLASSES = locators
    return compiled


class Archived:
    """Tells numba where to keep what it compiles from an archive: wherever that lies, in the same place."""

    def __init__(self, line: int) -> None:
        self.line = line

    @classmethod
    def from_function(cls, function: Any, file: str) -> "Archived":
        return cls(function.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        return str(Path(untyped.config.CACHE_DIR or Path.home() / ".cache" / "numba") / "aforesaid")

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return SOURCES

    def get_disambiguator(self) -> str:
        return str(self.line)


@contextmanager
def compiled_once(kernel: Any) -> Iterator[None]:
    """Around a process's first call of an entry point: of those that share a cache one compiles, the others
    wait, and load what it compiled."""
    if JIT_DISABLED or kernel.signatures:
        yield
        return
    cache = Path(kernel.stats.cache_path)
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "compiling.lock").open("w") as lock:
        # A file system without locks: then some compile in vain.
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
