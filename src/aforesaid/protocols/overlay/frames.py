"""What travels between two neighbours of an overlay.

Every link instance has a name of its own, its `Lid`, so that frames of an instance that was closed are never
taken for frames of the one that was opened after it. A frame names the link instance it travels on in its
field `link`: the network keeps the order of frames of one instance, and loses only a suffix of them when the
connection is lost. Frames without that field are ordered with nothing.

The mark `control` is on the frames that exist for the sake of links, so that hosts can count them; frames
marked `droppable` may be lost without harm to the link they travel on.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from aforesaid.core import MessageId, Process

ALPHA, BETA, PI, RHO = "α", "β", "π", "ρ"
"""The kinds of control messages. α and π go from a link's opener to its other end, β and ρ come back."""


Frame = TypeVar("Frame", bound=type)


def marked(*marks: str) -> Callable[[Frame], Frame]:
    """Put marks on a class of frames (a named tuple takes no attributes but its fields)."""

    def put(kind: Frame) -> Frame:
        for mark in marks:
            setattr(kind, mark, True)
        return kind

    return put


class Lid(NamedTuple):
    """One link instance: who opened it, towards whom, and the opener's own count of openings."""

    opener: Process
    other: Process
    incarnation: int
    number: int

    def far_end(self, me: Process) -> Process:
        """The end that is not me."""
        return self.other if me == self.opener else self.opener

    def precedes(self, later: "Lid") -> bool:
        """True if the same opener opened `later` after this one."""
        return self.opener == later.opener and self[2:] < later[2:]


Said: TypeAlias = tuple[MessageId, Any]
"""A message as buffers hold it: its id and its body."""


class Copy(NamedTuple):
    """A broadcast message, on one safe link."""

    link: Lid
    message_id: MessageId
    body: Any


@marked("control")
class Flood(NamedTuple):
    """A copy of a broadcast whose body is a control message: the way without a route."""

    link: Lid
    message_id: MessageId
    body: Any


@marked("control", "droppable")
class Control(NamedTuple):
    """α, β, π or ρ for the link `opening`, travelling on the safe link `link`."""

    link: Lid | None
    kind: str
    opening: Lid
    route: tuple[Process, ...] | None
    """The mediators from opener to other; None: flooded."""
    path: tuple[Process, ...]
    """Whom it has still to pass after the process it arrives at."""


class Buffer(NamedTuple):
    """Bβ: what the sender delivered between π and ρ; the first frame of a new link."""

    link: Lid
    messages: tuple[Said, ...]


@marked("droppable")
class Ack(NamedTuple):
    """The receiver opened the link: the sender may rely on it."""

    link: Lid


@marked("droppable")
class Close(NamedTuple):
    """May this link be closed?"""

    link: Lid


@marked("droppable")
class Agree(NamedTuple):
    """It may: the answer of an end that sends nothing on the link and so has no Fin to answer with."""

    link: Lid


@marked("droppable")
class Keep(NamedTuple):
    """It may not: the other end wants the link, or has no other."""

    link: Lid


class Fin(NamedTuple):
    """The last frame of its sender on the link."""

    link: Lid


@marked("droppable")
class Reset(NamedTuple):
    """The sender knows no such link, or has done with it. Answered by nothing, ordered with nothing."""

    lid: Lid


@marked("control", "droppable")
class Join(NamedTuple):
    """A newcomer asks its contact for a first link, both ways."""

    lid: Lid


@marked("control", "droppable")
class Welcome(NamedTuple):
    """The contact's answer, and its first frame on that link."""

    link: Lid


@marked("control", "droppable")
class Sampled(NamedTuple):
    """A message of the peer sampling, between two neighbours."""

    message: Any
