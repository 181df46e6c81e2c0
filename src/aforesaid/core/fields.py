"""What the fields of a frame may be: types that say to every host what a value is, not only how it looks.

A frame is a named tuple whose fields are annotated with these. The wire format follows from the annotations
(`wire.formats`), and a host finds the names and the payloads in a frame by them (`marked`), whatever the
protocol. To a type checker they are plain `int`, `str` and tuples.

`Process` and `Payload` bear the two marks. Numbers have bounds. A tuple of any length says how long it may
be: so many items (`AtMost`), one for each member of a fixed group (`EACH_MEMBER`), or no more than that
(`SOME_MEMBERS`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, NewType, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

Mark = NewType("Mark", str)

NAME = Mark("a process's name")
PAYLOAD = Mark("what the application says")


@dataclass(frozen=True)
class Within:
    """Bounds of a number, both inclusive; None: none."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class AtMost:
    """How many items a tuple may have."""

    items: int


@dataclass(frozen=True)
class PerMember:
    """As many items as a fixed group has members; or no more."""

    exactly: bool


@dataclass(frozen=True)
class Where:
    """A named tuple, one field of which is of a narrower type here."""

    field: str
    kind: Any


EACH_MEMBER, SOME_MEMBERS = PerMember(exactly=True), PerMember(exactly=False)

Process: TypeAlias = Annotated[str, NAME]
"""A process's stable name."""

Payload: TypeAlias = Annotated[Any, PAYLOAD]
"""What the application says; opaque to every protocol."""

Count: TypeAlias = Annotated[int, Within(least=0)]
"""A number of something, 0 for none yet."""

Number: TypeAlias = Annotated[int, Within(least=1)]
"""A place in a sequence that begins with 1."""

Vector: TypeAlias = Annotated[tuple[Count, ...], EACH_MEMBER]
"""A count for each member of a fixed group, in the order of their sorted names."""

Members: TypeAlias = Annotated[tuple[Process, ...], SOME_MEMBERS]
"""Some members of the group."""

Finder: TypeAlias = Callable[[Any], Iterator[Any]]
"""Finds the values of interest in a value of one declared type."""


def marked(frame: Any, mark: Mark) -> list[Any]:
    """All values in a frame whose declared type bears the mark, however deep, in order."""
    return list(_finder(type(frame), mark)(frame))


def hints_of(kind: Any) -> dict[str, Any]:
    """The declared types of a named tuple's fields."""
    return get_type_hints(kind, include_extras=True)


_finders: dict[tuple[type, Mark], Finder] = {}


def _finder(kind: type, mark: Mark) -> Finder:
    """In a named tuple by its fields' declared types; anything else declares nothing."""
    find = _finders.get((kind, mark))
    if find is None:
        find = _finders[kind, mark] = _made_finder(kind, mark)
    return find


def _made_finder(kind: type, mark: Mark) -> Finder:
    if not hasattr(kind, "_fields"):
        return _nothing
    finders = [_finder_of(hint, mark) for hint in hints_of(kind).values()]
    places = [(place, find) for place, find in enumerate(finders) if find is not _nothing]

    def find_all(value: Any) -> Iterator[Any]:
        for place, find in places:
            yield from find(value[place])

    return find_all if places else _nothing


def _finder_of(hint: Any, mark: Mark) -> Finder:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _itself if mark in arguments[1:] else _finder_of(arguments[0], mark)
    if isinstance(hint, TypeVar):
        # The frame of a layer above: it is known when it is seen.
        return lambda value: _finder(type(value), mark)(value)
    if origin in (Union, UnionType):
        return _in_either(arguments, mark)
    if origin is tuple and arguments[1:] == (...,):
        return _in_each(_finder_of(arguments[0], mark))
    if origin is tuple:
        return _in_places([_finder_of(argument, mark) for argument in arguments])
    kind = origin or hint
    return _finder(kind, mark) if isinstance(kind, type) else _nothing


def _in_either(kinds: tuple[Any, ...], mark: Mark) -> Finder:
    """A frame, or else an atom: a mark on the atom counts for whatever is no tuple."""
    atoms = [kind for kind in kinds if get_origin(kind) is Annotated and mark in get_args(kind)[1:]]
    finders = [_finder_of(kind, mark) for kind in kinds if kind not in atoms]

    def find(value: Any) -> Iterator[Any]:
        if hasattr(value, "_fields"):
            yield from _finder(type(value), mark)(value)
        elif isinstance(value, tuple):
            for each in finders:
                yield from each(value)
        elif atoms:
            yield value

    return find


def _in_each(find: Finder) -> Finder:
    def find_in_each(items: Any) -> Iterator[Any]:
        for item in items:
            yield from find(item)

    return _nothing if find is _nothing else find_in_each


def _in_places(finders: list[Finder]) -> Finder:
    def find_in_places(items: Any) -> Iterator[Any]:
        for find, item in zip(finders, items, strict=True):
            yield from find(item)

    return _nothing if all(find is _nothing for find in finders) else find_in_places


def _itself(value: Any) -> Iterator[Any]:
    yield value


def _nothing(value: Any) -> Iterator[Any]:
    return iter(())
