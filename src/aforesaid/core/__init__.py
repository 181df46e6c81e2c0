"""Identities, frames, ports and errors: what every room of the house agrees on. Pure."""

from aforesaid.core.capabilities import (
    Acknowledging,
    Explaining,
    HandingOver,
    Joining,
    Linking,
    Owing,
    Windowed,
)
from aforesaid.core.errors import AforesaidError, Busy, Misbehaviour, Misuse, Refused, WrongValue
from aforesaid.core.fields import Count, Members, Number, Payload, Process, Vector
from aforesaid.core.frames import Message, declaration_of, frame, link_of, new
from aforesaid.core.freeze import freeze
from aforesaid.core.identity import (
    MICROSECOND,
    MILLISECOND,
    SECOND,
    MessageId,
    Nanoseconds,
    message_label,
    process_label,
)
from aforesaid.core.ports import (
    CausalBroadcast,
    CausalDelivery,
    Effects,
    Handed,
    Layer,
    Machine,
    Say,
    Speaker,
    Timer,
    saying,
)
from aforesaid.core.reasons import Reason, worded

__all__ = [
    "MICROSECOND",
    "MILLISECOND",
    "SECOND",
    "Acknowledging",
    "AforesaidError",
    "Busy",
    "CausalBroadcast",
    "CausalDelivery",
    "Count",
    "Effects",
    "Explaining",
    "Handed",
    "HandingOver",
    "Joining",
    "Layer",
    "Linking",
    "Machine",
    "Members",
    "Message",
    "MessageId",
    "Misbehaviour",
    "Misuse",
    "Nanoseconds",
    "Number",
    "Owing",
    "Payload",
    "Process",
    "Reason",
    "Refused",
    "Say",
    "Speaker",
    "Timer",
    "Vector",
    "Windowed",
    "WrongValue",
    "declaration_of",
    "frame",
    "freeze",
    "link_of",
    "message_label",
    "new",
    "process_label",
    "saying",
    "worded",
]
