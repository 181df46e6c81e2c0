"""The frames of preventive broadcast that PRC-broadcast does not have; the others are in `frames`."""

from typing import Any, NamedTuple

from aforesaid.core import MessageId, Payload, Process, frame
from aforesaid.protocols.overlay.frames import Lid


@frame(control=True, droppable=True, introduces=True, link="link")
class Ping(NamedTuple):
    """From the opener of a link to its other end, over safe links."""

    link: Lid
    opening: Lid
    path: tuple[Process, ...]
    """Whom it has still to pass after the process it arrives at."""


@frame(control=True, droppable=True, introduces=True, concerns="opening")
class Pong(NamedTuple):
    """What the opener had delivered before the ping is delivered, in this incarnation."""

    opening: Lid
    incarnation: int


@frame(introduces=True, link="link")
class Flush(NamedTuple):
    """The first frame of a new link: what its sender delivered since the ping."""

    link: Lid
    incarnation: int | None
    """The receiver's, as the pong told it; None: the sender has delivered nothing yet, anyone may begin."""
    messages: tuple[tuple[MessageId, Lid | Payload], ...]


@frame(control=True, droppable=True, introduces=True, link="link")
class Welcome(NamedTuple):
    """The contact's answer, and its first frame on that link: what the newcomer is not owed."""

    link: Lid
    received: Any
