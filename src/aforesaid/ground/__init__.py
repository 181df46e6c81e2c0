"""What a node stands on: the clocks, the chance, the sockets and the disk of its machine.

Nothing of a node asks the system for these directly. Each part takes the ground it is made on (`ground()`)
and keeps to it. It is the real machine unless somebody says else: `aforesaid.world` puts nodes on machines
whose time, network and disk follow from a seed.
"""

from aforesaid.ground.ports import Disk, Ground
from aforesaid.ground.real import REAL
from aforesaid.ground.standing import ground, ground_of, standing_on

__all__ = ["REAL", "Disk", "Ground", "ground", "ground_of", "standing_on"]
