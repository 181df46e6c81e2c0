"""What nodes tell each other besides frames: addresses, who leaves, who is the elder, how a stream begins.

A body of frames is a msgpack array or bin (`wire.packet`); a note is a map, so that neither is taken for the
other. A node that gets a note with keys it does not know takes the ones it knows.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from aforesaid.core import Process, Refused
from aforesaid.protocols.membership import elders

ENTRIES_MAX = 4096
"""Addresses in one note."""

PADDING_MAX = 2**16

Name = Annotated[str, Meta(min_length=1, max_length=255)]


class Entry(Struct, frozen=True, array_like=True):
    """Where one incarnation of a process can be reached."""

    name: Name
    incarnation: Annotated[int, Meta(ge=0)]
    address: Annotated[str, Meta(max_length=300)]


class Word(Struct, frozen=True, array_like=True):
    """What is told of the elder of a changing group (`protocols.membership.elders`), as it is on the wire."""

    incarnation: Annotated[int, Meta(ge=0)]
    name: Name
    count: Annotated[int, Meta(ge=0)]


class Note(Struct, frozen=True, omit_defaults=True):
    """Told beside the frames."""

    book: Annotated[tuple[Entry, ...], Meta(max_length=ENTRIES_MAX)] = ()
    """Where those are who are named in the frames that follow on this stream."""
    bye: bool = False
    """The sender leaves for good: nobody shall wait for it."""
    elder: Word | None = None
    """The elder of the sender's part of a changing group."""
    refusal: Annotated[str, Meta(max_length=100)] = ""
    """Why nothing of the receiver is let in at the sender (datagrams; on streams a `Hello` says it)."""
    start: Annotated[int, Meta(ge=0)] = 0
    """Which start of the receiver is meant: the next one may have its address."""
    padding: Annotated[bytes, Meta(max_length=PADDING_MAX)] = b""
    """Makes a datagram long: the receiver is to say whether it came."""
    passed: Annotated[int, Meta(ge=0)] = 0
    """How long a datagram with padding was that came (in bytes, all of it)."""


class Hello(Struct, frozen=True, omit_defaults=True):
    """The first record of either end of a stream."""

    epoch: Annotated[int, Meta(ge=0)] = 0
    """From who calls: the last stream between the two that it knows of. From who is called: this stream's."""
    address: Annotated[str, Meta(max_length=300)] = ""
    """Where the sender takes calls."""
    refusal: Annotated[str, Meta(max_length=100)] = ""
    """Why the call is not taken."""
    newcomer: bool = False
    """From who calls: it was in no group yet, and will found none."""


_encode = msgspec.msgpack.Encoder().encode
_note = msgspec.msgpack.Decoder(Note).decode
_hello = msgspec.msgpack.Decoder(Hello).decode


def is_note(body: bytes) -> bool:
    """True if the body is a map and so holds no frames."""
    return 0x80 <= body[0] <= 0x8F or body[0] in (0xDE, 0xDF)


def encode(note: Note | Hello) -> bytes:
    return _encode(note)


def padded(length: int) -> bytes:
    """A note of this length, 512 bytes or more."""
    return encode(Note(padding=bytes(length - _PADDED_BYTES)))


def read_note(body: bytes) -> Note:
    try:
        return _note(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Refused("note") from None


def read_hello(body: bytes) -> Hello:
    try:
        return _hello(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Refused("hello") from None


_PADDED_BYTES = len(encode(Note(padding=bytes(256)))) - 256


def entry_of(name: Process, incarnation: int, address: object) -> Entry:
    return Entry(name, incarnation, str(address))


def word_of(word: elders.Word) -> Word:
    return Word(word.incarnation, word.name, word.count)
