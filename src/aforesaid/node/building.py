"""The parts of one incarnation of a node, made as its configuration asks for them."""

from collections.abc import Callable
from pathlib import Path

from aforesaid.core import MILLISECOND, Acknowledging, Linking, Nanoseconds, Speaker, Windowed
from aforesaid.core.version import STATE_FORMAT, __version__
from aforesaid.ground import ground
from aforesaid.journal import Code, Journal
from aforesaid.journal.records import DATA_BYTES_MAX
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.carrier import Above, Carrier
from aforesaid.node.carrying.datagrams import DatagramCarrier
from aforesaid.node.carrying.securing import datagram_seals, stream_contexts
from aforesaid.node.carrying.streams import StreamCarrier
from aforesaid.node.config import Config
from aforesaid.node.flight import Flight, FloodFlight, FrameFlight, WindowFlight
from aforesaid.node.history.frames import HISTORY
from aforesaid.node.inbox import Backlog
from aforesaid.node.recording.segments import SegmentWriter
from aforesaid.protocols.algorithm import Algorithm, Setup
from aforesaid.protocols.links.perfect import perfectly_linked
from aforesaid.wire import Codec, Inlet, Limits, Reassembly, cluster_id, shapes_of
from aforesaid.wire.packet import Header
from aforesaid.wire.segments import Origin

JOURNAL = "journal"
"""Its place in the directory of a node."""

FRAME_BYTES, FRAME_BYTES_PER_MEMBER = 1024, 80
"""What a frame may take besides one payload: names of members, or a counter for each."""

RESEND_MS = {"udp": 50.0, "tcp": 5000.0}
"""A stream loses only what was under way when it broke, and when the next one stands all is sent again."""

IN_FLIGHT = {"udp": 32, "tcp": 2**16}
"""What may be on its way at first: a stream has its own way to slow its sender down."""


def machine_of(config: Config, incarnation: int) -> Speaker:
    """The protocol object of one incarnation of this node, over perfect links if it needs them."""
    entry = config.entry
    transport = {
        "resend_ms": RESEND_MS[config.transport],
        "in_flight": IN_FLIGHT[config.transport],
        "ordered": config.transport == "tcp",
        "early_max": config.queues.in_messages,
    }
    # What the transport and the queues ask of an algorithm that sends again by itself, if nobody says else.
    ours = {name: value for name, value in transport.items() if name in entry.options.__struct_fields__}
    addresses = {config.name: config.advertise or config.listen, **config.peers}
    options = {**ours, **config.options}
    machine = entry.build(Setup(config.name, config.group, incarnation, options, addresses, config.newcomer))
    if not entry.over_perfect_links:
        return machine
    resend_after = round(RESEND_MS[config.transport] * MILLISECOND)
    return perfectly_linked(
        machine,
        resend_after,
        in_flight=IN_FLIGHT[config.transport],
        ordered=config.transport == "tcp",
        tells=tuple(config.peers),
    )


def flight_of(machine: Speaker | Windowed, config: Config, buffered: Callable[[], int]) -> Flight:
    """Who keeps account of own messages under way, by what the protocol can tell of them."""
    if isinstance(machine, Windowed):
        return WindowFlight(machine, config.queues)
    if isinstance(machine, Acknowledging):
        return FrameFlight(machine, config.queues)
    return FloodFlight(buffered, config.queues) if isinstance(machine, Linking) else Flight()


def backlog_of(entry: Algorithm, config: Config) -> Backlog:
    """Room for the frames that may come in while the inbox is full, if all are configured alike."""
    queues, peers = config.queues, len(config.peers)
    # Over perfect links everyone may pass on what others say.
    windows = peers * (peers + 1) if entry.over_perfect_links else peers
    return Backlog(
        queues.in_messages + queues.out_messages * windows,
        queues.in_bytes + (queues.out_bytes + config.payload_bytes_max) * windows,
    )


def carrier_of(config: Config, incarnation: int, start: int, above: Above, book: Book) -> Carrier:
    """What carries the frames of this start of this incarnation."""
    entry = config.entry
    frame_bytes_max = config.payload_bytes_max + FRAME_BYTES + FRAME_BYTES_PER_MEMBER * len(config.group)
    if entry.linked:
        # The buffer of a new link is one frame, of many payloads.
        frame_bytes_max = max(frame_bytes_max, config.queues.link_bytes)
    besides = HISTORY if config.keeps else ()
    codec = Codec(shapes_of(entry, config.group, config.frontier, besides), frame_bytes_max)
    limits = Limits(frame_bytes_max=frame_bytes_max, bytes_per_source_max=4 * frame_bytes_max)
    inlet = Inlet(codec, Reassembly(limits))
    speaks = f"{entry.name}+frontier" if config.frontier else entry.name
    speaks += "+history" if config.keeps else ""
    me = Header(cluster_id(config.cluster, speaks), config.name, incarnation, start)
    if config.transport == "udp":
        return DatagramCarrier(config, datagram_seals(config, me), inlet, above, start)
    return StreamCarrier(config, stream_contexts(config), me, inlet, above, book)


def journal_of(config: Config) -> Journal:
    """Where a node that survives keeps what it was told."""
    entry = config.entry
    # Of an algorithm from outside its own version tells what its snapshots hold.
    owner = f"{config.cluster}/{config.name} {entry.name} {entry.version}".rstrip()
    place = Path(str(config.directory)) / JOURNAL
    code = Code(__version__, STATE_FORMAT)
    return Journal(ground().disk, place, owner, snapshot_bytes=config.snapshot_bytes, code=code)


def frames_of(config: Config) -> Codec:
    """The format in which it keeps the frames that it was told; larger ones were refused by the carrier."""
    return Codec(shapes_of(config.entry, config.group, config.frontier), DATA_BYTES_MAX)


def segments_of(
    config: Config, incarnation: int, began: Nanoseconds, joined: bool, segment: int = 1
) -> SegmentWriter:
    """Where this incarnation writes down what it says and delivers."""
    entry = config.entry
    origin = Origin(
        name=config.name,
        incarnation=incarnation,
        algorithm=entry.name,
        cluster=config.cluster,
        group=config.group,
        joined=joined,
        began_ns=began,
        segment=segment,
        code_version=entry.code_version,
        linked=entry.linked,
        promises=entry.promises,
        promises_if_crashed=entry.promises_if_crashed,
        receipts=config.receipts,
    )
    return SegmentWriter(segments_place(config), origin, config.trace_segment_bytes, config.survives)


def segments_place(config: Config) -> Path:
    return Path(str(config.directory)) / "segments"
