"""What the fields of a frame may be: types that say to every host what a value is, not only how it looks.

A frame is a named tuple whose fields are annotated with these. The wire format follows from the annotations
(`wire.formats`), and a host finds the names and the payloads in a frame by them (`marked`), whatever the
protocol. To a type checker they are plain `int`, `str` and tuples.

`Process` and `Payload` bear the two marks. Numbers have bounds. A tuple of any length says how long it may
be: so many items (`AtMost`), one for each member of a fixed group (`EACH_MEMBER`), or no more than that
(`SOME_MEMBERS`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, NewType, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

Mark = NewType("Mark", str)

NAME = Mark("a process's name")
PAYLOAD = Mark("what the application says")
OR_RUN = Mark("or a run of it")

RUN_MAX = 256
"""How many payloads one frame carries at most."""


class Run(tuple[Any, ...]):
    """Payloads of consecutive messages, two or more, that were said at once to the same processes."""

    __slots__ = ()


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

Payloads: TypeAlias = Annotated[Any, PAYLOAD, OR_RUN]
"""One payload, or a Run of them."""

Count: TypeAlias = Annotated[int, Within(least=0)]
"""A number of something, 0 for none yet."""

Number: TypeAlias = Annotated[int, Within(least=1)]
"""A place in a sequence that begins with 1."""

Vector: TypeAlias = Annotated[tuple[Count, ...], EACH_MEMBER]
"""A count for each member of a fixed group, in the order of their sorted names."""

Members: TypeAlias = Annotated[tuple[Process, ...], SOME_MEMBERS]
"""Some members of the group."""

Finder: TypeAlias = Callable[[Any, list[Any]], None]
"""Adds the values of interest in a value of one declared type to a list: simulators look into every frame."""


def marked(frame: Any, mark: Mark) -> list[Any]:
    """All values in a frame whose declared type bears the mark, however deep, in order."""
    found: list[Any] = []
    finders = _finders[mark]
    kind = type(frame)
    (finders.get(kind) or _finder(kind, mark))(frame, found)
    return found


def way_to(kind: type, mark: Mark) -> int | None:
    """The one field in which a frame of this kind has all its marked values, itself marked (or a Run of what
    is) or another frame. -1: it has none. None: go and find them (`marked`). For hosts that look into every
    frame."""
    hints = list(hints_of(kind).values()) if hasattr(kind, "_fields") else []
    places = [place for place, hint in enumerate(hints) if _finder_of(hint, mark) is not _nothing]
    if len(places) != 1:
        return None if places or not hints else -1
    hint = hints[places[0]]
    itself = _finder_of(hint, mark) in (_itself, _itself_or_run)
    nested = isinstance(hint, TypeVar) or hasattr(get_origin(hint) or hint, "_fields")
    return places[0] if itself or nested else None


def hints_of(kind: Any) -> dict[str, Any]:
    """The declared types of a named tuple's fields."""
    return get_type_hints(kind, include_extras=True)


_finders: dict[Mark, dict[type, Finder]] = {NAME: {}, PAYLOAD: {}}


def _finder(kind: type, mark: Mark) -> Finder:
    """In a named tuple by its fields' declared types; anything else declares nothing."""
    find = _finders[mark].get(kind)
    if find is None:
        find = _finders[mark][kind] = _made_finder(kind, mark)
    return find


def _made_finder(kind: type, mark: Mark) -> Finder:
    if not hasattr(kind, "_fields"):
        return _nothing
    finders = [_finder_of(hint, mark) for hint in hints_of(kind).values()]
    places = [(place, find) for place, find in enumerate(finders) if find is not _nothing]

    def find_all(value: Any, found: list[Any]) -> None:
        for place, find in places:
            find(value[place], found)

    return find_all if places else _nothing


def _finder_of(hint: Any, mark: Mark) -> Finder:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if mark in arguments[1:]:
            return _itself_or_run if OR_RUN in arguments[1:] else _itself
        return _finder_of(arguments[0], mark)
    if isinstance(hint, TypeVar):
        return _in_whatever_is_above(mark)
    if origin in (Union, UnionType):
        return _in_either(arguments, mark)
    if origin is tuple and arguments[1:] == (...,):
        return _in_each(_finder_of(arguments[0], mark))
    if origin is tuple:
        return _in_places([_finder_of(argument, mark) for argument in arguments])
    kind = origin or hint
    return _finder(kind, mark) if isinstance(kind, type) else _nothing


def _in_whatever_is_above(mark: Mark) -> Finder:
    """The frame of a layer above: it is known when it is seen."""
    finders = _finders[mark]

    def find(value: Any, found: list[Any]) -> None:
        kind = type(value)
        (finders.get(kind) or _finder(kind, mark))(value, found)

    return find


def _in_either(kinds: tuple[Any, ...], mark: Mark) -> Finder:
    """A frame, or else an atom: a mark on the atom counts for whatever is no tuple."""
    atoms = [kind for kind in kinds if get_origin(kind) is Annotated and mark in get_args(kind)[1:]]
    finders = [_finder_of(kind, mark) for kind in kinds if kind not in atoms]

    def find(value: Any, found: list[Any]) -> None:
        if hasattr(value, "_fields"):
            _finder(type(value), mark)(value, found)
        elif isinstance(value, tuple):
            for each in finders:
                each(value, found)
        elif atoms:
            found.append(value)

    return find


def _in_each(find: Finder) -> Finder:
    def find_in_each(items: Any, found: list[Any]) -> None:
        for item in items:
            find(item, found)

    return _nothing if find is _nothing else find_in_each


def _in_places(finders: list[Finder]) -> Finder:
    places = [(place, find) for place, find in enumerate(finders) if find is not _nothing]

    def find_in_places(items: Any, found: list[Any]) -> None:
        for place, find in places:
            find(items[place], found)

    return find_in_places if places else _nothing


def _itself(value: Any, found: list[Any]) -> None:
    found.append(value)


def _itself_or_run(value: Any, found: list[Any]) -> None:
    if type(value) is Run:
        found += value
    else:
        found.append(value)


def _nothing(value: Any, found: list[Any]) -> None:
    return
