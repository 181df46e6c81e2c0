"""The overlay that founders begin with: each is linked to those that follow it in the group, in a circle.

Nothing was said before the beginning, so these links are safe and their memory is empty, without a handshake.
"""

from collections.abc import Sequence

from aforesaid.core import Process
from aforesaid.protocols.overlay.frames import Lid


def founding_links(group: Sequence[Process], degree: int, both_ways: bool) -> list[Lid]:
    """Every founder opens links to the next `degree` ones; both ways, no pair is linked twice."""
    count = len(group)
    links = []
    for place, opener in enumerate(group):
        for step in range(1, min(degree, count - 1) + 1):
            mirrored = 2 * step > count or (2 * step == count and 2 * place >= count)
            if not (both_ways and mirrored):
                links.append(Lid(opener, group[(place + step) % count], 0, step))
    return links
