"""One message, or more, of every kind that the node algorithms send."""

from collections.abc import Sequence
from typing import Any

from aforesaid.core import MessageId, Run
from aforesaid.protocols.broadcast.waiting import Stamped
from aforesaid.protocols.delivery import hybrid_adaptive_frames as adaptive
from aforesaid.protocols.delivery import hybrid_frames as hybrid
from aforesaid.protocols.delivery.hybrid_groups import Member, Roster
from aforesaid.protocols.frontier import Placed
from aforesaid.protocols.layers.layered import Relay
from aforesaid.protocols.links import perfect
from aforesaid.protocols.overlay import frames as overlay
from aforesaid.protocols.overlay.living import Heir, Spare
from aforesaid.protocols.overlay.spray import Arc, Introduce, Reply, Request, Withdraw
from aforesaid.wire import Codec, shapes_of
from aforesaid.wire.codec import Shape

GROUP = ("alice", "bob", "carol")

_MSG = hybrid.Msg(0, 7, 5, True, b"good morning")
_TOLD = adaptive.Told(
    (), 0, 7, 5, (adaptive.Wait("bob", 3),), (adaptive.Name("bob", "carol", 2),), True, b"good morning"
)
_RELAY = Relay(MessageId("bob", 2, 300), Stamped((0, 70_000, 3), b"\x00\xff"))
_LID = overlay.Lid("alice", "bob", 1, 4)
_CONTROL = overlay.Control(_LID, overlay.ALPHA, overlay.Lid("alice", "dörte", 1, 5), ("bob",), ("dörte",))
_SAMPLE = (Arc("bob", 0), Arc("carol", 12))

_ROSTER = Roster((Member("alice", "127.0.0.1:7401"), Member("dörte", "[::1]:7402")), ("alice",), ("carol",))

MESSAGES: dict[str, list[Any]] = {
    "hybrid_multicast": [
        _MSG,
        hybrid.Msg(2**40, 2**32, 0, False, b""),
        hybrid.Msg(0, 7, 5, False, Run((b"good", b"morning"))),
        hybrid.Msg(0, 300, 44, True, Run((b"",) * 256)),
        hybrid.News(("carol",), _MSG),
        hybrid.News(("carol",), _MSG._replace(payload=Run((b"good", b"morning")))),
        hybrid.Ack(7, 0),
        hybrid.Ack(70_000, 128),
        hybrid.Permit(7),
        hybrid.Notice(("bob", "carol")),
        hybrid.PermitNews(("carol",), 7),
        hybrid.Early(7, 9),
        hybrid.Msg(0, 8, 7, True, _ROSTER),
    ],
    "hybrid_adaptive_multicast": [
        _TOLD,
        adaptive.Told(("carol",), 2**40, 2**32, 0, (), (), False, b""),
        _TOLD._replace(payload=Run((b"good", b"morning"))),
        hybrid.Ack(7, 0),
        hybrid.Ack(70_000, 128),
        adaptive.Holds((), 7, 0),
        adaptive.Holds(("carol",), 7, 9),
        hybrid.Early(7, 9),
        hybrid.Notice(("bob", "carol")),
        adaptive.Flush(("carol",), 1),
        adaptive.Flushed((), 1),
    ],
    "waiting": [perfect.Data(9, _RELAY), perfect.Ack(9), perfect.Gone(10, ("carol",))],
    "prc_spray": [
        overlay.Copy(_LID, MessageId("carol", 0, 1), b"hello"),
        overlay.Flood(_LID, MessageId("carol", 0, -1), _CONTROL._replace(link=None, route=None, path=())),
        _CONTROL,
        overlay.Control(None, overlay.RHO, _LID, None, ()),
        overlay.Buffer(_LID, ()),
        overlay.Buffer(
            _LID,
            ((MessageId("bob", 0, 3), b"abc"), (MessageId("bob", 0, -2), _CONTROL._replace(link=None))),
        ),
        overlay.Ack(_LID),
        overlay.Close(_LID),
        overlay.Agree(_LID),
        overlay.Keep(_LID),
        overlay.Fin(_LID),
        overlay.Reset(_LID),
        overlay.Join(_LID),
        overlay.Welcome(_LID),
        overlay.Sampled(Spare("carol")),
        overlay.Sampled(Introduce("dave")),
        overlay.Sampled(Request((0, 1), _SAMPLE)),
        overlay.Sampled(Reply((3, 9), ())),
        overlay.Sampled(Heir("erin")),
        overlay.Sampled(Withdraw("dave", 1)),
        overlay.Goodbye(_LID, 7),
        overlay.Seen(_LID, MessageId("carol", 0, 1)),
    ],
}

_FIRST = Placed((), b"hello")
_LATER = Placed((MessageId("carol", 0, 1), MessageId("dörte", 3, 70_000)), b"")
MESSAGES["prc_spray+frontier"] = [
    overlay.Copy(_LID, MessageId("carol", 0, 1), _FIRST),
    overlay.Copy(_LID, MessageId("bob", 0, 4), _LATER),
    overlay.Buffer(
        _LID,
        ((MessageId("bob", 0, 4), _LATER), (MessageId("bob", 0, -2), _CONTROL._replace(link=None))),
    ),
    *(message for message in MESSAGES["prc_spray"] if type(message) not in (overlay.Copy, overlay.Buffer)),
]
"""Of nodes whose messages carry their frontier."""


def codec(name: str, group: Sequence[str] = GROUP, **limits: int) -> Codec:
    """Of an algorithm, or of one with `+frontier`."""
    return Codec(shapes(name, group), **limits)


def shapes(name: str, group: Sequence[str] = GROUP) -> tuple[Shape, ...]:
    algorithm, _, frontier = name.partition("+")
    return shapes_of(algorithm, group, frontier=bool(frontier))
