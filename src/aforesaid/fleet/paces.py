"""Paces: a delay for each link, and still a FIFO for all that is under way at one pace.

Each directed pair of processes draws one of a few paces, by seed: what is sent from one to the other takes
the plan's delay d(t), times the share of its pace. As t + d(t) grows at every pace, what goes at one pace
arrives in the order in which it was sent. So a forward stands for its copies on those links of its sender
that have its pace, and wire rows are kept for each pace of a process: that of process p and pace k is row k
* N + p.
"""

import numpy as np

from aforesaid.fleet.records import Int64s

SHARE_SHIFT = 10
"""A share is a number of parts of 1 << SHARE_SHIFT."""

PACES_MAX = 16

ONE_PACE: Int64s = np.array([1 << SHARE_SHIFT])
LOW = (1 << 32) - 1


def pace_between(salt: int, source: int, target: int, paces: int) -> int:
    """The pace of a directed pair: its two numbers and the salt, mixed; no product has more than 63 bits.

    Uncompiled, the two may be half words.
    """
    mixed = (int(source) * 0x9E3779B1 + int(target) * 0x45D9F3B + salt) & LOW
    mixed = ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D) & LOW
    mixed = ((mixed ^ (mixed >> 12)) * 0x297A2D39) & LOW
    return (mixed ^ (mixed >> 15)) % paces
