"""The catalog: every algorithm by name."""

from aforesaid.core import Misuse
from aforesaid.protocols.algorithm import (
    DETECTOR,
    FIFO_LINKS,
    FIXED_GROUP,
    MAJORITY,
    NO_CRASH,
    RELIABLE_LINKS,
    Algorithm,
    Setup,
)
from aforesaid.protocols.entries_broadcast import BROADCASTS
from aforesaid.protocols.entries_delivery import DELIVERIES
from aforesaid.protocols.entries_overlay import OVERLAYS

__all__ = [
    "CATALOG",
    "DETECTOR",
    "FIFO_LINKS",
    "FIXED_GROUP",
    "MAJORITY",
    "NO_CRASH",
    "RELIABLE_LINKS",
    "Algorithm",
    "Setup",
    "algorithm",
]

CATALOG: dict[str, Algorithm] = {entry.name: entry for entry in (*BROADCASTS, *OVERLAYS, *DELIVERIES)}


def algorithm(name: str) -> Algorithm:
    """The entry of that name."""
    if name not in CATALOG:
        raise Misuse(f"unknown algorithm {name!r}; there are: {', '.join(CATALOG)}")
    return CATALOG[name]
