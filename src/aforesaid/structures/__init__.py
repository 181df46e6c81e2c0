"""Pure containers that the algorithms stand on: sliding windows, and the numbers received of each origin.

They know no message and no protocol. Each is plain data: `pickle` copies it, and equal contents have an equal
picture (`core.freeze`), so that the explorer sees two states as one when they are one.
"""

from aforesaid.structures.received import Received, ReceivedPicture
from aforesaid.structures.sliding_array import SlidingArray
from aforesaid.structures.sliding_map import IndexableSlidingMap, SlidingMap

__all__ = ["IndexableSlidingMap", "Received", "ReceivedPicture", "SlidingArray", "SlidingMap"]
