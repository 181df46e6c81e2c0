"""How whatever is made here tells of its progress, and what it returns."""

from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

Rows: TypeAlias = list[dict[str, Any]]
"""What sums a figure or table up: a name and a number or text in each column."""


class Move(Protocol):
    """Called with how much is done, and a word on it."""

    def __call__(self, completed: float | None = None, note: str | None = None) -> None: ...


class Telling(Protocol):
    """Called with what begins and how much it is, if that is known; ends with its context."""

    def __call__(self, what: str, total: float | None, /) -> AbstractContextManager[Move]: ...

    def __hash__(self) -> int: ...
