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
from itertools import product
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, MsgspecError
from msgspec.msgpack import Decoder, Encoder

from aforesaid.core import Misuse, Refused

NAME_CHARS_MAX = 255

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
"""A process."""

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
    """Several atoms, or a Shape.

    msgspec does not tell arrays apart by what is in them: a frame that cannot be read with the one is read
    with the other."""

    several: Several
    shape: Shape


Builder: TypeAlias = Callable[[Any], Any]
"""Makes the named tuple of plain ones."""

Way: TypeAlias = tuple[Callable[[bytes], Any], Builder]
"""How bytes become plain tuples, and these a message."""


class Codec:
    """Encodes and decodes the frames of one format."""

    def __init__(self, shapes: Sequence[Shape], frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._encode = Encoder().encode
        self._tags: dict[object, int] = {}
        self._decoders: list[list[Way]] = []
        """By tag, the ways to read a frame, the one that mostly does first."""
        for tag, known in enumerate(shapes):
            self._tags[_key(known, shapes)] = tag
            ways: list[Way] = []
            for plain in _told_apart(known):
                frame = GenericAlias(tuple, (Literal[tag], _wire_type(plain)))
                ways.append((Decoder(frame).decode, _Builders().builder(plain)))
            self._decoders.append(ways)

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
            ways = self._decoders[data[1]]
        except IndexError:
            raise Refused("frame tag") from None
        for decode, build in ways:
            try:
                return build(decode(data)[1])
            except (MsgspecError, UnicodeDecodeError):
                continue
        raise Refused("frame shape")

    def _tag_by_body(self, message: Any) -> int:
        if isinstance(message, tuple) and message and (type(message), type(message[-1])) in self._tags:
            return self._tags[type(message), type(message[-1])]
        raise Misuse(f"{message!r:.100} is no frame of this format")


def _key(known: Shape, shapes: Sequence[Shape]) -> object:
    """By what `encode` knows the shape: its class, or that and its last field's class if others share it."""
    if sum(other.kind is known.kind for other in shapes) == 1:
        return known.kind
    return known.kind, known.fields[-1].kind


def _told_apart(part: Any) -> tuple[Any, ...]:
    """The same without Arrays: one for each way to read them."""
    match part:
        case Shape(kind, fields, holds):
            return tuple(Shape(kind, each, holds) for each in product(*map(_told_apart, fields)))
        case Either(inner, atom):
            return tuple(Either(each, atom) for each in _told_apart(inner))
        case Arrays(several, shape):
            return several, shape
    return (part,)


def _wire_type(part: Any) -> Any:
    match part:
        case Shape(_, fields):
            return GenericAlias(tuple, tuple(map(_wire_type, fields)))
        case Several(item, length, _):
            return Annotated[GenericAlias(tuple, (_wire_type(item), ...)), length]
        case Either(inner, atom):
            return _wire_type(inner) | atom
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
            case Either(inner):
                made = self.expression(inner, value)
                return value if made == value else f"({made} if type({value}) is tuple else {value})"
        return value

    def name(self, thing: Any) -> str:
        name = f"f{len(self.names)}"
        self.names[name] = thing
        return name


def _checked(holds: Callable[[Any], bool], message: Any) -> Any:
    if not holds(message):
        raise Refused("frame sense")
    return message
