"""Bytes of a segment as columns: what a task makes of a span, and the judge reads.

A span is some whole records of one segment. Its events become four columns, as long as there are events; what
only few of them have stands in lists beside. So a million events are a few arrays, and no row of them passes
through Spark by itself.
"""

import time
from typing import Any

import msgspec
import numpy as np

from aforesaid.trace.model import Int32s, Int64s
from aforesaid.wire.segments import Event, Origin, whole_records

SAID, DELIVERED, STABLE, MET, ADMITTED, LOST, ENDED = (ord(letter) for letter in "sdkpaxe")
_JUDGED = np.array([SAID, DELIVERED, STABLE, MET, ADMITTED, LOST, ENDED], np.uint8)
OWN = ord("o")
"""A delivery of a node's own message: it teaches it nothing."""
TO_ALL = -1
EVENTS_AT_ONCE = 2_000

_decode = msgspec.msgpack.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode


class Span(msgspec.Struct):
    """The events of a span, by column; arrays as bytes."""

    log: str
    """Whose log it is, by its files: what they are called without the number of the segment."""
    segment: int
    start: int
    stop: int
    kind: bytes = b""
    """The letter of each event."""
    facts: bytes = b""
    """Of a delivery or stable call, the place in `peers`; of a saying, that in `audiences`, or TO_ALL; of
    others that in `rare`."""
    number: bytes = b""
    time_ns: bytes = b""
    peers: list[tuple[str, int]] = []
    audiences: list[tuple[str, ...]] = []
    rare: list[Event] = []
    origin: bytes = b""
    """The segment's first record, if it is in the span."""
    cpu_s: float = 0.0
    """What it took to read it."""
    damage: str = ""
    """Why the rest of the span cannot be read."""

    @property
    def columns(self) -> tuple[Any, Int32s, Int64s, Int64s]:
        return (
            np.frombuffer(self.kind, np.uint8),
            np.frombuffer(self.facts, np.int32),
            np.frombuffer(self.number, np.int64),
            np.frombuffer(self.time_ns, np.int64),
        )

    def packed(self) -> bytes:
        return _encode(self)


def unpacked(data: bytes) -> Span:
    return msgspec.msgpack.decode(data, type=Span)


def read_span(data: bytes, log: str, segment: int, start: int) -> Span:
    """The events in some bytes of a segment, up to the first record that is damaged."""
    began, span, columns = time.thread_time(), Span(log, segment, start, start), _Columns()
    events: list[Any] = []
    try:
        for end, record in whole_records(data):
            if start == 0 and span.stop == 0:
                msgspec.msgpack.decode(record, type=Origin)
                span.origin = record
            else:
                events += _decode(record)
            span.stop = start + end
            if len(events) >= EVENTS_AT_ONCE:
                columns.add(events)
                events = []
        columns.add(events)
    except (msgspec.MsgspecError, ValueError, TypeError, IndexError, KeyError) as error:
        span.damage = f"no events of a node: {error}"
    else:
        if span.stop < start + len(data):
            span.damage = f"damaged at byte {span.stop}"
    columns.into(span)
    span.cpu_s = time.thread_time() - began
    return span


class _Columns:
    """Grows by some events at a time: few enough to stay in the processor's cache."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, Int32s, Int64s, Int64s]] = []
        self._peers: dict[tuple[str, int], int] = {}
        self._audiences: dict[tuple[str, ...], int] = {}
        self._rare: list[Event] = []

    def add(self, events: list[Any]) -> None:
        kind = np.frombuffer("".join([event[0] for event in events]).encode(), np.uint8)
        judged = np.isin(kind, _JUDGED)
        if not judged.all():
            # How messages came, or what a later version tells: no verdict depends on it.
            events, kind = [events[place] for place in np.flatnonzero(judged).tolist()], kind[judged]
        count = len(events)
        facts, number = np.zeros(count, np.int32), np.zeros(count, np.int64)
        time_ns = np.zeros(count, np.int64)
        delivered = (kind == DELIVERED) | (kind == STABLE)
        if delivered.any():
            some = [event for event in events if event[0] in "dk"]
            _, names, incarnations, numbers, times = zip(*some, strict=True)
            peers = list(zip(names, incarnations, strict=True))
            facts[delivered] = _placed(self._peers, peers)
            number[delivered], time_ns[delivered] = numbers, times
        said = kind == SAID
        if said.any():
            _, numbers, times, targets = zip(*(event for event in events if event[0] == "s"), strict=True)
            facts[said] = TO_ALL
            if any(names is not None for names in targets):
                audiences = [tuple(names or ()) for names in targets]
                to_all = np.array([names is None for names in targets])
                facts[said] = np.where(to_all, TO_ALL, _placed(self._audiences, audiences))
            number[said], time_ns[said] = numbers, times
        rare = np.flatnonzero(~delivered & ~said)
        facts[rare] = np.arange(len(rare)) + len(self._rare)
        self._rare += [tuple(events[place]) for place in rare.tolist()]
        self._parts.append((kind, facts, number, time_ns))

    def into(self, span: Span) -> None:
        columns = (b"".join([part.tobytes() for part in column]) for column in zip(*self._parts, strict=True))
        span.kind, span.facts, span.number, span.time_ns = columns if self._parts else [b""] * 4
        span.peers, span.audiences, span.rare = list(self._peers), list(self._audiences), self._rare


def _placed(places: dict[Any, int], values: list[Any]) -> Int32s:
    """The place of each value in the order in which they first came."""
    for value in dict.fromkeys(values):
        places.setdefault(value, len(places))
    return np.fromiter(map(places.__getitem__, values), np.int32, len(values))
