"""What processes of the PAK family say to each other, and the name of their one timer."""

from typing import Final, NamedTuple

from aforesaid.core import Count, Number, Payload, Process, frame

RESEND: Final = "resend"
"""The timer of everything that someone may not have heard."""


@frame()
class Data(NamedTuple):
    """A sender's message of that number: whole, so that the oldest duplicate is known for what it is."""

    number: Number
    vector: bytes
    """The sender's vector time before this message, modulo k, packed."""
    payload: Payload
    ack_wanted: bool


@frame()
class Ack(NamedTuple):
    """The acker has delivered the receiver's messages up to that number."""

    upto: Count
    own_count: Count
    """How many messages the acker had released by then: the ack counts once so many were accepted."""


@frame()
class Settled(NamedTuple):
    """All of the sender's messages up to that number have been delivered by everyone."""

    upto: Count


@frame()
class Relayed(NamedTuple):
    """A crashed origin's message, from a survivor that has it to one that lacks it."""

    origin: Process
    data: Data


@frame()
class Has(NamedTuple):
    """A survivor's report: whom it knows to be down, and how many messages of each it has accepted."""

    accepted: tuple[tuple[Process, Count], ...]
    answer_wanted: bool
