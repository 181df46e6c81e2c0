"""Causal broadcast and causal delivery: exactly once, and never before what was said before.

Importing this package is light. The rooms are imported by name: `aforesaid.sim`, `aforesaid.trace`,
`aforesaid.check`, `aforesaid.explore`, `aforesaid.protocols`.
"""

from aforesaid.core import AforesaidError, MessageId, Misbehaviour, Misuse

__all__ = ["AforesaidError", "MessageId", "Misbehaviour", "Misuse", "__version__"]

__version__ = "0.1.0"
