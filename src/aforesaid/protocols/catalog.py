"""The catalog: every algorithm by name. Causal broadcasts without vectors may carry their frontier."""

from aforesaid.core import Misuse, meant
from aforesaid.protocols import outside
from aforesaid.protocols.algorithm import Algorithm, Setup
from aforesaid.protocols.broadcast import newtop, no_waiting, pak, tree, unordered, waiting
from aforesaid.protocols.delivery import (
    cykas,
    hybrid_adaptive_entries,
    hybrid_basic,
    hybrid_in_order,
    hybrid_multicast,
    hybrid_multicast_sps,
    hybrid_sps,
    ks,
    mf,
    rst,
)
from aforesaid.protocols.frontier import with_frontier
from aforesaid.protocols.overlay import link_memory, prc_entries, preventive_entries

__all__ = ["CATALOG", "Algorithm", "Setup", "algorithm"]

_ENTRIES = (
    *unordered.ENTRIES,
    *map(with_frontier, no_waiting.ENTRIES),
    # Who has a vector has no need of a frontier: vectors tell what is concurrent.
    *waiting.ENTRIES,
    *pak.ENTRIES,
    with_frontier(newtop.ENTRY),
    with_frontier(tree.ENTRY),
    with_frontier(link_memory.ENTRY),
    *map(with_frontier, preventive_entries.ENTRIES),
    *map(with_frontier, prc_entries.ENTRIES),
    hybrid_basic.ENTRY,
    hybrid_sps.ENTRY,
    hybrid_multicast.ENTRY,
    hybrid_multicast_sps.ENTRY,
    *hybrid_in_order.ENTRIES,
    *hybrid_adaptive_entries.ENTRIES,
    rst.ENTRY,
    ks.ENTRY,
    mf.ENTRY,
    cykas.ENTRY,
)

CATALOG: dict[str, Algorithm] = {entry.name: entry for entry in _ENTRIES}


def algorithm(name: str) -> Algorithm:
    """The entry of that name, or the one from outside that it refers to (`protocols.outside`)."""
    entry = CATALOG.get(name) or outside.find(name, CATALOG)
    if entry is None:
        known = (*CATALOG, *outside.offered())
        raise Misuse(
            f"unknown algorithm {name!r}{meant(name, known)} there are: {', '.join(known)}; "
            "one of your own is written path.py:ENTRY"
        )
    return entry
