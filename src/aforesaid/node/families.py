"""What the host has to know of each family of algorithms besides its protocol object."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aforesaid.core import MILLISECOND
from aforesaid.node.config import Config, needs_links
from aforesaid.node.flight import Flight, FloodFlight, HybridFlight, LinksFlight
from aforesaid.node.outbox import Cumulative
from aforesaid.protocols.algorithm import Setup
from aforesaid.protocols.catalog import algorithm
from aforesaid.protocols.delivery import hybrid_frames as hybrid
from aforesaid.protocols.links import perfect
from aforesaid.protocols.links.perfect import perfectly_linked

RESEND_MS = {"udp": 50.0, "tcp": 5000.0}
"""A stream loses only what was under way when it broke, and when the next one stands all is sent again."""

BURST_MAX = {"udp": 32, "tcp": 2**16}
"""What is sent again at once: a stream has its own way to slow its sender down."""


@dataclass(frozen=True)
class Family:
    """How a protocol object of a kind is made and handled."""

    deferrable: tuple[type, ...]
    """Frames that may be held back, in any order, while the application does not take its messages; the
    others go on. Empty: nothing may be, so the transport stops reading instead."""
    cumulative: Cumulative
    flight: Callable[[Any, Config, Callable[[], int]], Flight]
    telling: tuple[type, ...] = ()
    """Frames that tell, by `gone`, who was evicted elsewhere."""
    relays: bool = False
    """Whether everyone passes on what others say."""

    def under_way(self, config: Config) -> tuple[int, int]:
        """The frames and bytes that may come in while the inbox is full, if all are configured alike."""
        queues, peers = config.queues, len(config.peers)
        windows = peers * (peers + 1) if self.relays else peers
        return (
            queues.in_messages + queues.out_messages * windows,
            queues.in_bytes + (queues.out_bytes + config.payload_bytes_max) * windows,
        )


HYBRID = Family(
    deferrable=(hybrid.Msg, hybrid.News),
    telling=(hybrid.News, hybrid.Notice),
    # An ack with a request for a permit is more than an ack.
    cumulative={hybrid.Ack: lambda ack: not ack.wanted, hybrid.Permit: lambda permit: True},
    flight=lambda machine, config, _: HybridFlight(machine, config.queues),
)
LINKS = Family(
    deferrable=(perfect.Data,),
    cumulative={},
    flight=lambda machine, config, _: LinksFlight(machine, config.queues),
    relays=True,
)
FLOOD = Family(
    deferrable=(),
    cumulative={},
    flight=lambda _, config, buffered: FloodFlight(buffered, config.queues),
)


def family(config: Config) -> Family:
    entry = algorithm(config.algorithm)
    if entry.linked:
        return FLOOD
    return LINKS if needs_links(entry) else HYBRID


def build(config: Config, incarnation: int) -> Any:
    """The protocol object of one incarnation of this node."""
    entry = algorithm(config.algorithm)
    options = dict(config.options)
    if family(config) is HYBRID:
        options = {**_resending(config), "early_max": config.queues.in_messages, **options}
    machine = entry.build(Setup(config.name, config.group, incarnation, options))
    if family(config) is LINKS:
        burst_max = BURST_MAX[config.transport]
        return perfectly_linked(
            machine, round(RESEND_MS[config.transport] * MILLISECOND), burst_max=burst_max
        )
    return machine


def _resending(config: Config) -> dict[str, Any]:
    return {"resend_ms": RESEND_MS[config.transport], "burst_max": BURST_MAX[config.transport]}
