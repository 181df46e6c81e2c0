"""The entries of adaptive hybrid buffering: options, frames, needs and promises."""

from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from aforesaid.protocols.algorithm import Algorithm, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.delivery.hybrid_adaptive import HybridAdaptive
from aforesaid.protocols.delivery.hybrid_adaptive_frames import (
    CONSTRAINTS_MAX,
    Flush,
    Flushed,
    Holds,
    Told,
)
from aforesaid.protocols.delivery.hybrid_entry import HybridOptions, hybrid_entry
from aforesaid.protocols.delivery.hybrid_frames import Ack, Early, Notice
from aforesaid.protocols.options import keywords


class AdaptiveOptions(HybridOptions, frozen=True):
    """Settings of adaptive hybrid buffering."""

    constraints: Annotated[
        int, Meta(ge=0, le=CONSTRAINTS_MAX, description="how many constraints a message may name (B)")
    ] = 8


def _entry(name: str, title: str, unicast: bool) -> Algorithm:
    """As the others of the family, but for what they say to each other and are told at the outset."""

    def make(setup: Setup, options: AdaptiveOptions) -> HybridAdaptive:
        settings = keywords(options, resend_ms="resend_after")
        return HybridAdaptive(setup.me, setup.incarnation, group=setup.group, unicast=unicast, **settings)

    return replace(
        hybrid_entry(name, title, "future work", HybridAdaptive, unicast),
        sources=(cite("almeida2026hybrid", "its future work, ours"),),
        metadata="two numbers, a flag, and up to B constraints of two names and a number",
        make=make,
        options=AdaptiveOptions,
        frames=(Told, Ack, Holds, Early, Notice, Flush, Flushed),
        # A flush asks everyone: it would have to ask newcomers, too.
        tells=None,
    )


ENTRIES = (
    _entry("hybrid_adaptive", "adaptive hybrid buffering, unicast", unicast=True),
    _entry("hybrid_adaptive_multicast", "adaptive hybrid buffering, multicast", unicast=False),
)
