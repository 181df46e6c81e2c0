"""Positive acknowledgments: PAK, credits, PAK/NAK. `Pak` is the protocol at one process."""

from aforesaid.protocols.broadcast.pak.entries import ENTRIES
from aforesaid.protocols.broadcast.pak.protocol import Pak

__all__ = ["ENTRIES", "Pak"]
