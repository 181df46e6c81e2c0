"""The catalog's broadcasts on partial views: link memory, preventive broadcast, PRC-broadcast."""

from collections.abc import Mapping
from typing import Any

from aforesaid.core import MILLISECOND, Misuse, Nanoseconds
from aforesaid.protocols.algorithm import (
    FIFO_LINKS,
    FIXED_GROUP,
    NO_CRASH,
    ORDER,
    RELIABLE,
    RELIABLE_LINKS,
    Algorithm,
    Setup,
)
from aforesaid.protocols.overlay.circulant import founding_links
from aforesaid.protocols.overlay.link_memory import LinkMemory
from aforesaid.protocols.overlay.living import Living, Unsampled
from aforesaid.protocols.overlay.prc import PRC
from aforesaid.protocols.overlay.preventive import Preventive
from aforesaid.protocols.overlay.spray import Spray

DEGREE_OPTION = {"degree": "how many founders each founder opens a link to; default 2"}
LINK_OPTIONS = {
    **DEGREE_OPTION,
    "handshake_ms": "how long an opening or closing may take; default 10000",
    "tries": "how often it is tried; default 4",
    "buffer_max": "how many messages a link being opened may buffer; default 10000",
}
PRC_OPTIONS = {
    **LINK_OPTIONS,
    "both_ways": "whether one handshake opens a link in both directions; default true",
    "alpha": "how α travels: direct (over the new connection) or routed (as printed); default direct",
}


def whole(options: Mapping[str, Any], name: str, default: int) -> int:
    """An option that counts something."""
    value = options.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Misuse(f"{name} must be a whole number from 1 on, not {value!r}")
    return value


def duration(options: Mapping[str, Any], name: str, default_ms: float) -> Nanoseconds:
    """An option in milliseconds, in the protocols' own unit."""
    value = options.get(name, default_ms)
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise Misuse(f"{name} must be a time in milliseconds above 0, not {value!r}")
    return round(float(value) * MILLISECOND)


def _link_memory(setup: Setup) -> LinkMemory:
    links = founding_links(setup.group, whole(setup.options, "degree", 2), both_ways=False)
    out_view = [link.other for link in links if link.opener == setup.me]
    in_view = [link.opener for link in links if link.other == setup.me]
    return LinkMemory(setup.me, out_view, in_view, setup.incarnation)


def link_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the options say about links, as their protocols take it."""
    return {
        "degree": whole(options, "degree", 2),
        "patience": duration(options, "handshake_ms", 10_000),
        "tries": whole(options, "tries", 4),
        "buffer_max": whole(options, "buffer_max", 10_000),
    }


def _preventive(setup: Setup) -> Preventive:
    return Preventive(setup.me, setup.group, setup.incarnation, **link_settings(setup.options))


def _prc(setup: Setup) -> PRC:
    options = setup.options
    both_ways, alpha = options.get("both_ways", True), options.get("alpha", "direct")
    if type(both_ways) is not bool:
        raise Misuse(f"both_ways must be true or false, not {both_ways!r}")
    if alpha not in ("direct", "routed"):
        raise Misuse(f"alpha must be direct or routed, not {alpha!r}")
    return PRC(
        setup.me,
        setup.group,
        setup.incarnation,
        both_ways=both_ways,
        alpha_direct=alpha == "direct",
        **link_settings(options),
    )


def _prc_spray(setup: Setup) -> Living:
    period = duration(setup.options, "period_ms", 60_000)
    return Living(_prc(setup), Spray(setup.me, period, setup.incarnation))


OVERLAYS = [
    Algorithm(
        name="link_memory",
        title="link memory on a static overlay",
        paper="prc-broadcast paper, algorithm 1",
        needs=(RELIABLE_LINKS, FIFO_LINKS, FIXED_GROUP, NO_CRASH),
        promises=(*RELIABLE, *ORDER),
        metadata="one id",
        build=_link_memory,
        options=DEGREE_OPTION,
    ),
    Algorithm(
        name="preventive",
        title="preventive broadcast: new links are made safe before they are used",
        paper="prc-broadcast paper, table 1 (its reference 20, corrected)",
        needs=(RELIABLE_LINKS, FIFO_LINKS),
        promises=(*RELIABLE, *ORDER),
        metadata="one id and one link",
        build=_preventive,
        linked=True,
        options=LINK_OPTIONS,
    ),
    Algorithm(
        name="prc",
        title="PRC-broadcast: link memory on a changing overlay",
        paper="prc-broadcast paper, algorithm 2",
        needs=(RELIABLE_LINKS, FIFO_LINKS),
        promises=(*RELIABLE, *ORDER),
        metadata="one id and one link",
        build=lambda setup: Living(_prc(setup), Unsampled()),
        linked=True,
        options=PRC_OPTIONS,
    ),
    Algorithm(
        name="prc_spray",
        title="PRC-broadcast on the overlay that Spray samples",
        paper="prc-broadcast paper, algorithm 2 and section 3",
        needs=(RELIABLE_LINKS, FIFO_LINKS),
        promises=(*RELIABLE, *ORDER),
        metadata="one id and one link",
        build=_prc_spray,
        linked=True,
        options={**PRC_OPTIONS, "period_ms": "how often a process exchanges half of its arcs; default 60000"},
    ),
]
