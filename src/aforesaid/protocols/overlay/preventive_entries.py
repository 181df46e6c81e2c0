"""The entries of preventive broadcast: on links that the host opens and closes, on those Spray samples."""

from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.options import keywords, nanoseconds
from aforesaid.protocols.overlay.link_options import PERIOD_MS, LinkOptions, Period
from aforesaid.protocols.overlay.living import Living
from aforesaid.protocols.overlay.preventive import Preventive
from aforesaid.protocols.overlay.preventive_sampled import PreventiveBothWays
from aforesaid.protocols.overlay.spray import Spray


class PreventiveSprayOptions(LinkOptions, frozen=True):
    """Settings of preventive broadcast on Spray."""

    period_ms: Period = PERIOD_MS


def _make(setup: Setup, options: LinkOptions) -> Preventive:
    settings = keywords(options, handshake_ms="patience")
    return Preventive(setup.me, setup.group, setup.incarnation, **settings)


def _sampled(setup: Setup, options: PreventiveSprayOptions) -> Living:
    settings = keywords(options, handshake_ms="patience")
    period = nanoseconds(settings.pop("period_ms"))
    below = PreventiveBothWays(setup.me, setup.group, setup.incarnation, **settings)
    return Living(below, Spray(setup.me, period, setup.incarnation))


ENTRIES = (
    Algorithm(
        name="preventive",
        title="preventive broadcast: new links are made safe before they are used",
        sources=(cite("nedelec2018preventive", "corrected"), cite("nedelec2018forget", "table 1")),
        needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS),
        promises=(*RELIABLE, *ORDER),
        metadata="one id and one link",
        make=_make,
        options=LinkOptions,
        linked=True,
    ),
    Algorithm(
        name="preventive_spray",
        title="preventive broadcast on the overlay that Spray samples, links both ways",
        sources=(cite("nedelec2018preventive", "corrected"), cite("nedelec2017spray")),
        needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS),
        promises=(*RELIABLE, *ORDER),
        metadata="one id and one link",
        make=_sampled,
        options=PreventiveSprayOptions,
        linked=True,
        samples=True,
    ),
)
