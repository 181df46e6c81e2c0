"""What travels between two protocol objects declares itself: hosts read the declaration and guess nothing.

A frame is a named tuple under `@frame(...)`: immutable, hashable, as fast as a tuple. Two frames are equal
only if they are of the same kind: a `Keep` is no `Close`, whatever link they name. What the fields hold is
said by their types (`core.fields`); what a host may do with the frame, by the declaration:

    @frame(control=True, droppable=True, link="link")
    class Welcome(NamedTuple):
        link: Lid

Kinds are compared in Python, which costs a third of a microsecond, and no host compares frames while it
works: simulator and node hand them on, the explorer knows them by their pictures.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

Message: TypeAlias = Any
"""A frame of the protocol's own."""

Kind = TypeVar("Kind", bound=type)

NOWHERE = -1

new = tuple.__new__
"""`new(Kind, fields)`: a named tuple where one is made for every message; its own class takes
twice as long."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What hosts know of one kind of frame. Places are indexes of fields; -1: there is none."""

    control: bool = False
    """It exists for the sake of links, not of messages: hosts count it apart."""
    droppable: bool = False
    """It may be lost without harm to the link it travels on."""
    deferrable: bool = False
    """A host whose application takes no messages may keep it back while later frames go on, or drop it: its
    sender sends it again."""
    cumulative: Callable[[Any], bool] | None = None
    """Whether this one tells all that earlier ones of its kind to the same peer told: then these need not
    leave."""
    flooding: bool = False
    """A copy of a message that comes to its receiver from others, too."""
    patient: bool = False
    """Nobody waits for it: it may leave with what is said next to the same peer."""
    introduces: bool = False
    """Whoever receives it may have to reach those it names."""
    holds: Callable[[Any], bool] | None = None
    """What must hold between its fields; a frame from outside for which it does not is refused."""
    link_at: int = NOWHERE
    """The link instance it travels on: it keeps its order with the other frames of that instance."""
    concerns_at: int = NOWHERE
    """A link instance it is about and is not ordered with."""
    kind_at: int = NOWHERE
    """What it is, where one class stands for several kinds of frames."""
    gone_at: int = NOWHERE
    """Names of processes that are gone for good, as the sender was told."""
    numbered_at: tuple[int, int] | None = None
    """Of a frame that brings what its sender says, and tells no id: the sender's incarnation, and the number,
    of a run that of its last message."""

    @property
    def link_place(self) -> int:
        """Where it names the link instance that it travels on, or else is about."""
        return self.link_at if self.link_at >= 0 else self.concerns_at

    @property
    def may_be_old(self) -> bool:
        """Whether it brings or tells what others bring, too."""
        return self.flooding or self.patient

    def link(self, message: Any) -> Any:
        """The link instance that a frame of this kind travels on, or else is about; None: neither."""
        return message[self.link_place] if self.link_place >= 0 else None

    def title(self, message: Any) -> str:
        """What a frame of this kind is called."""
        return str(message[self.kind_at]) if self.kind_at >= 0 else type(message).__name__


UNDECLARED = Declaration()


def frame(
    *,
    control: bool = False,
    droppable: bool = False,
    deferrable: bool = False,
    cumulative: Callable[[Any], bool] | bool = False,
    flooding: bool = False,
    patient: bool = False,
    introduces: bool = False,
    holds: Callable[[Any], bool] | None = None,
    link: str = "",
    concerns: str = "",
    kind: str = "",
    gone: str = "",
    numbered: tuple[str, str] | None = None,
) -> Callable[[Kind], Kind]:
    """Declare a named tuple a frame; `link`, `concerns`, `kind`, `gone` and `numbered` name fields."""

    def declare(named_tuple: Any) -> Any:
        places = {field: place for place, field in enumerate(named_tuple._fields)}
        named_tuple.declaration = Declaration(
            control=control,
            droppable=droppable,
            deferrable=deferrable,
            cumulative=_always if cumulative is True else cumulative or None,
            flooding=flooding,
            patient=patient,
            introduces=introduces,
            holds=holds,
            link_at=places[link] if link else NOWHERE,
            concerns_at=places[concerns] if concerns else NOWHERE,
            kind_at=places[kind] if kind else NOWHERE,
            gone_at=places[gone] if gone else NOWHERE,
            numbered_at=(places[numbered[0]], places[numbered[1]]) if numbered else None,
        )
        named_tuple.__eq__, named_tuple.__ne__, named_tuple.__hash__ = _equal, _unequal, _hash
        return named_tuple

    return declare


def declaration_of(kind: type) -> Declaration:
    """What was declared of a kind of frame; of anything else, nothing."""
    declared: Declaration = getattr(kind, "declaration", UNDECLARED)
    return declared


def link_of(message: Message) -> Any:
    """The link instance a frame travels on; None for frames that travel on none."""
    place = declaration_of(type(message)).link_at
    return message[place] if place >= 0 else None


_same_fields: Callable[[Any, Any], bool] = tuple.__eq__


def _always(message: Any) -> bool:
    return True


def _equal(self: Any, other: object) -> bool:
    return type(self) is type(other) and _same_fields(self, other)


def _unequal(self: Any, other: object) -> bool:
    return not _equal(self, other)


def _hash(self: Any) -> int:
    return hash((type(self), tuple.__hash__(self)))
