"""The wire format of an algorithm, as its frames declare it: what each field holds, and who may be named.

An algorithm lists its frames in its entry; their order gives the tags. It is published (docs/wire.md,
tests/vectors/wire): a shape is not changed, moved or removed while the version of the packets stays the same;
new ones go to the end. What a field may hold follows from its declared type (`core.fields`).

Where the group is fixed its names are part of the format: an unknown name or a vector of another length is
refused here, and no protocol has to fear it.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import Meta

from aforesaid.core import Misuse, Process, declaration_of
from aforesaid.core.fields import (
    NAME,
    OR_RUN,
    PAYLOAD,
    RUN_MAX,
    AtMost,
    PerMember,
    Run,
    Where,
    Within,
    hints_of,
)
from aforesaid.protocols.algorithm import Algorithm, Need
from aforesaid.protocols.catalog import algorithm
from aforesaid.protocols.frontier import Placed
from aforesaid.protocols.links import perfect
from aforesaid.wire.codec import Arrays, Either, Name, Several, Shape

GROUP_MAX = 2**16
ITEMS_MAX = 2**16
"""Of a tuple whose declaration does not say how long it may be."""
TEXT_CHARS_MAX = 255
"""Of a text that is no name."""


def shapes_of(
    name: str | Algorithm,
    group: Sequence[Process] = (),
    frontier: bool = False,
    besides: Sequence[Any] = (),
) -> tuple[Shape, ...]:
    """The format of an algorithm, as nodes speak it; a fixed group is told at the outset.

    Where messages carry their frontier, what is said is `Placed` wherever else it is bytes. `besides`: frames
    that the nodes themselves send.
    """
    entry = algorithm(name) if isinstance(name, str) else name
    if not entry.frames:
        raise Misuse(f"no wire format is published for {entry.name!r}: it runs in the simulator only")
    if Need.FIXED_GROUP in entry.needs and not 0 < len(group) <= GROUP_MAX:
        raise Misuse(f"a fixed group has 1 to {GROUP_MAX} members, not {len(group)}")
    # Where members are admitted, names come that nobody knew.
    known = tuple(group) if Need.FIXED_GROUP in entry.needs and entry.tells is None else None
    payload: Any = Placed if frontier else bytes
    if entry.tells is not None:
        payload = Either(_Reader(None, payload).shape(entry.tells), payload)
    reader = _Reader(known, payload)
    return tuple(reader.shape(kind) for kind in (*frames_of(entry), *besides))


def frames_of(entry: Algorithm) -> tuple[Any, ...]:
    """The frames of an algorithm on a network that loses: those of perfect links, where it needs them."""
    if entry.over_perfect_links:
        return (*map(_in_data, entry.frames), perfect.Ack, perfect.Gone)
    return entry.frames


class _Reader:
    """Reads shapes off declared types, for one group; None: the group changes."""

    def __init__(self, group: tuple[Process, ...] | None, payload: Any) -> None:
        self._group = group
        self._payload = payload
        self._name: Any = Name if group is None else Literal[group]
        self._members_max = GROUP_MAX if group is None else len(group)

    def shape(self, kind: Any, bodies: Mapping[Any, Any] | None = None, where: Where | None = None) -> Shape:
        """The shape of a class of frames, or of one over a body, `Relay[Stamped]`."""
        named = get_origin(kind) or kind
        bodies = {**(bodies or {}), **dict(zip(_parameters(named), get_args(kind), strict=False))}
        hints = hints_of(named)
        if where is not None:
            hints[where.field] = where.kind
        fields = []
        for field in named._fields:
            try:
                fields.append(self._part(hints[field], bodies))
            except Misuse as error:
                raise Misuse(f"{named.__name__}.{field}: {error}") from None
        return Shape(named, tuple(fields), declaration_of(named).holds)

    def _part(self, hint: Any, bodies: Mapping[Any, Any]) -> Any:
        origin, arguments = get_origin(hint), get_args(hint)
        if isinstance(hint, TypeVar):
            return self._part(bodies[hint], bodies) if hint in bodies else _unknown(hint)
        if origin is Annotated:
            return self._annotated(arguments[0], arguments[1:], bodies)
        if origin in (Union, UnionType):
            return self._either(arguments, bodies)
        if origin is tuple:
            return self._tuple(arguments, bodies, Meta(max_length=ITEMS_MAX))
        if hasattr(origin or hint, "_fields"):
            return self.shape(hint, bodies)
        if hint is str:
            return Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
        if hint in (int, bool, float, bytes) or origin is Literal:
            return hint
        return _unknown(hint)

    def _payload_or_run(self) -> Either:
        length = Meta(min_length=2, max_length=RUN_MAX)
        if isinstance(self._payload, Either):
            own, atom = self._payload.part, self._payload.atom
            return Either(Arrays(Several(atom, length, Run), own), atom)
        return Either(Several(self._payload, length, Run), self._payload)

    def _annotated(self, kind: Any, marks: tuple[Any, ...], bodies: Mapping[Any, Any]) -> Any:
        for mark in marks:
            match mark:
                case _ if mark == NAME:
                    return self._name
                case _ if mark == PAYLOAD and OR_RUN in marks:
                    return self._payload_or_run()
                case _ if mark == PAYLOAD:
                    return self._payload
                case Within(least, most):
                    return Annotated[kind, Meta(ge=least, le=most)]
                case AtMost(items):
                    return self._tuple(get_args(kind), bodies, Meta(max_length=items))
                case PerMember(exactly):
                    least = self._members_max if exactly and self._group is not None else 0
                    meta = Meta(min_length=least, max_length=self._members_max)
                    return self._tuple(get_args(kind), bodies, meta)
                case Where():
                    return self.shape(kind, bodies, mark)
        return self._part(kind, bodies)

    def _tuple(self, arguments: tuple[Any, ...], bodies: Mapping[Any, Any], length: Meta) -> Any:
        if arguments[1:] == (...,):
            return Several(self._part(arguments[0], bodies), length)
        parts = tuple(self._part(argument, bodies) for argument in arguments)
        if any(isinstance(part, Shape | Several | Either) for part in parts):
            return Shape(tuple, parts)
        return GenericAlias(tuple, parts)

    def _either(self, kinds: tuple[Any, ...], bodies: Mapping[Any, Any]) -> Any:
        """One thing that is no atom at most: it is told from atoms by being an array."""
        parts = [None if kind is NoneType else self._part(kind, bodies) for kind in kinds]
        arrays = [part for part in parts if isinstance(part, Shape | Several)]
        atoms = [part for part in parts if not isinstance(part, Shape | Several)]
        if len(arrays) > 1:
            return _unknown(kinds)
        if arrays:
            return Either(arrays[0], reduce(or_, atoms))
        return reduce(or_, atoms)


def _in_data(kind: Any) -> Any:
    return perfect.Data[kind]


def _parameters(kind: Any) -> tuple[Any, ...]:
    parameters: tuple[Any, ...] = getattr(kind, "__parameters__", ())
    return parameters


def _unknown(hint: Any) -> Any:
    raise Misuse(f"no wire format follows from {hint}; see aforesaid.core.fields for what a field may be")
