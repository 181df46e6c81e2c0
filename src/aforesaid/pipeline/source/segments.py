"""The events of all segments in a place, as rows: each as its node wrote it."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from aforesaid.core import Misuse
from aforesaid.storage import Place, sizes_below
from aforesaid.wire.segments import SUFFIX, Event, read_segment, torn_bytes

EVENTS_AT_ONCE = 10_000


class SegmentEvents:
    """The events in segments of nodes, each as its node wrote it."""

    schema = pa.schema(
        [
            pa.field("cluster", pa.string()),
            pa.field("algorithm", pa.string()),
            pa.field("node", pa.string()),
            pa.field("incarnation", pa.int64()),
            pa.field("segment", pa.int64()),
            pa.field("position", pa.int64()),
            pa.field("event", pa.string()),
            pa.field("time_ns", pa.int64()),
            pa.field("peer", pa.string()),
            pa.field("peer_incarnation", pa.int64()),
            pa.field("number", pa.int64()),
            pa.field("audience", pa.list_(pa.string())),
            pa.field("how", pa.string()),
            pa.field("owed", pa.int64()),
            pa.field("drained", pa.bool_()),
        ]
    )

    def pieces(self, root: Place, bytes_max: int) -> Iterator[tuple[Place, int]]:
        """Whole segments: where a record begins is known by those before it."""
        found = {path: size for path, size in sizes_below(root).items() if path.endswith(SUFFIX)}
        if not found:
            raise Misuse(f"no trace segments in {root}")
        yield from ((root / path, found[path]) for path in sorted(found))

    def tables(self, piece: Place) -> Iterator[Any]:
        origin, events = read_segment(piece)
        writer = {
            "cluster": origin and origin.cluster,
            "algorithm": origin and origin.algorithm,
            "node": origin and origin.name,
            "incarnation": origin and origin.incarnation,
            "segment": origin and origin.segment,
        }
        rows = (writer | {"position": place} | facts for place, facts in enumerate(_told(piece, events)))
        while some := list(islice(rows, EVENTS_AT_ONCE)):
            yield pa.Table.from_pylist(some, self.schema)


_SAID = {
    "s": ("said", "number", "time_ns", "audience"),
    "d": ("delivered", "peer", "peer_incarnation", "number", "time_ns"),
    "k": ("stable", "peer", "peer_incarnation", "number", "time_ns"),
    "p": ("met", "peer", "peer_incarnation"),
    "a": ("admitted", "peer", "peer_incarnation"),
    "x": ("lost", "peer", "time_ns", "how", "owed"),
    "e": ("ended", "time_ns", "how", "drained"),
}
"""For each letter of an event, its word and the columns of what follows it. Receipts are told by `ingest`."""


def _told(segment: Place, events: Iterator[Event]) -> Iterator[dict[str, Any]]:
    """Events by column; last, if the segment ends in bytes that nobody can read, how many these are."""
    for letter, *facts in events:
        if letter not in _SAID:
            continue
        word, *columns = _SAID[letter]
        yield {"event": word, **dict(zip(columns, facts, strict=True))}
    if unread := torn_bytes(segment):
        yield {"event": "torn", "number": unread}
