"""The entries of PRC-broadcast: on links that the host opens and closes, and on those that Spray samples."""

from typing import Annotated, Literal

from msgspec import Meta

from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.options import nanoseconds
from aforesaid.protocols.overlay.frames import OF_LINKS, Goodbye, Sampled, Seen
from aforesaid.protocols.overlay.link_options import PERIOD_MS, LinkOptions, Period
from aforesaid.protocols.overlay.living import Heir, Living, Spare
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.sampling import Sampler
from aforesaid.protocols.overlay.spray import Introduce, Reply, Request, Spray, Withdraw


class PrcOptions(LinkOptions, frozen=True):
    """Settings of PRC-broadcast."""

    both_ways: Annotated[bool, Meta(description="whether one handshake opens a link in both directions")] = (
        True
    )
    alpha: Annotated[
        Literal["direct", "routed"],
        Meta(description="how α travels: over the new connection, or over safe links (as printed)"),
    ] = "direct"


class PrcSprayOptions(PrcOptions, frozen=True):
    """Settings of PRC-broadcast on Spray."""

    period_ms: Period = PERIOD_MS


def _prc(setup: Setup, options: PrcOptions) -> PRC:
    return PRC(
        setup.me,
        setup.group,
        setup.incarnation,
        degree=options.degree,
        both_ways=options.both_ways,
        patience=nanoseconds(options.handshake_ms),
        tries=options.tries,
        buffer_max=options.buffer_max,
        alpha_direct=options.alpha == "direct",
    )


def _sampled(setup: Setup, options: PrcSprayOptions) -> Living:
    return Living(_prc(setup, options), Spray(setup.me, nanoseconds(options.period_ms), setup.incarnation))


_SAMPLING = (
    *(Sampled[Spare], Sampled[Introduce], Sampled[Request], Sampled[Reply], Sampled[Heir]),
    *(Sampled[Withdraw], Goodbye),
)

ENTRIES = (
    Algorithm(
        name="prc",
        title="PRC-broadcast: link memory on a changing overlay",
        sources=(cite("nedelec2018forget", "algorithm 2"),),
        needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS),
        promises=(*RELIABLE, *ORDER),
        metadata="one id and one link",
        make=lambda setup, options: Living(_prc(setup, options), Sampler()),
        options=PrcOptions,
        frames=(*OF_LINKS, Seen),
        linked=True,
    ),
    Algorithm(
        name="prc_spray",
        title="PRC-broadcast on the overlay that Spray samples",
        sources=(cite("nedelec2018forget", "algorithm 2 and section 3"), cite("nedelec2017spray")),
        needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS),
        promises=(*RELIABLE, *ORDER),
        metadata="one id and one link",
        make=_sampled,
        options=PrcSprayOptions,
        frames=(*OF_LINKS, *_SAMPLING, Seen),
        linked=True,
        samples=True,
    ),
)
