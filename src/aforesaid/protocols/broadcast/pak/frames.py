"""What processes of the PAK family say to each other, and the name of their one timer."""

from typing import Final, NamedTuple

from aforesaid.core import Payload, Process

RESEND: Final = "resend"
"""The timer of everything that someone may not have heard."""


class Data(NamedTuple):
    """A sender's message of that number: whole, so that the oldest duplicate is known for what it is."""

    number: int
    vector: bytes
    """The sender's vector time before this message, modulo k, packed."""
    payload: Payload
    ack_wanted: bool


class Ack(NamedTuple):
    """The acker has delivered the receiver's messages up to that number."""

    upto: int
    own_count: int
    """How many messages the acker had released by then: the ack counts once so many were accepted."""


class Settled(NamedTuple):
    """All of the sender's messages up to that number have been delivered by everyone."""

    upto: int


class Relayed(NamedTuple):
    """A crashed origin's message, from a survivor that has it to one that lacks it."""

    origin: Process
    data: Data


class Has(NamedTuple):
    """A survivor's report: whom it knows to be down, and how many messages of each it has accepted."""

    accepted: tuple[tuple[Process, int], ...]
    answer_wanted: bool
