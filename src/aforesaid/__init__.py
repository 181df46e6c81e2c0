"""Causal broadcast and causal delivery: exactly once, and never before what was said before.

Importing this package is light. The rooms are imported by name: `aforesaid.sim`, `aforesaid.trace`,
`aforesaid.check`, `aforesaid.explore`, `aforesaid.protocols`, `aforesaid.blocking`. `Node` and what goes
with it come from `aforesaid.node`, on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aforesaid.core import AforesaidError, MessageId, Misbehaviour, Misuse
from aforesaid.core.version import __version__

if TYPE_CHECKING:
    from aforesaid.node import (
        Closed,
        Cluster,
        Codec,
        Config,
        Evicted,
        HistoryLost,
        Isolated,
        Message,
        NoAnswer,
        Node,
        PeerGone,
        Queues,
        Receipt,
        Security,
        Superseded,
        Unwelcome,
    )

__all__ = [
    "AforesaidError",
    "Closed",
    "Cluster",
    "Codec",
    "Config",
    "Evicted",
    "HistoryLost",
    "Isolated",
    "Message",
    "MessageId",
    "Misbehaviour",
    "Misuse",
    "NoAnswer",
    "Node",
    "PeerGone",
    "Queues",
    "Receipt",
    "Security",
    "Superseded",
    "Unwelcome",
    "__version__",
]


_OF_NODE = (
    *("Closed", "Cluster", "Codec", "Config", "Evicted", "HistoryLost", "Isolated", "Message", "NoAnswer"),
    *("Node", "PeerGone", "Queues", "Receipt", "Security", "Superseded", "Unwelcome"),
)


def __getattr__(name: str) -> Any:
    if name in _OF_NODE:
        return getattr(import_module("aforesaid.node"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_OF_NODE})
