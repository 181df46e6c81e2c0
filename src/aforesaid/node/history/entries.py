"""What stands in a log and travels between nodes: messages as they were delivered, and floors.

A floor is the number of the last message of one incarnation of a process that is known. Causal order is FIFO
for each of them: who knows a message knows all that its author said before it. So floors tell, in one number
for each author, which messages a node has, and which ones it lacks.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.msgpack import Decoder, Encoder

from aforesaid.core import Process, Refused

Author: TypeAlias = tuple[Process, int]
"""One incarnation of a process."""
Entry: TypeAlias = tuple[str, int, int, bytes]
"""A message: who said it, in which incarnation, its number, what it says."""
Floors: TypeAlias = dict[Author, int]
Spans: TypeAlias = dict[Author, tuple[int, int]]
"""From the first number to the last."""
Listed: TypeAlias = list[tuple[str, int, int]]
"""Floors as they are written."""

NOBODY = ""
"""In the place of an author's name: the entry is none of a message, but something that the application is to
hear in this place. The number tells what."""

FLOORS_MAX = 2**16
"""Authors of whom a floor is kept; the one that was silent for longest goes first."""

SAID, TOLD_AGAIN = b"\0", b"\1"
"""How what is said begins in a group that keeps its history: a message, or many of an earlier time."""

_encode = Encoder().encode
_block = Decoder(tuple[int, int, list[tuple[str, int, int, bytes]]])
_listed = Decoder(list[tuple[str, int, int]])
_lost = Decoder(tuple[str, list[tuple[str, int, int, int]]])
_told = Decoder(tuple[list[tuple[str, int, int]], list[tuple[str, int, int, bytes]]])


def block_bytes(first: int, now_ns: int, entries: Sequence[Entry]) -> bytes:
    """Messages that were delivered one after another: the offset of the first, and when it was written."""
    return _encode((first, now_ns, entries))


def read_block(data: bytes) -> tuple[int, int, list[Entry]]:
    first, now_ns, entries = _read(_block, data)
    return first, now_ns, entries


def floors_bytes(floors: Floors) -> bytes:
    return _encode([(origin, incarnation, number) for (origin, incarnation), number in floors.items()])


def read_floors(data: bytes) -> Floors:
    return {(origin, incarnation): number for origin, incarnation, number in _read(_listed, data)}


def told_bytes(lost: Floors, entries: Sequence[Entry]) -> bytes:
    """What is said to those who were elsewhere: up to where messages are lost, and messages."""
    return TOLD_AGAIN + _encode(([(*author, number) for author, number in lost.items()], entries))


def read_told(data: bytes) -> tuple[Floors, list[Entry]]:
    lost, entries = _read(_told, data[1:])
    return {(origin, incarnation): number for origin, incarnation, number in lost}, entries


def lost_bytes(member: Process, spans: Spans) -> bytes:
    """That messages are lost: who was asked, and the numbers of each author."""
    return _encode((member, [(*author, *span) for author, span in spans.items()]))


def read_lost(data: bytes) -> tuple[Process, Spans]:
    member, spans = _read(_lost, data)
    return member, {(origin, incarnation): (first, last) for origin, incarnation, first, last in spans}


def raise_floors(floors: Floors, higher: Floors) -> None:
    """What one knows or the other."""
    for author, number in higher.items():
        if number > floors.get(author, 0):
            floors[author] = number


def above(these: Floors, floors: Floors) -> Floors:
    """Those of these that are above what the others are."""
    return {author: number for author, number in these.items() if number > floors.get(author, 0)}


def tops(entries: Iterable[Entry]) -> Floors:
    """The highest number of each author among these."""
    found: Floors = {}
    for origin, incarnation, number, _ in entries:
        if origin != NOBODY:
            found[origin, incarnation] = number
    return found


def _read(decoder: Decoder[Any], data: bytes) -> Any:
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Refused("history") from None
