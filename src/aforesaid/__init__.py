"""Causal broadcast and causal delivery: exactly once, and never before what was said before.

Importing this package is light. The rooms are imported by name: `aforesaid.sim`, `aforesaid.trace`,
`aforesaid.check`, `aforesaid.explore`, `aforesaid.protocols`. `Node` and what goes with it come from
`aforesaid.node`, on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aforesaid.core import AforesaidError, MessageId, Misbehaviour, Misuse

if TYPE_CHECKING:
    from aforesaid.node import Config, Message, Node, Receipt

__all__ = [
    "AforesaidError",
    "Config",
    "Message",
    "MessageId",
    "Misbehaviour",
    "Misuse",
    "Node",
    "Receipt",
    "__version__",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("Config", "Message", "Node", "Receipt"):
        return getattr(import_module("aforesaid.node"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
