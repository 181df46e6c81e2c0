"""Long columns, a block at a time: what is done to them takes the memory of a block, wherever they lie.

A run may have more messages than memory holds arrays for. So the large arrays of a judgement lie where a
`Room` puts them, in memory or in a mapped file, and no step makes a temporary array as long as they are.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from aforesaid.trace.model import Int32s, Int64s

BLOCK = 1 << 20
"""How many rows are worked on at once."""

Indices = Int64s
"""Indices into tables: NumPy gathers with its pointer-sized integers, and would copy any other kind first."""
Room: TypeAlias = Callable[[int, npt.DTypeLike], npt.NDArray[Any]]
"""Makes an array of a length and type, with anything in it."""
Keys: TypeAlias = Int64s | Int32s
Parts: TypeAlias = Callable[[], Iterator[tuple[Keys, Indices]]]
"""Keys with the value of each, block by block; may be called again."""


def blocks(count: int, start: int = 0) -> Iterator[slice]:
    """The rows from `start` to `count`, in slices."""
    for first in range(start, count, BLOCK):
        yield slice(first, min(first + BLOCK, count))


def in_memory(count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.empty(count, kind)


def grouped(parts: Parts, key_count: int, room: Room) -> tuple[Indices, Indices]:
    """Values by key, those of a key in the order given: (values, where each key's values start)."""
    starts = starts_of((keys for keys, _ in parts()), key_count, room)
    values = room(int(starts[-1]), np.int64)
    place = room(key_count, np.int64)
    place[:] = starts[:-1]
    for keys, some in parts():
        order = np.argsort(keys, kind="stable")
        firsts, distinct, counts = _runs(keys[order])
        values[np.arange(len(keys)) + np.repeat(place[distinct] - firsts, counts)] = some[order]
        place[distinct] += counts
    return values, starts


def starts_of(parts: Iterable[Keys], key_count: int, room: Room) -> Indices:
    """Where the rows of each key would start if they were sorted."""
    starts = room(key_count + 1, np.int64)
    starts.fill(0)
    for keys in parts:
        if key_count <= BLOCK:
            starts[1:] += np.bincount(keys, minlength=key_count)
        else:
            _, distinct, counts = _runs(keys[np.argsort(keys, kind="stable")])
            starts[distinct + 1] += counts
    total = 0
    for block in blocks(len(starts)):
        starts[block] = np.cumsum(starts[block]) + total
        total = int(starts[block][-1])
    return starts


def _runs(keys: Keys) -> tuple[Indices, Keys, Indices]:
    """Of sorted keys: where each distinct one starts, itself, and how often it is there."""
    firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])
    return firsts, keys[firsts], np.diff(np.append(firsts, len(keys)))
