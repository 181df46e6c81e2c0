"""The algorithms of hybrid buffering, for tests that hold for every one of them."""

from aforesaid.protocols.delivery.hybrid_basic import HybridBasic
from aforesaid.protocols.delivery.hybrid_in_order import HybridInOrder, HybridMulticastInOrder
from aforesaid.protocols.delivery.hybrid_multicast import HybridMulticast
from aforesaid.protocols.delivery.hybrid_multicast_sps import HybridMulticastSps
from aforesaid.protocols.delivery.hybrid_sps import HybridSps

UNICAST = (HybridBasic, HybridSps, HybridInOrder)
MULTICAST = (HybridMulticast, HybridMulticastSps, HybridMulticastInOrder)
ALL = (*UNICAST, *MULTICAST)
