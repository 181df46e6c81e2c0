"""The catalog's unicast and multicast algorithms: hybrid buffering, and what it is compared with."""

from collections.abc import Callable
from functools import partial
from typing import Any

from aforesaid.protocols.algorithm import (
    BEST_EFFORT,
    DETECTOR,
    FIFO_LINKS,
    FIXED_GROUP,
    NO_CRASH,
    ORDER,
    ORDER_UNLESS_LOST,
    RELIABLE,
    RELIABLE_LINKS,
    Algorithm,
    Setup,
    in_nanoseconds,
)
from aforesaid.protocols.delivery.cykas import Cykas
from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps
from aforesaid.protocols.delivery.ks import Ks
from aforesaid.protocols.delivery.mf import Mf
from aforesaid.protocols.delivery.rst import Rst


def _baselines_of_delivery() -> list[Algorithm]:
    """The unicast and multicast algorithms that hybrid buffering is compared with."""
    return [
        Algorithm(
            name="rst",
            title="RST: a matrix of counters",
            paper="hybrid-buffering paper, section 3.1 and table 1 (its reference 16)",
            needs=(RELIABLE_LINKS, FIXED_GROUP, NO_CRASH),
            promises=(*RELIABLE, *ORDER),
            metadata="one id, the audience and n^2 counters",
            build=lambda setup: Rst(setup.me, setup.group, setup.incarnation),
            addressed=True,
        ),
        Algorithm(
            name="ks",
            title="KS: the least metadata for the least latency",
            paper="hybrid-buffering paper, section 3.1 and table 1 (its reference 10)",
            needs=(RELIABLE_LINKS, FIXED_GROUP, NO_CRASH),
            promises=(*RELIABLE, *ORDER),
            metadata="one id, the audience and up to n^2 (sender, number, destinations)",
            build=lambda setup: Ks(setup.me, setup.group, setup.incarnation),
            addressed=True,
        ),
        Algorithm(
            name="mf",
            title="MF: one unacknowledged message at a time",
            paper="hybrid-buffering paper, section 3.2 and table 1 (its reference 12)",
            needs=(FIXED_GROUP, DETECTOR),
            promises=(*RELIABLE, *ORDER),
            metadata="one id and one number",
            build=lambda setup: Mf(setup.me, setup.group, setup.incarnation, **in_nanoseconds(setup.options)),
            addressed=True,
            unicast=True,
            options={
                "resend_ms": "send again what was not acknowledged for so long; then it backs off (50)",
                "backoff_max": "how many times that at most (64)",
                "send_queue_max": "how many messages may wait before the sender is told to wait (1024)",
            },
        ),
        Algorithm(
            name="cykas",
            title="Cykas: permission to tell; may starve a busy receiver",
            paper="hybrid-buffering paper, section 4.3 and table 1 (its reference 20)",
            needs=(RELIABLE_LINKS, FIFO_LINKS, FIXED_GROUP, NO_CRASH),
            promises=(*RELIABLE, *ORDER),
            metadata="one id and one flag",
            build=lambda setup: Cykas(setup.me, setup.group, setup.incarnation, **setup.options),
            addressed=True,
            unicast=True,
            options={"send_queue_max": "how many messages may wait before the sender is told to wait (1024)"},
        ),
    ]


_HYBRID_OPTIONS = {
    "retransmit": "false: never send again, for reliable links (true)",
    "resend_ms": "send again what was not acknowledged for so long; then it backs off (50)",
    "backoff_max": "how many times that at most (64)",
    "burst_max": "how many messages one expiry sends again at most (32)",
    "buffer_max": "how many messages may be unsent or unacknowledged (2^20)",
    "early_max": "how many messages that came too early may wait (2^16)",
}


def _hybrid_buffering() -> list[Algorithm]:
    """The four algorithms of the hybrid-buffering paper."""
    kinds: list[tuple[str, str, str, Callable[..., Any], bool]] = [
        ("hybrid_basic", "hybrid buffering, basic (CSPS), unicast", "algorithm 1", HybridBasic, True),
        ("hybrid_sps", "hybrid buffering, SPS-optimal, unicast", "algorithm 2", HybridSps, True),
        ("hybrid_multicast", "hybrid buffering, basic, multicast", "algorithm 3", HybridMulticast, False),
        (
            "hybrid_multicast_sps",
            "hybrid buffering, SPS-optimal, multicast",
            "section 5.7",
            HybridMulticastSps,
            False,
        ),
    ]
    return [
        Algorithm(
            name=name,
            title=title,
            paper=f"hybrid-buffering paper, {section} (corrected)",
            needs=(FIXED_GROUP, DETECTOR),
            promises=(*RELIABLE, *ORDER),
            # Who crashes is evicted; what is promised then, and why no more, is in hybrid_process.py.
            promises_if_crashed=(*(RELIABLE if unicast else BEST_EFFORT), *ORDER_UNLESS_LOST),
            metadata="two numbers and a flag; besides, an ack and at most one permit",
            build=partial(_hybrid, kind),
            addressed=True,
            unicast=unicast,
            options=_HYBRID_OPTIONS,
        )
        for name, title, section, kind, unicast in kinds
    ]


def _hybrid(kind: Callable[..., Any], setup: Setup) -> Any:
    return kind(setup.me, setup.incarnation, **in_nanoseconds(setup.options))


DELIVERIES: tuple[Algorithm, ...] = (*_hybrid_buffering(), *_baselines_of_delivery())
