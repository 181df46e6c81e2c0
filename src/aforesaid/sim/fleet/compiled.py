"""How kernels are compiled: once per machine and version of this package.

Numba's cache looks at the file of a function, not at the files of what it calls. So only the entry points are
cached, as closures over the digest of the whole package: its value is part of numba's key, and a change in
any file compiles them anew. The cache lies beside the source, or in the user's cache directory where that
cannot be written (`NUMBA_CACHE_DIR` says otherwise).
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import types

Function = TypeVar("Function", bound=Callable[..., Any])

untyped: Any = numba
"""Numba, with the options that its stubs do not know."""

JIT_DISABLED = bool(getattr(numba.config, "DISABLE_JIT", 0))
"""Kernels then are plain Python: slow, and debuggable."""

SOURCES = hashlib.blake2b(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))), digest_size=8
).hexdigest()


def inner(function: Function) -> Function:
    """A function that kernels call: no wrapper for Python, no counting of references, and compiled once.

    The entry point holds the arrays, and nothing inside allocates: to count references would take longer than
    the work. And left alone, numba compiles a function anew for every combination of constants among its
    arguments.
    """
    options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    compiled = untyped.njit(**options)(function)
    if not JIT_DISABLED:
        resolve = compiled.get_call_template
        compiled.get_call_template = lambda args, kws: resolve(tuple(map(types.unliteral, args)), kws)
    function_compiled: Function = compiled
    return function_compiled


def entry(make: Callable[[str], Function]) -> Function:
    """An entry point; `make` gets the digest, and returns a function that mentions it."""
    compiled: Function = untyped.njit(error_model="numpy", cache=True, nogil=True)(make(SOURCES))
    return compiled
