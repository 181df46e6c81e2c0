"""Messages to bytes and back: bounded, versioned, published (docs/wire.md)."""

from aforesaid.wire.codec import Codec, Shape
from aforesaid.wire.formats import shapes_of
from aforesaid.wire.fragment import Limits, Reassembly
from aforesaid.wire.inlet import Inlet
from aforesaid.wire.packet import Clear, Header, Opened, cluster_id, pack, read_header, unpack
from aforesaid.wire.stream import Records, record

__all__ = [
    "Clear",
    "Codec",
    "Header",
    "Inlet",
    "Limits",
    "Opened",
    "Reassembly",
    "Records",
    "Shape",
    "cluster_id",
    "pack",
    "read_header",
    "record",
    "shapes_of",
    "unpack",
]
