"""How much of the same is played: a share by `make test`, all of it by `make campaign`.

What may be scaled is repetition only: more seeds of a world, larger scopes of an exploration. Every world and
every kind of scope is in the share.
"""

import os
from typing import TypeVar

CAMPAIGN = "AFORESAID_CAMPAIGN" in os.environ

_Extent = TypeVar("_Extent")


def scaled(share: _Extent, campaign: _Extent) -> _Extent:
    """So many seeds, or such scopes, as this run is to play."""
    return campaign if CAMPAIGN else share
