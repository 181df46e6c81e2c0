"""The causal frontier: messages that know what they follow, and so with what they are concurrent.

Nédelec, Molli and Mostéfaoui (2018b) end on it: causal broadcast without vectors delivers in an order that
respects causality, and does not tell which messages are concurrent. Here every message carries the ids of its
immediate predecessors and nothing else; docs/frontier.md has the rule and its proof. It is a layer above any
causal broadcast, an option of those that have no vector, and the algorithms know nothing of it.
"""

from aforesaid.protocols.frontier.layer import Placed, with_frontier
from aforesaid.protocols.frontier.partial_order import Frontier

__all__ = ["Frontier", "Placed", "with_frontier"]
