"""Real nodes: causal delivery between processes over real networks. The public face is `aforesaid.Node`."""

from aforesaid.node.cluster import Cluster
from aforesaid.node.config import Config, Queues, Security
from aforesaid.node.endings import (
    Closed,
    Evicted,
    HistoryLost,
    Isolated,
    NoAnswer,
    PeerGone,
    Superseded,
    Unwelcome,
)
from aforesaid.node.messages import Message, Receipt
from aforesaid.node.node import Node
from aforesaid.node.payloads import Codec

__all__ = [
    "Closed",
    "Cluster",
    "Codec",
    "Config",
    "Evicted",
    "HistoryLost",
    "Isolated",
    "Message",
    "NoAnswer",
    "Node",
    "PeerGone",
    "Queues",
    "Receipt",
    "Security",
    "Superseded",
    "Unwelcome",
]
