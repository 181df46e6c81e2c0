"""What the entries of the hybrid-buffering algorithms share: options, frames, needs and promises."""

from typing import Annotated, Any

from msgspec import Meta

from aforesaid.protocols.algorithm import (
    BEST_EFFORT,
    ORDER,
    ORDER_UNLESS_LOST,
    RELIABLE,
    Algorithm,
    Need,
    Setup,
)
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.delivery.hybrid_frames import Ack, Early, Msg, News, Notice, Permit, PermitNews
from aforesaid.protocols.delivery.hybrid_groups import Roster
from aforesaid.protocols.delivery.hybrid_process import HybridProcess
from aforesaid.protocols.options import Milliseconds, Options, Positive, keywords


class HybridOptions(Options, frozen=True):
    """Settings of hybrid buffering."""

    retransmit: Annotated[bool, Meta(description="false: never send again, for reliable links")] = True
    resend_ms: Annotated[
        Milliseconds,
        Meta(description="ask again after such a silence, or the round trip if longer; then it backs off"),
    ] = 50.0
    backoff_max: Annotated[Positive, Meta(description="how many times that at most")] = 8
    in_flight: Annotated[
        Positive,
        Meta(description="how many messages may be on their way to a peer at first; then loss decides"),
    ] = 32
    ordered: Annotated[bool, Meta(description="whether frames keep their order, as on streams")] = False
    buffer_max: Annotated[Positive, Meta(description="how many messages may be unsent or unacknowledged")] = (
        2**20
    )
    early_max: Annotated[Positive, Meta(description="how many messages that came too early may wait")] = 2**16
    batch: Annotated[Positive, Meta(description="after how many messages a step makes room for others")] = 256


def hybrid_entry(
    name: str, title: str, section: str, kind: type[HybridProcess[Any]], unicast: bool = False
) -> Algorithm:
    """The entry of one of them."""

    def make(setup: Setup, options: HybridOptions) -> HybridProcess[Any]:
        process = kind(setup.me, setup.incarnation, **keywords(options, resend_ms="resend_after"))
        if not unicast:
            process.found(setup.group, setup.addresses, setup.newcomer)
        return process

    return Algorithm(
        name=name,
        title=title,
        sources=(cite("almeida2026hybrid", f"{section} (corrected)"),),
        needs=(Need.FIXED_GROUP, Need.DETECTOR),
        promises=(*RELIABLE, *ORDER),
        # Who crashes is evicted; what is promised then, and why no more, is in hybrid_eviction.py.
        promises_if_crashed=(*(RELIABLE if unicast else BEST_EFFORT), *ORDER_UNLESS_LOST),
        metadata="two numbers and a flag; besides, an ack and at most one permit",
        make=make,
        options=HybridOptions,
        frames=(Msg, News, Ack, Permit, Notice, PermitNews, Early),
        addressed=True,
        unicast=unicast,
        # A roster tells several at once: by single messages nobody can know that another knows.
        tells=None if unicast else Roster,
    )
