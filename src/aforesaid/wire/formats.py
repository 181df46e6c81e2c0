"""The published formats: which frames the node algorithms send, in which order, and what each field holds.

The order of a tuple below gives the tags. It is published (docs/wire.md, tests/vectors/wire): a shape is not
changed, moved or removed while the version of the packets stays the same; new ones go to the end.

Where the group is fixed its names are part of the format: an unknown name or a vector of another length is
refused here, and no protocol has to fear it.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from aforesaid.core import MessageId, Misuse, Process
from aforesaid.protocols.broadcast.reliable import Relay
from aforesaid.protocols.broadcast.waiting import Stamped
from aforesaid.protocols.delivery.hybrid_frames import Ack as HybridAck
from aforesaid.protocols.delivery.hybrid_frames import Msg, News, Notice, Permit
from aforesaid.protocols.links import perfect
from aforesaid.protocols.overlay import frames as overlay
from aforesaid.protocols.overlay.living import Heir, Spare
from aforesaid.protocols.overlay.spray import Arc, Introduce, Reply, Request
from aforesaid.wire.codec import Count, Either, Name, Number, Several, Shape, shape

GROUP_MAX = 2**16
ROUTE_MAX = 64
BUFFERED_MAX = 2**16
ARCS_MAX = 2**10


def hybrid(group: Sequence[Process]) -> tuple[Shape, ...]:
    """Hybrid buffering; every variant says the same."""
    gone = Several(_one_of(group), len(group))
    msg = shape(Msg, incarnation=Count, number=Number, previous=Count, flagged=bool, payload=bytes)
    return (
        msg,
        shape(News, gone=gone, message=msg),
        shape(HybridAck, number=Count, wanted=Count),
        shape(Permit, number=Number),
        shape(Notice, gone=gone),
    )


def waiting(group: Sequence[Process]) -> tuple[Shape, ...]:
    """Waiting vector clocks over reliable broadcast over perfect links: connections are lost, too."""
    exactly = Meta(min_length=len(group), max_length=len(group))
    vector: Any = Annotated[tuple[Count, ...], exactly]
    relay = shape(
        Relay,
        message_id=shape(MessageId, origin=_one_of(group), incarnation=Count, number=Number),
        body=shape(Stamped, vector=vector, payload=bytes),
    )
    return (shape(perfect.Data, number=Number, body=relay), shape(perfect.Ack, number=Number))


def prc_spray() -> tuple[Shape, ...]:
    """PRC-broadcast, and Spray under it."""
    on_link = [overlay.Ack, overlay.Close, overlay.Agree, overlay.Keep, overlay.Fin]
    sampling = (
        shape(Spare, peer=Name),
        shape(Introduce, newcomer=Name),
        shape(Request, exchange=_EXCHANGE, sample=_SAMPLE),
        shape(Reply, exchange=_EXCHANGE, sample=_SAMPLE),
        shape(Heir, peer=Name),
    )
    return (
        shape(overlay.Copy, link=_LID, message_id=_SAID_BY_PEOPLE, body=bytes),
        shape(overlay.Flood, link=_LID, message_id=_FLOODED, body=_CONTROL),
        _CONTROL,
        shape(overlay.Buffer, link=_LID, messages=Several(_SAID, BUFFERED_MAX)),
        *(shape(kind, link=_LID) for kind in on_link),
        shape(overlay.Reset, lid=_LID),
        shape(overlay.Join, lid=_LID),
        shape(overlay.Welcome, link=_LID),
        *(shape(overlay.Sampled, message=message) for message in sampling),
    )


def shapes_of(algorithm: str, group: Sequence[Process] = ()) -> tuple[Shape, ...]:
    """The format of a node algorithm by its name in the catalog; a fixed group is told at the outset."""
    if algorithm in ("hybrid_basic", "hybrid_sps", "hybrid_multicast", "hybrid_multicast_sps"):
        return hybrid(group)
    if algorithm == "waiting":
        return waiting(group)
    if algorithm in ("prc", "prc_spray"):
        return prc_spray()
    raise Misuse(f"no wire format is published for {algorithm!r}: it runs in the simulator only")


def _one_of(group: Sequence[Process]) -> Any:
    """A name of the group."""
    if not 0 < len(group) <= GROUP_MAX:
        raise Misuse(f"a fixed group has 1 to {GROUP_MAX} members, not {len(group)}")
    return Literal[tuple(group)]


_BELOW_ZERO = Annotated[int, Meta(le=-1)]

_LID = shape(overlay.Lid, opener=Name, other=Name, incarnation=Count, number=Number)
_ROUTE = Several(Name, ROUTE_MAX)
_CONTROL = shape(
    overlay.Control,
    link=Either(_LID, None),
    kind=Literal[overlay.ALPHA, overlay.BETA, overlay.PI, overlay.RHO],
    opening=_LID,
    route=Either(_ROUTE, None),
    path=_ROUTE,
)
_SAID_BY_PEOPLE = shape(MessageId, origin=Name, incarnation=Count, number=Number)
_FLOODED = shape(MessageId, origin=Name, incarnation=Count, number=_BELOW_ZERO)
_SAID = Shape(
    tuple,
    (shape(MessageId, origin=Name, incarnation=Count, number=int), Either(_CONTROL, bytes)),
    # Control messages that are flooded are numbered downwards from -1, the application's upwards from 1.
    holds=lambda said: (said[0].number < 0) == (type(said[1]) is overlay.Control) and said[0].number != 0,
)
_EXCHANGE = tuple[Count, Number]
_SAMPLE = Several(shape(Arc, peer=Name, age=Count), ARCS_MAX)
