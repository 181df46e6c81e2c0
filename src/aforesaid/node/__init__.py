"""Real nodes: causal delivery between processes over real networks. The public face is `aforesaid.Node`."""

from aforesaid.node.config import Config, Queues, Security
from aforesaid.node.endings import Closed, Evicted, Isolated, Unwelcome
from aforesaid.node.messages import Message, Receipt
from aforesaid.node.node import Node

__all__ = [
    "Closed",
    "Config",
    "Evicted",
    "Isolated",
    "Message",
    "Node",
    "Queues",
    "Receipt",
    "Security",
    "Unwelcome",
]
