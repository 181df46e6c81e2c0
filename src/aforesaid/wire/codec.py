"""Frames of a protocol to bytes and back, by the published shapes of its format (docs/wire.md).

A frame is one msgpack value, `[tag, [field, ...]]`: the tag is the place of its shape in the format, the
fields are those of the protocol's named tuple, in order; named tuples in named tuples are arrays in arrays.

Law of `decode`: bytes of strangers give a message of one of the shapes, or `Refused`, and nothing else. Every
array and string has a length limit, which msgspec compares with the announced length before it allocates, and
shapes nest to a fixed depth: so the work and the memory are in proportion to the bytes that are really there.

msgspec writes named tuples as they are. It could also read them, were their fields not annotated with `Any`
where a body is the application's or another layer's; so it reads plain tuples, and these become named ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, MsgspecError, convert
from msgspec.msgpack import Decoder, Encoder

from aforesaid.core import Misuse, Refused

NAME_CHARS_MAX = 255

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
"""A process."""

TEXTS_MAX = 2**16
"""Of an array of texts, before it is looked at more closely."""

FRAME_BYTES_MAX = 16 * 2**20
"""The default limit of one encoded frame."""


@dataclass(frozen=True)
class Shape:
    """How one kind of named tuple looks on the wire."""

    kind: type[Any]
    fields: tuple[Any, ...]
    """Of each field: a type that msgspec knows, or a Shape, a Several, Arrays or an Either."""
    holds: Callable[[Any], bool] | None = None
    """What must hold between its fields, of the named tuple."""


@dataclass(frozen=True)
class Several:
    """A tuple of any number of items of one shape, within limits."""

    item: Any
    length: Meta
    kind: type[Any] = tuple
    """What becomes of it."""


@dataclass(frozen=True)
class Either:
    """A Shape, a Several or Arrays, or an atom: bytes, None, or a map that msgspec knows."""

    part: Any
    atom: Any


@dataclass(frozen=True)
class Arrays:
    """Several atoms, or a Shape all of whose fields are arrays, of texts or of arrays of texts.

    msgspec does not tell arrays apart by what is in them. So it reads either, no deeper than that, and what
    the Shape says is checked if the first item is an array."""

    several: Several
    shape: Shape


class Codec:
    """Encodes and decodes the frames of one format."""

    def __init__(self, shapes: Sequence[Shape], frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._encode = Encoder().encode
        self._tags: dict[object, int] = {}
        self._decoders: list[tuple[Callable[[bytes], Any], Builder]] = []
        for tag, known in enumerate(shapes):
            self._tags[_key(known, shapes)] = tag
            frame = GenericAlias(tuple, (Literal[tag], _wire_type(known)))
            self._decoders.append((Decoder(frame).decode, _Builders().builder(known)))

    def encode(self, message: Any) -> bytes:
        """The bytes of a message of ours."""
        tag = self._tags.get(type(message))
        if tag is None:
            tag = self._tag_by_body(message)
        data = self._encode((tag, message))
        if len(data) > self.frame_bytes_max:
            raise Misuse(f"a frame of {len(data)} bytes; the limit is {self.frame_bytes_max}")
        return data

    def decode(self, data: bytes) -> Any:
        """The message in bytes of anyone's; raises Refused."""
        if len(data) > self.frame_bytes_max:
            raise Refused("frame size")
        try:
            # An array of two begins with one byte, the tag is the second. It chooses who checks them both.
            decode, build = self._decoders[data[1]]
        except IndexError:
            raise Refused("frame tag") from None
        try:
            return build(decode(data)[1])
        except (MsgspecError, UnicodeDecodeError):
            raise Refused("frame shape") from None

    def _tag_by_body(self, message: Any) -> int:
        if isinstance(message, tuple) and message and (type(message), type(message[-1])) in self._tags:
            return self._tags[type(message), type(message[-1])]
        raise Misuse(f"{message!r:.100} is no frame of this format")


_Text = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
_Texts = Annotated[
    tuple[_Text | Annotated[tuple[_Text, ...], Meta(max_length=TEXTS_MAX)], ...], Meta(max_length=TEXTS_MAX)
]

Builder: TypeAlias = Callable[[Any], Any]
"""Makes the named tuple of plain ones."""


def _key(known: Shape, shapes: Sequence[Shape]) -> object:
    """By what `encode` knows the shape: its class, or that and its last field's class if others share it."""
    if sum(other.kind is known.kind for other in shapes) == 1:
        return known.kind
    return known.kind, known.fields[-1].kind


def _wire_type(part: Any) -> Any:
    match part:
        case Shape(_, fields):
            return GenericAlias(tuple, tuple(map(_wire_type, fields)))
        case Several(item, length, _):
            return Annotated[GenericAlias(tuple, (_wire_type(item), ...)), length]
        case Either(inner, atom):
            return _wire_type(inner) | atom
        case Arrays(Several(item, length, _), _):
            return Annotated[GenericAlias(tuple, (_Texts | item, ...)), length]
    return part


class _Builders:
    """Writes what makes the named tuples of one shape's plain ones as one Python expression.

    As `dataclasses` and `namedtuple` write methods, and for the same reason: closures that call each other
    take twice as long. The text holds nothing but numbers and names made here; kinds go in by reference.
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def builder(self, part: Any) -> Builder:
        build: Builder = eval(f"lambda v: {self.expression(part, 'v')}", self.names)
        return build

    def expression(self, part: Any, value: str) -> str:
        match part:
            case Shape(kind, fields, holds):
                plain = [f"{value}[{place}]" for place in range(len(fields))]
                items = [self.expression(field, item) for field, item in zip(fields, plain, strict=True)]
                all_items = value if items == plain else f"({', '.join(items)},)"
                # A partial of tuple.__new__ makes a named tuple three times as fast as its class does.
                made = f"{self.name(partial(tuple.__new__, kind))}({all_items})"
                return made if holds is None else f"{self.name(partial(_checked, holds))}({made})"
            case Several(item, _, kind):
                made = self.expression(item, "item")
                if kind is tuple:
                    return value if made == "item" else f"tuple([{made} for item in {value}])"
                parts = value if made == "item" else f"[{made} for item in {value}]"
                return f"{self.name(partial(tuple.__new__, kind))}({parts})"
            case Arrays(Several(_, _, kind), shape):
                run = f"{self.name(partial(_all_bytes, kind))}({value})"
                strictly = f"{self.name(partial(convert, type=_wire_type(shape)))}({value})"
                other = f"{self.name(_Builders().builder(shape))}({strictly})"
                return f"({run} if type({value}[0]) is bytes else {other})"
            case Either(inner):
                made = self.expression(inner, value)
                return value if made == value else f"({made} if type({value}) is tuple else {value})"
        return value

    def name(self, thing: Any) -> str:
        name = f"f{len(self.names)}"
        self.names[name] = thing
        return name


def _all_bytes(kind: type[Any], items: tuple[Any, ...]) -> Any:
    if set(map(type, items)) != {bytes}:
        raise Refused("frame shape")
    return tuple.__new__(kind, items)


def _checked(holds: Callable[[Any], bool], message: Any) -> Any:
    if not holds(message):
        raise Refused("frame sense")
    return message
