"""Identities, ports and errors: what every room of the house agrees on. Standard library only, pure."""

from aforesaid.core.errors import AforesaidError, Busy, Misbehaviour, Misuse, Refused, WrongValue
from aforesaid.core.freeze import freeze
from aforesaid.core.identity import (
    MICROSECOND,
    MILLISECOND,
    SECOND,
    MessageId,
    Nanoseconds,
    Process,
    message_label,
    process_label,
)
from aforesaid.core.ports import (
    CausalBroadcast,
    CausalDelivery,
    Effects,
    Handed,
    Joining,
    Layer,
    Machine,
    Message,
    Payload,
    Timer,
)

__all__ = [
    "MICROSECOND",
    "MILLISECOND",
    "SECOND",
    "AforesaidError",
    "Busy",
    "CausalBroadcast",
    "CausalDelivery",
    "Effects",
    "Handed",
    "Joining",
    "Layer",
    "Machine",
    "Message",
    "MessageId",
    "Misbehaviour",
    "Misuse",
    "Nanoseconds",
    "Payload",
    "Process",
    "Refused",
    "Timer",
    "WrongValue",
    "freeze",
    "message_label",
    "process_label",
]
