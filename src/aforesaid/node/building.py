"""The parts of one incarnation of a node, made as its configuration asks for them."""

from pathlib import Path

from aforesaid import __version__
from aforesaid.core import Nanoseconds
from aforesaid.node.book import Book
from aforesaid.node.carrier import Above, Carrier
from aforesaid.node.config import Config
from aforesaid.node.datagrams import DatagramCarrier
from aforesaid.node.securing import datagram_seals, stream_contexts
from aforesaid.node.segments import Origin, SegmentWriter
from aforesaid.node.streams import StreamCarrier
from aforesaid.protocols.catalog import algorithm
from aforesaid.wire import Codec, Inlet, Limits, Reassembly, cluster_id, shapes_of
from aforesaid.wire.packet import Header

FRAME_BYTES, FRAME_BYTES_PER_MEMBER = 1024, 80
"""What a frame may take besides one payload: names of members, or a counter for each."""


def carrier_of(config: Config, incarnation: int, above: Above, book: Book) -> Carrier:
    """What carries the frames of this incarnation."""
    frame_bytes_max = config.payload_bytes_max + FRAME_BYTES + FRAME_BYTES_PER_MEMBER * len(config.group)
    if algorithm(config.algorithm).linked:
        # The buffer of a new link is one frame, of many payloads.
        frame_bytes_max = max(frame_bytes_max, config.queues.link_bytes)
    codec = Codec(shapes_of(config.algorithm, config.group), frame_bytes_max)
    limits = Limits(frame_bytes_max=frame_bytes_max, bytes_per_source_max=4 * frame_bytes_max)
    inlet = Inlet(codec, Reassembly(limits))
    me = Header(cluster_id(config.cluster, config.algorithm), config.name, incarnation)
    if config.transport == "udp":
        return DatagramCarrier(config, datagram_seals(config, me), inlet, above)
    return StreamCarrier(config, stream_contexts(config), me, inlet, above, book)


def segments_of(config: Config, incarnation: int, began: Nanoseconds, joined: bool) -> SegmentWriter:
    """Where this incarnation writes down what it says and delivers."""
    origin = Origin(
        name=config.name,
        incarnation=incarnation,
        algorithm=config.algorithm,
        cluster=config.cluster,
        group=config.group,
        joined=joined,
        began_ns=began,
        segment=1,
        code_version=__version__,
    )
    return SegmentWriter(Path(str(config.directory)) / "segments", origin, config.trace_segment_bytes)
