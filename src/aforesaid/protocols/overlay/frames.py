"""What travels between two neighbours of an overlay.

Every link instance has a name of its own, its `Lid`, so that frames of an instance that was closed are never
taken for frames of the one that was opened after it. A frame names the link instance it travels on in its
field `link`: the network keeps the order of frames of one instance, and loses only a suffix of them when the
connection is lost. Frames without that field are ordered with nothing.

What hosts may do with each is declared with it (`core.frames`).
"""

from typing import Annotated, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from aforesaid.core import Count, MessageId, Number, Payload, Process, frame
from aforesaid.core.fields import AtMost, Where, Within

ALPHA: Final = "α"
BETA: Final = "β"
PI: Final = "π"
RHO: Final = "ρ"
ControlKind: TypeAlias = Literal["α", "β", "π", "ρ"]
"""The kinds of control messages. α and π go from a link's opener to its other end, β and ρ come back."""


class Lid(NamedTuple):
    """One link instance: who opened it, towards whom, and the opener's own count of openings."""

    opener: Process
    other: Process
    incarnation: Count
    number: Number

    def far_end(self, me: Process) -> Process:
        """The end that is not me."""
        return self.other if me == self.opener else self.opener

    def precedes(self, later: "Lid") -> bool:
        """True if the same opener opened `later` after this one."""
        return self.opener == later.opener and self[2:] < later[2:]


Route: TypeAlias = Annotated[tuple[Process, ...], AtMost(64)]

Flooded = TypeVar("Flooded")
Sampling = TypeVar("Sampling")


@frame(flooding=True, link="link")
class Copy(NamedTuple):
    """A broadcast message, on one safe link."""

    link: Lid
    message_id: MessageId
    body: Payload


@frame(patient=True, link="link")
class Seen(NamedTuple):
    """In place of a copy, to whom this message came from on the same link: it is not to come back."""

    link: Lid
    message_id: MessageId


FloodedId: TypeAlias = Annotated[MessageId, Where("number", Annotated[int, Within(most=-1)])]
"""Control messages that are flooded are numbered downwards from -1, the application's upwards from 1."""


@frame(control=True, introduces=True, link="link")
class Flood(NamedTuple, Generic[Flooded]):
    """A copy of a broadcast whose body is a control message: the way without a route."""

    link: Lid
    message_id: FloodedId
    body: Flooded


@frame(control=True, droppable=True, introduces=True, link="link", kind="kind")
class Control(NamedTuple):
    """α, β, π or ρ for the link `opening`, travelling on the safe link `link`."""

    link: Lid | None
    kind: ControlKind
    opening: Lid
    route: Route | None
    """The mediators from opener to other; None: none are known, or they do not lead there."""
    path: Route
    """Whom it has still to pass after the process it arrives at."""


Said: TypeAlias = tuple[Annotated[MessageId, Where("number", int)], Control | Payload]
"""A message as buffers hold it: its id, and its body or the control message that was flooded."""


def _numbered_by_kind(buffer: "Buffer") -> bool:
    """Whether control messages, and only they, have numbers below 0."""
    return all(said.number and (said.number < 0) == (type(body) is Control) for said, body in buffer.messages)


@frame(introduces=True, link="link", holds=_numbered_by_kind)
class Buffer(NamedTuple):
    """Bβ: what the sender delivered between π and ρ; the first frame of a new link."""

    link: Lid
    messages: Annotated[tuple[Said, ...], AtMost(2**16)]


@frame(droppable=True, link="link")
class Ack(NamedTuple):
    """The receiver opened the link: the sender may rely on it."""

    link: Lid


@frame(droppable=True, link="link")
class Close(NamedTuple):
    """May this link be closed?"""

    link: Lid


@frame(droppable=True, link="link")
class Agree(NamedTuple):
    """It may: the answer of an end that sends nothing on the link and so has no Fin to answer with."""

    link: Lid


@frame(droppable=True, link="link")
class Keep(NamedTuple):
    """It may not: the other end wants the link, or has no other."""

    link: Lid


@frame(link="link")
class Fin(NamedTuple):
    """The last frame of its sender on the link; of a sender that only receives there, its goodbye."""

    link: Lid


@frame(droppable=True, concerns="lid")
class Reset(NamedTuple):
    """The sender knows no such link, or has done with it. Answered by nothing, ordered with nothing."""

    lid: Lid


@frame(control=True, droppable=True, introduces=True, concerns="lid")
class Join(NamedTuple):
    """A newcomer asks its contact for a first link, both ways."""

    lid: Lid


@frame(control=True, droppable=True, introduces=True, link="link")
class Welcome(NamedTuple):
    """The contact's answer, and its first frame on that link."""

    link: Lid


@frame(control=True, droppable=True, introduces=True)
class Sampled(NamedTuple, Generic[Sampling]):
    """A message of the peer sampling, between two neighbours."""

    message: Sampling


@frame(link="link")
class Goodbye(NamedTuple):
    """Before Fin, of a sender that leaves the group: so many arcs of the sampled overlay go with it."""

    link: Lid
    arcs: Count


OF_LINKS = (Copy, Flood[Control], Control, Buffer, Ack, Close, Agree, Keep, Fin, Reset, Join, Welcome)
"""What PRC-broadcast sends on links and for their sake, in the order that gives the tags."""
