"""The entry of preventive broadcast, on links that the host opens and closes."""

from aforesaid.protocols.algorithm import ORDER, RELIABLE, Algorithm, Need, Setup
from aforesaid.protocols.bibliography import cite
from aforesaid.protocols.options import keywords
from aforesaid.protocols.overlay.link_options import LinkOptions
from aforesaid.protocols.overlay.preventive import Preventive


def _make(setup: Setup, options: LinkOptions) -> Preventive:
    settings = keywords(options, handshake_ms="patience")
    return Preventive(setup.me, setup.group, setup.incarnation, **settings)


ENTRY = Algorithm(
    name="preventive",
    title="preventive broadcast: new links are made safe before they are used",
    sources=(cite("nedelec2018preventive", "corrected"), cite("nedelec2018forget", "table 1")),
    needs=(Need.RELIABLE_LINKS, Need.FIFO_LINKS),
    promises=(*RELIABLE, *ORDER),
    metadata="one id and one link",
    make=_make,
    options=LinkOptions,
    linked=True,
)
