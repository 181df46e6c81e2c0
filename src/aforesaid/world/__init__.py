"""A whole cluster of real nodes under one seed: their code, on machines of our own making.

The nodes are those that ship (`aforesaid.node`). Under them the event loop's clock jumps, datagrams and
streams, chance, wall clocks and files follow from the seed, and machines are killed, halted and cut off. The
same seed gives the same bytes in every trace segment. See docs/world.md.
"""
